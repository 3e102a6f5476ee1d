"""Plans by name: a file, or the first digits of a digest that the database knows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reconciler.cli.composition import Runtime
from reconciler.kernel.errors import RefusedError, UsageError
from reconciler.model.plan import Plan
from reconciler.plan import digest, load

_DIGEST: Final = re.compile(r"[0-9a-f]{4,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPlan:
    """A plan whose text and digest fit together."""

    plan: Plan
    digest: str


def read_plan_file(path: Path) -> str:
    """The text of a file. Raises RefusedError RC0143."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise RefusedError(
            f"the plan file {str(path)!r} cannot be read: {reason}",
            code="RC0143",
            hint="`reconciler plan --out FILE` writes one.",
        ) from None


def find_plan(name: str, runtime: Runtime) -> FoundPlan:
    """A file where there is one of this name, else a registered plan whose digest begins so.

    Raises RefusedError RC0143, RC0601, RC0602; UsageError RC0147 (no such plan), RC0148 (several); StoreError.
    """
    path = Path(name)
    if path.exists() or not _DIGEST.fullmatch(name):
        return _found(read_plan_file(path))
    rows = runtime.store().plans_named(name)
    if not rows:
        raise UsageError(
            f"there is no file and no registered plan {name!r}",
            code="RC0147",
            hint="`reconciler plan` prints the digest of what it registers; a plan is known to its own database only.",
        )
    if len(rows) > 1:
        raise UsageError(
            f"{name!r} begins the digest of more than one plan", code="RC0148", hint="Give more of its digits."
        )
    return _found(rows[0].canonical)


def _found(text: str) -> FoundPlan:
    plan = load(text)
    return FoundPlan(plan=plan, digest=digest(plan))
