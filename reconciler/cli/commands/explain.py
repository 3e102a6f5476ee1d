"""`explain`: everything behind one difference, or what each ledger says about something that does not differ.

It looks anew instead of showing what an old sweep stored, because a person who asks is about to decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import UsageError, worst_exit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reconciler.cli.options import Globals
    from reconciler.model.finding import Finding, Subject
    from reconciler.model.world import Sweep, World
    from reconciler.report.layout import Block

_SHORTEST = 4  # a shorter prefix would match by accident


@click.command("explain")
@click.argument("name", metavar="FINDING|ID|URN")
@click.option("--scope", "names", multiple=True, metavar="NAME", help="Look in this scope only; repeatable.")
@click.option("-j", "--json", "as_json", is_flag=True, help="The findings as JSON.")
@click.option("--program", is_flag=True, help="Run the stacks' programs in a preview: what they declare now.")
@click.pass_obj
def command(options: Globals, name: str, names: tuple[str, ...], as_json: bool, program: bool) -> int:
    """Show the proof behind a finding, a resource id or a URN.

    Ids may be shortened to their first characters, as the console shows them; a worker is FLEET/SLOT.
    """
    if len(name) < _SHORTEST:
        raise UsageError(
            f"{name!r} is too short to name one thing", code="RC0107", hint="Give four characters or more."
        )
    from reconciler.cli.composition import open_runtime
    from reconciler.cli.sweeping import open_memories, sweep_scopes
    from reconciler.model.world import Sweep

    out = Out(options)
    runtime = open_runtime(options)
    scopes = runtime.scopes(names)
    memories = open_memories(runtime, out)
    results = sweep_scopes(runtime, scopes, memories=memories.reading(), trigger="explain", out=out, program=program)
    sweeps = [result for result in results if isinstance(result, Sweep)]
    failed = worst_exit(*(result.exit_status for result in results if not isinstance(result, Sweep)))
    found = [(sweep, finding) for sweep in sweeps for finding in sweep.findings if matches(finding, name)]
    if as_json:
        _write_json(found, name, sweeps, out=out)
    else:
        out.blocks(_blocks(found, name, sweeps, now_ms=runtime.clock.now_ms()))
    return failed


def matches(finding: Finding, name: str) -> bool:
    """By the finding's id, or by id, URN, worker or name of a subject; ids by prefix."""
    if finding.id.startswith(name):
        return True
    return any(_is(subject, name) for subject in finding.subjects)


def _is(subject: Subject, name: str) -> bool:
    bare = _bare(name) if subject.zone and name.startswith(f"{subject.zone}/") else name
    by_id = subject.id is not None and subject.id.startswith(bare)
    return by_id or name in (subject.urn, subject.worker, subject.name)


def _bare(name: str) -> str:
    """The id of `ZONE/ID`; the whole name where what follows the slash could match by accident."""
    last = name.rsplit("/", 1)[-1]
    return last if len(last) >= _SHORTEST else name


def _write_json(found: Sequence[tuple[Sweep, Finding]], name: str, sweeps: Sequence[Sweep], *, out: Out) -> None:
    from reconciler.report.document import finding_entry
    from reconciler.report.jsontext import dumps

    known = {sweep.world.scope.name: list(_known(sweep.world, name)) for sweep in sweeps}
    document: dict[str, Any] = {
        "schema_version": 1,
        "name": name,
        "findings": [finding_entry(finding, scope=sweep.world.scope.name) for sweep, finding in found],
        "ledgers": known,
    }
    if not found and not any(known.values()):
        raise _nothing(name)
    out.text(dumps(document))


def _blocks(found: Sequence[tuple[Sweep, Finding]], name: str, sweeps: Sequence[Sweep], *, now_ms: int) -> list[Block]:
    from reconciler.report import explain_text
    from reconciler.report.layout import BLANK

    blocks: list[Block] = []
    for sweep, finding in found:
        blocks += [*explain_text.render(finding, world=sweep.world, now_ms=now_ms), BLANK]
    if not found:
        for sweep in sweeps:
            known = list(_known(sweep.world, name))
            if known:
                blocks += [*explain_text.no_finding(name, world=sweep.world, known=known), BLANK]
    if not blocks:
        raise _nothing(name)
    return blocks[:-1]


def _nothing(name: str) -> UsageError:
    return UsageError(
        f"nothing that was read is called {name!r}",
        code="RC0108",
        hint="`reconciler drift -v` shows all ids in full; a closed finding has no name any more.",
    )


def _worker(tags: tuple[str, ...]) -> str:
    """FLEET/SLOT, as the owner tags say."""
    from reconciler.model.desired import FLEET_TAG, SLOT_TAG, tag_value

    return f"{tag_value(tags, FLEET_TAG)}/{tag_value(tags, SLOT_TAG)}"


def _known(world: World, name: str) -> Iterator[str]:
    """What each ledger says about a resource, an entry or a fleet of this name."""
    bare = _bare(name)
    for stack, state in world.states.items():
        for entry in state.resources:
            ref = entry.ref
            if name == entry.urn or (ref is not None and ref.id.startswith(bare)) or name == entry.name:
                yield f"state: {entry.urn} in {stack}, id {entry.id or 'none'}"
    for ref, resource in world.inventory.by_ref.items():
        if ref.id.startswith(bare) or name in (getattr(resource, "name", None), _worker(resource.tags)):
            yield f"inventory: {ref}, tags {', '.join(resource.tags) or 'none'}"
    for row in world.records.workers:
        if row.id.startswith(bare) or (row.machine is not None and row.machine.id.startswith(bare)):
            machine = f"machine {row.machine}" if row.machine is not None else "no machine"
            doomed = "" if row.live else ", its deletion is decided"
            yield f"records: worker {row.id} of fleet {row.fleet}, {row.state.value}, {machine}{doomed}"
    for fleet in world.desired.fleets:
        if name in (fleet.name, fleet.uid):
            yield f"desired: fleet {fleet.name} of {fleet.stack}, revision {fleet.revision}"
