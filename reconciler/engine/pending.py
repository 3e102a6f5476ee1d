"""Taking pending operations out of a state, in the two steps that the engine has.

Any write drops every pending operation but the creates; `--clear-pending-creates` drops the creates as well, all of
them at once (both tried). So either the others are dropped and every create stays, or everything goes. What is there
must be exactly what was named: an entry that nobody judged is evidence of a run that nobody looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, TypeAlias

from reconciler.kernel.errors import EngineError, RefusedError
from reconciler.kernel.text import visible
from reconciler.model.state import PendingOperation

CREATING: Final = "creating"
Operation: TypeAlias = tuple[str, str]  # (operation, URN)


def named(pending: Iterable[PendingOperation]) -> set[Operation]:
    return {(item.operation, item.resource.urn) for item in pending}


def clears_creates(operations: Collection[Operation]) -> bool:
    """Whether these can only go together with every pending create."""
    return any(operation == CREATING for operation, _ in operations)


def require_named(there: set[Operation], operations: Collection[Operation], *, stack: str) -> None:
    """What would be dropped is what was named. Raises RefusedError RC0670."""
    creates = clears_creates(operations)
    dropped = {item for item in there if creates or item[0] != CREATING}
    strange = sorted(dropped - set(operations))
    if strange:
        raise RefusedError(
            f"{stack} has {len(strange)} pending operation(s) that were not judged ({told(strange)})",
            code="RC0670",
            hint="Nothing was written: they would be dropped with the others. Look again: `reconciler drift`.",
        )


def require_gone(
    there: set[Operation], after: set[Operation], operations: Collection[Operation], *, stack: str
) -> None:
    """What was named is gone, and no create that was to stay. Raises EngineError RC0671."""
    left = sorted(after & set(operations))
    lost = sorted(item for item in there - after if item not in set(operations))
    for wrong, what in ((left, "are still pending"), (lost, "were dropped though they were to stay")):
        if wrong:
            raise EngineError(
                f"{stack}: {told(wrong)} {what}",
                code="RC0671",
                hint="The CLI did something else than it was asked for. The state before is in the backend's history.",
            )


def told(operations: Collection[Operation]) -> str:
    """`creating w1, updating w2`, three at most."""
    names = [f"{operation} {urn.rpartition('::')[2]}" for operation, urn in list(operations)[:3]]
    more = f" and {len(operations) - 3} more" if len(operations) > 3 else ""
    return visible(", ".join(names)) + more
