"""Names of stacks: what users write, what the CLI wants, what matches.

Users write `project/stack`, with wildcards within a segment (`render/*`, `*/prod`), or with the organization first
where two organizations have the same names. The CLI gets three segments always: `org/project/stack` on Pulumi Cloud,
`organization/project/stack` on a DIY backend (tried: two segments are read as an organization and refused there; three
work outside any project directory). A name without a wildcard is never looked up in the listing first: reading it
fails by name, where a filter would skip it in silence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from reconciler.engine.shapes import complaint
from reconciler.kernel.errors import EngineError

DIY_ORGANIZATION: Final = "organization"
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_.\-]+")
_WILDCARD: Final = re.compile(r"[*?\[\]]")


@dataclass(frozen=True, slots=True, order=True)
class StackName:
    """A stack's full name. Segments are checked: they become parts of a path to lock files."""

    organization: str
    project: str
    stack: str

    @property
    def short(self) -> str:
        return f"{self.project}/{self.stack}"

    def __str__(self) -> str:
        return f"{self.organization}/{self.project}/{self.stack}"


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of `pulumi stack ls`; `updating` is told by Pulumi Cloud only."""

    name: StackName
    updating: bool


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    name: str
    update_in_progress: bool = Field(default=False, alias="updateInProgress")


_ROWS: Final = TypeAdapter(list[_Row])


def parse_listing(raw: bytes | bytearray) -> tuple[Listed, ...]:
    """`pulumi stack ls --all --json --fully-qualify-stack-names`. Raises EngineError RC0504.

    A name without three segments is left out: a stack of a DIY backend from before projects, which the CLI itself
    wants upgraded (`pulumi state upgrade`).
    """
    try:
        rows = _ROWS.validate_json(raw or b"[]")
    except ValidationError as error:
        raise EngineError(
            f"`pulumi stack ls` did not answer with a list of stacks ({complaint(error)})",
            code="RC0504",
            hint="Run `pulumi stack ls --all --json` by hand: something else writes to its standard output.",
        ) from None
    named = ((row.name.split("/"), row.update_in_progress) for row in rows)
    return tuple(Listed(StackName(*parts), updating) for parts, updating in named if len(parts) == 3)


def exact(pattern: str) -> bool:
    return _WILDCARD.search(pattern) is None


def split(name: str) -> list[str]:
    """Two or three checked segments of a name or pattern. Raises EngineError RC0503."""
    parts = name.split("/")
    allowed = all(_SEGMENT.fullmatch(_WILDCARD.sub("", part) or "x") and part not in ("", ".", "..") for part in parts)
    if len(parts) not in (2, 3) or not allowed:
        raise EngineError(
            f"{name!r} is no name of a stack",
            code="RC0503",
            hint="Write `project/stack`, with `*` inside a segment, or `organization/project/stack`.",
        )
    return parts


def matching(patterns: Sequence[str], listing: Iterable[Listed]) -> tuple[str, ...]:
    """Names that match, each once, in the order of the patterns; a pattern without wildcard is its own match.

    The organization is shown only where the short name would be ambiguous.
    """
    names = sorted(entry.name for entry in listing)
    counts = Counter(name.short for name in names)
    found: dict[str, None] = {}
    for pattern in patterns:
        parts = split(pattern)
        if exact(pattern):
            found[pattern] = None
            continue
        for name in names:
            segments = (name.organization, name.project, name.stack)[-len(parts) :]
            if all(fnmatchcase(segment, part) for segment, part in zip(segments, parts, strict=True)):
                found[name.short if counts[name.short] == 1 else str(name)] = None
    return tuple(found)


def resolve(name: str, listing: Iterable[Listed] | None) -> StackName:
    """The full name; `listing` is None on a DIY backend, which has one organization only.

    Raises EngineError RC0503 (not a name), RC0508 (not in the listing), RC0518 (in several organizations).
    """
    parts = split(name)
    if not exact(name):
        raise EngineError(f"{name!r} is a pattern, not one stack", code="RC0503", hint="Name one stack.")
    if len(parts) == 3:
        return StackName(*parts)
    if listing is None:
        return StackName(DIY_ORGANIZATION, *parts)
    found = sorted({entry.name for entry in listing if entry.name.short == name})
    if not found:
        raise not_found(name)
    if len(found) > 1:
        raise EngineError(
            f"{name} exists in several organizations: {', '.join(n.organization for n in found)}",
            code="RC0518",
            hint="Write it with its organization: `organization/project/stack`.",
        )
    return found[0]


def not_found(name: str) -> EngineError:
    return EngineError(
        f"no stack named {name} on this backend",
        code="RC0508",
        hint="`pulumi stack ls --all` lists what is there; check [state] stacks and the backend.",
    )
