"""The one JSON form of a plan, and its digest.

Canonical: keys sorted, no spaces, UTF-8, integers only (money in nano-EUR, times in epoch milliseconds), so that the
same plan is the same bytes anywhere. The digest is SHA-256 over that text; the file holds both. A file is accepted
only when decoding and encoding it again gives the same bytes: an edit that means something changes the digest, and
one that means nothing is refused as well.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from reconciler.kernel.errors import RefusedError
from reconciler.model.plan import PLAN_SCHEMA_VERSION, Action, Plan

_ADAPTER: Final = TypeAdapter(Plan)
_MAX_BYTES: Final = 64 * 1024 * 1024
_REMAKE: Final = "Plans are applied as they were made; make a new one: `reconciler plan --out FILE`."


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    digest: str
    plan: dict[str, Any]


def body(plan: Plan) -> str:
    """The canonical text that the digest is over."""
    plain = _ADAPTER.dump_python(plan, mode="json")
    for action in plain["actions"]:
        if action["worker"] is None:  # what has no row is written as it was before there were rows
            del action["worker"]
    return _encode(plain)


def digest(plan: Plan) -> str:
    """64 hex digits."""
    return hashlib.sha256(body(plan).encode()).hexdigest()


def canonical(plan: Plan) -> str:
    """The text of a plan file: the plan and its digest, one line."""
    return _encode({"digest": digest(plan), "plan": json.loads(body(plan))}) + "\n"


def load(text: str) -> Plan:
    """The plan in a plan file. Raises RefusedError RC0601 (not a plan) or RC0602 (edited, or of another version)."""
    if len(text) > _MAX_BYTES:
        raise RefusedError("the plan file is larger than any plan", code="RC0601", hint=_REMAKE)
    try:
        file = _File.model_validate_json(text)
        version = file.plan.get("schema_version")
        if version != PLAN_SCHEMA_VERSION:
            raise RefusedError(
                f"the plan has schema version {version!r}; this version of reconciler applies {PLAN_SCHEMA_VERSION}",
                code="RC0602",
                hint=_REMAKE,
            )
        plan = _ADAPTER.validate_json(json.dumps(file.plan), strict=False)
    except (ValidationError, ValueError, RecursionError) as error:
        raise RefusedError(f"this is not a plan file ({type(error).__name__})", code="RC0601", hint=_REMAKE) from None
    if canonical(plan) != text:
        raise RefusedError(
            "the plan file was edited: its text does not match its digest",
            code="RC0602",
            hint=_REMAKE,
        )
    return plan


def action_id(action: Action) -> str:
    """A stable id of what an action does, without its conditions or cost."""
    parts = [action.kind.value, *map(str, action.refs), action.stack or "", *action.urns, *action.tags_after]
    if action.worker is not None:
        parts.append(f"worker {action.worker}")
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _encode(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
