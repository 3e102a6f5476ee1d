"""What only the program shows: `undeclared`, what it would make, and what it would change.

All of it is the user's to settle, by `pulumi up` or by an edit, so every verdict is `ask` at most. A resource that
differs from the cloud as well has its finding already; what the program says of it goes there as evidence, because one
difference is one finding.

Only what the preview says is believed: an entry of the state that it does not speak of is not undeclared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from reconciler.diff.authority import declared_tags, in_scope, slot_of
from reconciler.diff.context import Context
from reconciler.diff.ownership import foreign_scope
from reconciler.kernel.text import visible
from reconciler.model.desired import FLEET_TAG, tag_value
from reconciler.model.finding import ActionKind, Evidence, Finding, FindingKind, Ledger, Subject, Verdict
from reconciler.model.money import Cost
from reconciler.model.program import IMPORT, PROGRAM_RULE, REPLACE, ProgramResource, ProgramView
from reconciler.model.resources import Kind
from reconciler.model.state import KIND_OF_TYPE, SECRET, StateResource

_OURS: Final = "scaleway:"  # other providers' resources are in no ledger that is read here
_SHOWN: Final = 120  # characters of a value


def with_programs(findings: Iterable[Finding], context: Context) -> list[Finding]:
    """The findings, and those that the programs add."""
    found = list(findings)
    if not context.world.programs:
        return found
    known = {
        (finding.stack, finding.subjects[0].urn): place
        for place, finding in enumerate(found)
        if finding.kind in (FindingKind.MISSING, FindingKind.CHANGED) and finding.subjects[0].urn is not None
    }
    for stack in sorted(context.world.programs):
        for one, finding in _of_program(context.world.programs[stack], context):
            place = known.get((stack, one.urn))
            if place is None or (finding.kind is FindingKind.UNDECLARED and found[place].kind is FindingKind.CHANGED):
                found.append(finding)
            else:
                seen = Evidence(at_ms=context.world.programs[stack].at_ms, source="program", text=finding.reason)
                found[place] = replace(found[place], evidence=(*found[place].evidence, seen, *finding.evidence[1:]))
    return found


def _of_program(view: ProgramView, context: Context) -> Iterator[tuple[ProgramResource, Finding]]:
    state = context.world.states.get(view.stack)
    if state is None:
        return
    for one in (*view.deletes, *view.updates, *view.replaces):
        entry = state.by_urn.get(one.urn)
        if entry is not None and _is_ours(entry, context):
            yield one, _undeclared(entry, view, context) if one in view.deletes else _changed(one, entry, view, context)
    pending = {operation.resource.urn for operation in state.pending}
    creates = [one for one in view.creates if one.urn not in pending and _would_be_ours(one, context)]
    for group in _by_slot(creates, context):
        yield group[0], _vacant(group, view, context)


def _is_ours(entry: StateResource, context: Context) -> bool:
    if not entry.custom or entry.external or not entry.type.startswith(_OURS):
        return False
    if foreign_scope(declared_tags(entry), scope=context.scope) is not None:
        return False
    kind = KIND_OF_TYPE.get(entry.type)
    project = entry.outputs.get("projectId") or entry.inputs.get("projectId")
    if kind is None or entry.ref is None:
        return not project or project == context.scope.project
    return in_scope(entry, kind, entry.ref.zone, scope=context.scope)


def _would_be_ours(one: ProgramResource, context: Context) -> bool:
    kind, scope = KIND_OF_TYPE.get(one.type), context.scope
    if not one.type.startswith(_OURS) or foreign_scope(one.tags, scope=scope) is not None:
        return False
    if one.project not in (None, scope.project):
        return False
    return one.zone in (None, *scope.zones) or (kind is not None and kind.regional)


def _undeclared(entry: StateResource, view: ProgramView, context: Context) -> Finding:
    ref = entry.ref
    found = context.index.get(ref) if ref is not None else None
    reason = "the program no longer declares it; your `pulumi up` deletes it"
    if entry.protect:
        reason = "the program no longer declares it, and it is protected: your `pulumi up` fails until that is settled"
    return Finding(
        kind=FindingKind.UNDECLARED,
        subjects=(_entry_subject(entry, context),),
        ledgers={Ledger.DESIRED: "not declared", Ledger.STATE: "present", Ledger.INVENTORY: _seen(entry, context)},
        reason=reason,
        cost=context.cost(found) if found is not None else Cost(),
        evidence=(_said(view, f"the preview deletes {entry.urn}"),),
        **_common(view, declared_tags(entry), context),
    )


def _changed(one: ProgramResource, entry: StateResource, view: ProgramView, context: Context) -> Finding:
    paths = ", ".join(dict.fromkeys(change.path for change in one.changes)) or "something"
    if one.operation == REPLACE:
        reason = f"{paths}: the program wants it otherwise; your `pulumi up` replaces it: deletes it and makes another"
    else:
        reason = f"{paths}: the program wants it otherwise; your `pulumi up` updates it"
    values = [f"{c.path}: the state has {_value(c.state)}, the program says {_value(c.program)}" for c in one.changes]
    return Finding(
        kind=FindingKind.CHANGED,
        subjects=(_entry_subject(entry, context),),
        ledgers={Ledger.DESIRED: "differs", Ledger.STATE: "differs", Ledger.INVENTORY: _seen(entry, context)},
        reason=reason,
        evidence=(_said(view, f"the preview says {one.operation}"), *(_said(view, text) for text in values)),
        **_common(view, declared_tags(entry), context),
    )


def _by_slot(creates: list[ProgramResource], context: Context) -> list[list[ProgramResource]]:
    """A machine of a slot and what is made with it are one difference, the machine first; anything else is its own."""
    groups: dict[tuple[str, ...], list[ProgramResource]] = {}
    for one in creates:
        slot = slot_of(one.tags, scope=context.scope)
        groups.setdefault(slot or ("", one.urn), []).append(one)
    found = []
    for key, group in groups.items():
        group.sort(key=lambda one: (KIND_OF_TYPE.get(one.type) is not Kind.SERVER, one.urn))
        whole = key[0] and KIND_OF_TYPE.get(group[0].type) is Kind.SERVER
        found += [group] if whole else [[one] for one in group]
    return found


def _vacant(group: list[ProgramResource], view: ProgramView, context: Context) -> Finding:
    first = group[0]
    slot = slot_of(first.tags, scope=context.scope) if KIND_OF_TYPE.get(first.type) is Kind.SERVER else None
    does = "takes it into the state" if first.operation == IMPORT else "makes it"
    return Finding(
        kind=FindingKind.VACANT,
        subjects=(_slot_subject(slot, first, context) if slot is not None else _create_subject(first),),
        ledgers={Ledger.DESIRED: "declared", Ledger.STATE: "absent"},
        reason=f"the program declares it and the state has none; your `pulumi up` {does}",
        evidence=tuple(_said(view, f"the preview says {one.operation}: {one.urn}") for one in group),
        **_common(view, first.tags, context),
    )


def _slot_subject(slot: tuple[str, str], server: ProgramResource, context: Context) -> Subject:
    """The same subject as a slot that the stack's outputs declare, so that the episode is the same."""
    fleet = context.fleets.get(slot[0])
    urn = fleet.component_urn if fleet is not None else server.parent
    zone = fleet.zone if fleet is not None else server.zone
    return Subject(kind="slot", zone=zone, worker="/".join(slot), urn=urn)


