"""`release`: stop managing a resource, and leave it as it runs.

It takes the entry out of the state, the owner tags off the machine, and keeps a note, so that no later sweep takes it
for a leftover. The program is the user's: as long as it declares the resource, the next `pulumi up` makes another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK, EXIT_PARTIAL, IncompleteError, RefusedError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reconciler.apply.releasing import Proposal, Released
    from reconciler.cli.composition import Runtime
    from reconciler.cli.options import Globals
    from reconciler.model.memory import Memory
    from reconciler.model.resources import Ref
    from reconciler.model.scope import Scope
    from reconciler.model.state import StackState, StateResource
    from reconciler.report.layout import Block

_SHORTEST = 8  # characters of an id that is not written whole


@click.command("release")
@click.argument("names", nargs=-1, required=True, metavar="URN|ID...")
@click.option("--scope", "scope_name", metavar="NAME", help="The scope; needed where several are declared.")
@click.option("--with-dependants", is_flag=True, help="Also release what depends on it, by dependency or parent.")
@click.option("--force", is_flag=True, help="Also release what is protected in the state.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and stop.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("-m", "--message", default="", metavar="MSG", help="Why; kept with the release.")
@click.option("-j", "--json", "as_json", is_flag=True, help="The result as JSON.")
@click.pass_obj
def command(
    options: Globals,
    names: tuple[str, ...],
    scope_name: str | None,
    with_dependants: bool,
    force: bool,
    dry_run: bool,
    yes: bool,
    message: str,
    as_json: bool,
) -> int:
    """Stop managing resources without touching the machines.

    They leave Pulumi's state, lose their owner tags and count as unmanaged from then on. Nothing is deleted or
    stopped. Ends with 4 when an owner tag could not be taken off; running it again goes on with that.
    """
    from reconciler.apply.releasing import release
    from reconciler.cli.composition import holder, open_runtime

    out = Out(options)
    runtime = open_runtime(options)
    scope = _scope(runtime, scope_name)
    proposal = _propose(runtime, scope, names, with_dependants=with_dependants, force=force)
    if not as_json or not yes:
        (out.aside if as_json else out.blocks)(_blocks(proposal))
    if dry_run:
        return _write(proposal, None, as_json=as_json, out=out)
    if not yes:
        if not out.may_ask:
            raise RefusedError("there is nobody to ask", code="RC0142", hint="Give -y, or look with --dry-run.")
        out.confirm(f"Release {len(proposal.leaving)} resource(s) of scope {scope.name}?")
    result = release(
        proposal,
        cloud=runtime.cloud(scope),
        engine=runtime.engine(),
        store=runtime.store(),
        holder=holder(),
        reason=message,
        force=force,
        on_child=lambda child: out.progress(f"{child.stack}: `pulumi state delete` runs as pid {child.pid}"),
    )
    return _write(proposal, result, as_json=as_json, out=out)


def _scope(runtime: Runtime, name: str | None) -> Scope:
    scopes = runtime.scopes((name,) if name is not None else ())
    if len(scopes) > 1:
        raise UsageError(
            "a release is of one scope", code="RC0574", hint=f"Choose one: {', '.join(one.name for one in scopes)}."
        )
    return scopes[0]


def _propose(runtime: Runtime, scope: Scope, names: Sequence[str], *, with_dependants: bool, force: bool) -> Proposal:
    from reconciler.apply.releasing import propose

    memory = _memory(runtime, scope)
    states, unread = _states(runtime, scope)
    targets: list[tuple[str, StateResource]] = []
    unfinished: list[Ref] = []
    for name in names:
        found = _entries(states, name)
        begun = [
            ref for ref, one in sorted(memory.released.items()) if one.done_ms is None and _is_release(name, ref, one)
        ]
        if len(found) > 1:
            raise UsageError(
                f"{name!r} may be any of {len(found)} entries", code="RC0573", hint="Give the whole URN or id."
            )
        if not found and not begun:
            raise _nothing(name, unread)
        targets += found
        unfinished += begun
    return propose(
        scope=scope,
        cloud=runtime.cloud(scope),
        states=states,
        memory=memory,
        targets=targets,
        unfinished=tuple(dict.fromkeys(unfinished)),
        with_dependants=with_dependants,
        force=force,
    )


def _memory(runtime: Runtime, scope: Scope) -> Memory:
    try:
        return runtime.store().memory(scope.uuid)
    except StoreError as error:
        raise RefusedError(
            f"without its database nothing is released: {error.code}: {error.message}", code="RC0144", hint=error.hint
        ) from error


def _states(runtime: Runtime, scope: Scope) -> tuple[Mapping[str, StackState], tuple[str, ...]]:
    from reconciler.observe.authorities import name_stacks, read_stacks

    named, unnamed = name_stacks(runtime.engine(), scope.stacks)
    read = read_stacks(runtime.engine(), named, executor=runtime.executor)
    return read.states, tuple(one.stack for one in (*unnamed, *read.unread))


def _entries(states: Mapping[str, StackState], name: str) -> list[tuple[str, StateResource]]:
    """The entries of this URN, or of this id, which may be shortened."""
    return [
        (stack, entry)
        for stack, state in sorted(states.items())
        for entry in state.by_urn.values()
        if entry.urn == name or (entry.custom and entry.id and _is_id(name, entry.id))
    ]


def _is_id(name: str, identity: str) -> bool:
    bare = identity.rpartition("/")[2]
    return name in (identity, bare) or (len(name) >= _SHORTEST and ":" not in name and bare.startswith(name))


def _is_release(name: str, ref: Ref, release: Any) -> bool:
    return name == release.urn or _is_id(name, f"{ref.zone}/{ref.id}") or _is_id(name, release.with_id)


def _nothing(name: str, unread: Sequence[str]) -> Exception:
    if unread:
        return IncompleteError(
            f"no entry that was read is called {name!r}, and {', '.join(unread)} could not be read",
            code="RC0572",
            hint="It may be in there. Nothing was released.",
        )
    return UsageError(
        f"no entry of this scope's stacks is called {name!r}",
        code="RC0575",
        hint="`pulumi stack --show-urns` lists them; what no state holds is not managed, and needs no release.",
    )


def _blocks(proposal: Proposal) -> list[Block]:
    from reconciler.apply.releasing import own_tags
    from reconciler.report.layout import Span, line
    from reconciler.report.phrases import ref_text

    blocks: list[Block] = [line(Span("release", "bold"), f" from scope {proposal.scope.name}; no machine is touched")]
    for one in proposal.leaving:
        why = "" if one.asked else " (depends on what was named)"
        blocks.append(
            line(Span(one.entry.name, "bold"), f"  {one.entry.urn} leaves the state of {one.stack}{why}", indent=2)
        )
        for probe in (one.probe, *one.parts) if one.probe is not None else ():
            if probe.resource is None:
                text = f"{ref_text(probe.ref, full=True)}: it is not there any more"
            else:
                count = len(own_tags(probe.resource.tags, scope=proposal.scope))
                text = f"{ref_text(probe.ref, full=True)}: {count} owner tag(s) go; unmanaged from then on"
            blocks.append(line(text, indent=4))
    blocks += [
        line(f"{ref_text(ref, full=True)}: released earlier; its owner tags go now", indent=2)
        for ref in proposal.unfinished
    ]
    hint = "note: take it out of the program as well, or the next `pulumi up` makes another one"
    return [*blocks, line(Span(hint, "dim"))]


def _write(proposal: Proposal, result: Released | None, *, as_json: bool, out: Out) -> int:
    from reconciler.report.jsontext import dumps

    status = EXIT_PARTIAL if result is not None and result.failed else EXIT_OK
    if as_json:
        out.text(dumps(_document(proposal, result, status=status)))
        return status
    if result is not None:
        out.progress(f"released {len(result.entries)} entries; {len(result.untagged)} lost their owner tags")
        for ref, why in sorted(result.failed.items()):
            out.warn(f"{ref} still has its owner tags: {why}; run the same command again")
    return status


def _document(proposal: Proposal, result: Released | None, *, status: int) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "exit_code": status,
        "scope": proposal.scope.name,
        "dry_run": result is None,
        "leaving": [
            {
                "stack": one.stack,
                "urn": one.entry.urn,
                "id": one.entry.id,
                "asked": one.asked,
                "with": [str(probe.ref) for probe in one.parts],
            }
            for one in proposal.leaving
        ],
        "unfinished": [str(ref) for ref in proposal.unfinished],
        "untagged": [] if result is None else [str(ref) for ref in result.untagged],
        "failed": {} if result is None else {str(ref): why for ref, why in sorted(result.failed.items())},
    }
