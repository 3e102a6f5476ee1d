"""What a case says about stacks, the key and the processes of this host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reconciler.cases.language_world import OPERATIONS
from reconciler.cases.model import LockDecl, PendingDecl, ProcessDecl, RightsDecl, StackChange
from reconciler.cases.problems import Problems, meant
from reconciler.cases.read_items import Names
from reconciler.cases.shapes import Fields
from reconciler.simulator.rooms import ROUTES

# The kinds that a key may be refused.
KINDS: Final = tuple(sorted({route.kind for route in ROUTES if route.kind}))


def stack_change(given: Fields, *, names: Names) -> StackChange:
    lock, pending, unreadable = given.get("lock"), given.get("pending"), given.get("unreadable")
    return StackChange(
        lock=_lock(lock) if isinstance(lock, Fields) else None,
        unlock=lock == "none",
        pending=None if pending is None else tuple(_pending(one, names) for one in pending),
        unreadable="" if unreadable is False else ("missing" if unreadable is True else unreadable),
        hangs=given.get("hangs"),
    )


def _lock(given: Fields) -> LockDecl:
    return LockDecl(**given.values)


def _pending(given: Fields, names: Names) -> PendingDecl:
    (operation,) = (key for key in given.values if key in OPERATIONS)
    return PendingDecl(operation=operation, name=names.require(given.get(operation)), age=given.get("age", 0))


def rights(given: Fields | None, problems: Problems) -> RightsDecl | None:
    if given is None:
        return None
    for key in ("denied", "hidden"):
        for kind in given.get(key, ()):
            if kind not in KINDS:
                problems.add("RC0802", given.at(key), f"{kind!r} is no kind of the API", hint=meant(kind, KINDS))
    return RightsDecl(**given.values)


def processes(given: Sequence[Fields]) -> tuple[ProcessDecl, ...]:
    return tuple(
        ProcessDecl(
            name=one.get("name", "pulumi-resource-scaleway"),
            pid=one.get("pid", 4712),
            why=one.get("why", "nothing rules it out"),
            age=one.get("age", 3600),
        )
        for one in given
    )
