"""A baseline: violations that were there before the policy, so that it can be mandatory for what is new from today on.

Each is known by its fingerprint (rule and resource, whichever ledger shows it). A baseline has a reason and an end;
from that day on everything in it counts again. It is a file, so that it is reviewed like code and gets shorter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from reconciler.kernel.errors import ConfigError
from reconciler.kernel.ids import fingerprint
from reconciler.kernel.text import visible
from reconciler.policy.decode import read_file
from reconciler.policy.document import Table, Text
from reconciler.policy.verdict import Violation


def _day(value: object) -> object:
    return date.fromisoformat(value) if isinstance(value, str) else value


class Entry(Table):
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    rule: str
    resource: str


class Baseline(Table):
    schema_version: Literal[1]
    reason: Text
    expires: Annotated[date, BeforeValidator(_day)]
    violations: list[Entry]


_REASON: Final[TypeAdapter[str]] = TypeAdapter(Text)


def load_baseline(path: Path) -> tuple[tuple[str, int], ...]:
    """(fingerprint, the moment at which it counts again). Raises ConfigError RC0830 or RC0840.

    The fingerprint counts, and rule and resource are what a reviewer reads: a file in which they say something else is
    refused, and so is one with a key twice, of which a reader would see the first and the parser the last.
    """
    text = read_file(path)
    try:
        found = Baseline.model_validate(json.loads(text, object_pairs_hook=_once))
    except (ValueError, ValidationError, RecursionError):
        raise ConfigError(
            f"{visible(str(path))} is no baseline", code="RC0840", hint="`reconciler policy baseline` writes one."
        ) from None
    for number, entry in enumerate(found.violations):
        if entry.fingerprint != fingerprint("policy", entry.rule, entry.resource):
            raise ConfigError(
                f"{visible(str(path))}: violations[{number}]: its fingerprint is not that of its rule and resource",
                code="RC0840",
                hint="Take lines out, and change none; `reconciler policy baseline` writes them.",
            )
    over = _midnight(found.expires)
    return tuple((entry.fingerprint, over) for entry in found.violations)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key twice")
    return found


def is_reason(text: str) -> bool:
    """Whether a baseline with this reason can be read again."""
    try:
        _REASON.validate_python(text)
    except ValidationError:
        return False
    return True


def render_baseline(violations: Iterable[Violation], *, reason: str, expires: date) -> str:
    """The text of a baseline, in a fixed order, so that a shorter one shows as lines that are gone."""
    entries = {one.fingerprint: Entry(fingerprint=one.fingerprint, rule=one.rule.id, resource=one.item.identity)
               for one in violations}  # fmt: skip
    ordered = sorted(entries.values(), key=lambda entry: (entry.rule, entry.resource))
    document = {
        "schema_version": 1,
        "reason": reason,
        "expires": expires.isoformat(),
        "violations": [entry.model_dump() for entry in ordered],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
