"""What a case says about rows of the records, and what must be left of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from reconciler.cases.model import Item, RowDecl, RowLeft
from reconciler.cases.problems import Problems
from reconciler.cases.read_items import Names
from reconciler.cases.shapes import Fields, Marked

_AGE: Final = 86_400
# States that a row comes to with its machine.
_WITH_MACHINE: Final = frozenset({"bootstrapping", "ready", "busy"})


def read_rows(
    found: Sequence[Fields] | None, items: Sequence[Item], *, names: Names, problems: Problems
) -> tuple[RowDecl, ...] | None:
    """The rows, or None where the case keeps none and the adapter is `none`. An empty list is a table without rows."""
    if found is None:
        return None
    born = {item.name: item.age for item in items}
    seen: dict[str, int] = {}
    rows = []
    for one in found:
        worker = str(one.get("worker"))
        if worker in seen:
            what = f"worker `{worker}` has a row already, in line {seen[worker]}"
            problems.add("RC0806", one.at("worker"), what, hint="A worker has one row.")
        seen.setdefault(worker, one.at("worker").line)
        rows.append(_row(one, born, names=names, problems=problems))
    return tuple(rows)


def _row(one: Fields, born: Mapping[str, int], *, names: Names, problems: Problems) -> RowDecl:
    given: Marked | None = one.get("machine")
    machine = None if given is None else names.require(given, ("server",))
    age, state = one.get("age", _AGE), one.get("state", "ready")
    sent = one.get("sent")
    if sent is not None and sent > age:
        problems.add("RC0809", one.at("sent"), "a create that was sent before its row was written", hint=_ORDER)
    if machine is not None and born.get(machine, age) < age:
        hint = f"Make `{machine}` older, or the row younger. A row may be older than a machine that it does not record."
        problems.add("RC0809", one.at("machine"), f"`{machine}` was made after this row recorded it", hint=hint)
    if state in _WITH_MACHINE and machine is None and "ended" not in one:
        hint = "Add `machine: NAME`, or say `provisioning` or `failed`."
        problems.add("RC0809", one.at("state"), f"a row that is {state} without a machine", hint=hint)
    return RowDecl(
        worker=str(one.get("worker")),
        fleet=str(one.get("fleet")),
        state=state,
        machine=machine,
        age=age,
        sent=sent,
        ended=one.get("ended"),
        mark=one.mark,
    )


_ORDER: Final = "`sent` is at most `age`: the row comes first (rule 4)."


def rows_left(found: Sequence[Fields] | Marked | str | None, *, names: Names) -> tuple[RowLeft, ...] | None:
    """What must be left; None where a case does not say."""
    if found is None:
        return None
    if not isinstance(found, tuple):
        return ()  # `none`
    return tuple(
        RowLeft(
            worker=str(one.get("worker")),
            state=one.get("state"),
            machine=None if one.get("machine") is None else names.require(one.get("machine"), ("server",)),
        )
        for one in found
    )