def _create_subject(one: ProgramResource) -> Subject:
    kind = KIND_OF_TYPE.get(one.type)
    return Subject(kind=kind.value if kind else "resource", zone=one.zone, urn=one.urn, name=one.name)


def _entry_subject(entry: StateResource, context: Context) -> Subject:
    ref, worker = entry.ref, context.worker_of(declared_tags(entry))
    if ref is None:
        return Subject(kind="resource", id=entry.id, urn=entry.urn, worker=worker, name=entry.name)
    return Subject(kind=ref.kind.value, zone=ref.zone, id=ref.id, urn=entry.urn, worker=worker, name=entry.name)


def _seen(entry: StateResource, context: Context) -> str:
    ref = entry.ref
    if ref is None:
        return "not covered"
    return "present" if context.index.get(ref) is not None else "not seen"


def _common(view: ProgramView, tags: tuple[str, ...], context: Context) -> dict[str, Any]:
    hold = context.hold_for(view.stack)
    return {
        "verdict": Verdict.ASK if hold is None else Verdict.WAIT,
        "action": ActionKind.UP,
        "fleet": tag_value(tags, FLEET_TAG),
        "stack": view.stack,
        "rule": PROGRAM_RULE,
    }


def _said(view: ProgramView, text: str) -> Evidence:
    return Evidence(at_ms=view.at_ms, source="program", text=text)


def _value(value: Any) -> str:
    return visible(json.dumps(_plain(value), ensure_ascii=False), limit=_SHOWN)


def _plain(value: Any) -> Any:
    """Whatever a secret is in, it shows as one."""
    if value is SECRET:
        return repr(SECRET)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
