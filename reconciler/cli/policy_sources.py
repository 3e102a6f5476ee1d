"""Where the items of a policy check come from: the cloud, states, records, a plan, a preview. One answer for all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reconciler.cli.composition import Runtime, load_policies
from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_INCOMPLETE, EXIT_OK, IncompleteError, ReconcilerError, UsageError, worst_exit
from reconciler.model.desired import OUTPUT_NAME
from reconciler.model.policy import Policies, Policy
from reconciler.model.scope import Scope
from reconciler.policy.adapters.lookups import Lookups
from reconciler.policy.effective import evaluate_all, together
from reconciler.policy.item import Facts, Item
from reconciler.policy.verdict import Evaluation

if TYPE_CHECKING:
    from reconciler.model.state import StackState

ALL_STACKS: Final = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line asked for. `scopes`: names. `states`: stacks or exported files, `*` for all configured
    ones. No ledger means the cloud. `everything`: what is not ours, too."""

    scopes: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    rows: bool = False
    plan: Path | None = None
    preview: Path | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """`status`: 7 where something was not read, else 0; violations are not in it."""

    evaluation: Evaluation
    policies: tuple[Policy, ...]
    status: int = EXIT_OK
    notes: tuple[str, ...] = ()


def configured(runtime: Runtime, *, file: Path | None, baseline: Path | None) -> Policies:
    """The policy of the configuration, but for what the flags name. Raises ConfigError for a file that is wrong."""
    settings = runtime.settings.policy
    return load_policies(file or settings.file, baseline or settings.baseline)


def declared_by(stacks: Iterable[str], runtime: Runtime) -> list[Policy]:
    """What these stacks declare for themselves. Raises as `check` does."""
    from reconciler.cli.stack_names import full_name

    found: list[Policy] = []
    for stack in stacks:
        state = runtime.engine().read(full_name(stack, start=Path.cwd()))
        found += _all_of(_of_stack(state, Policies(), None, now_ms=runtime.clock.now_ms())[0])
    return found


def check(wanted: Wanted, runtime: Runtime, policies: Policies, *, out: Out) -> Checked:
    """Raises UsageError RC0842 (two sources), RC0839 (no policy), RC0843 (no records); ConfigError; what a ledger
    raises when it cannot be read at all."""
    chosen = [
        name
        for name, given in (
            ("--state", wanted.states),
            ("--rows", wanted.rows),
            ("--plan", wanted.plan),
            ("--preview", wanted.preview),
        )
        if given
    ]
    if len(chosen) > 1:
        raise UsageError(
            f"{' and '.join(chosen)} exclude each other", code="RC0842", hint="Check one ledger after the other."
        )
    if wanted.rows:
        return _rows(wanted, runtime, policies, out=out)
    if wanted.states:
        return _states(wanted, runtime, policies, out=out)
    if wanted.plan is not None or wanted.preview is not None:
        return _file(wanted, runtime, policies)
    return _cloud(wanted, runtime, policies, out=out)


def _rows(wanted: Wanted, runtime: Runtime, policies: Policies, *, out: Out) -> Checked:
    """The live rows, by the tags that their machines are made with. Raises IncompleteError for rows out of reach."""
    from reconciler.cli.sweeping import open_memories
    from reconciler.policy.adapters.rows import item_of_row, value_of_worker

    if runtime.settings.records_adapter == "none":
        raise UsageError(
            "no records are configured",
            code="RC0843",
            hint="Name an adapter under [records] in reconciler.toml, or check another ledger.",
        )
    memories = open_memories(runtime, out)
    records = runtime.records(memories.store, memories.reason)
    parts: list[Evaluation] = []
    for scope in runtime.scopes(wanted.scopes):
        view = records.read(scope.uuid)
        if view.unread is not None:
            raise IncompleteError(f"the rows of workers cannot be read: {view.unread.reason}", code="RC0849")
        revisions = {fleet.name: fleet.revision for fleet in view.fleets if fleet.retired_ms is None}
        facts = Facts(now_ms=runtime.clock.now_ms(), scope=scope.uuid, revisions=revisions)
        values = [value_of_worker(row, scope=scope.uuid) for row in view.workers if row.live]
        parts.append(evaluate_all(policies, [item_of_row(value, Lookups()) for value in values], facts))
    notes = ("what stacks declare for themselves is not read for rows",)
    return _checked(parts, _all_of(policies), notes=notes)


def _cloud(wanted: Wanted, runtime: Runtime, policies: Policies, *, out: Out) -> Checked:
    from reconciler.cli.composition import make_records
    from reconciler.cli.sweeping import failure, look
    from reconciler.diff.context import Context
    from reconciler.diff.judged import facts_of, judged, strangers
    from reconciler.diff.remember import is_complete
    from reconciler.model.memory import NO_MEMORY

    parts: list[Evaluation] = []
    found: list[Policy] = []
    status = EXIT_OK
    for scope in runtime.scopes(wanted.scopes):
        try:
            sweep = look(
                runtime,
                scope,
                cloud=runtime.cloud(scope),
                engine=runtime.engine(),
                memory=NO_MEMORY,
                records=make_records("none", None, None),
                out=out,
                policies=policies,
            )
        except ReconcilerError as error:
            # One bad scope does not keep the others from being looked at.
            status = worst_exit(status, failure(scope.name, error).exit_status)
            continue
        context = Context(sweep.world)
        items = [one.item for one in judged(context)]
        items += list(strangers(context)) if wanted.everything else []
        parts.append(evaluate_all(sweep.world.policies, items, facts_of(context)))
        found += _all_of(sweep.world.policies)
        status = worst_exit(status, EXIT_OK if is_complete(sweep.world) else EXIT_INCOMPLETE)
    notes = ("something was not read: the check is not complete",) if status else ()
    if status and not found:  # nothing was looked at: that is not the same as no policy
        found = _all_of(policies)
    return _checked(parts, found, status=status, notes=notes, any_policy=bool(status))


def _states(wanted: Wanted, runtime: Runtime, policies: Policies, *, out: Out) -> Checked:
    from reconciler.policy.adapters.inputs import items_of_entry

    parts: list[Evaluation] = []
    found: list[Policy] = []
    for scope, state in _read_states(wanted, runtime, out=out):
        counting, facts = _of_stack(state, policies, scope, now_ms=runtime.clock.now_ms())
        items = [item for entry in state.resources for item in items_of_entry(entry, Lookups(), stack=state.stack)]
        parts.append(evaluate_all(counting, items, facts))
        found += _all_of(counting)
    return _checked(parts, found)


def _read_states(wanted: Wanted, runtime: Runtime, *, out: Out) -> Iterable[tuple[Scope | None, StackState]]:
    """Each stack and each file once, with the scope whose patterns name it."""
    seen: set[str | Path] = set()
    for name in wanted.states:
        path = Path(name)
        if name != ALL_STACKS and path.is_file():
            if path.resolve() not in seen:
                seen.add(path.resolve())
                yield _only_scope(wanted, runtime), _exported(path, runtime)
            continue
        for scope, stack in _named(name, wanted, runtime):
            if stack not in seen:
                seen.add(stack)
                out.progress(f"reading {stack}")
                yield scope, runtime.engine().read(stack)


def _named(name: str, wanted: Wanted, runtime: Runtime) -> Iterable[tuple[Scope | None, str]]:
    from reconciler.cli.stack_names import full_name

    if name == ALL_STACKS:
        for scope in runtime.scopes(wanted.scopes):
            yield from ((scope, stack) for stack in runtime.engine().stacks(scope.stacks))
        return
    for stack in runtime.engine().stacks((full_name(name, start=Path.cwd()),)):
        yield _only_scope(wanted, runtime), stack


def _only_scope(wanted: Wanted, runtime: Runtime) -> Scope | None:
    """The scope that is meant where one stack is named: the chosen one, or the only one there is."""
    scopes = runtime.scopes(wanted.scopes)
    return scopes[0] if len(scopes) == 1 else None


def _exported(path: Path, runtime: Runtime) -> StackState:
    from reconciler.engine.checkpoint import STACK_TYPE, decode
    from reconciler.model.state import StackState
    from reconciler.policy.decode import read_bytes

    checkpoint = decode(read_bytes(path))
    urn = next((entry.urn for entry in checkpoint.resources if entry.type == STACK_TYPE), "")
    parts = urn.removeprefix("urn:pulumi:").split("::")
    return StackState(
        stack=f"{parts[1]}/{parts[0]}" if len(parts) > 2 else path.name,
        serial=checkpoint.serial,
        read_ms=runtime.clock.now_ms(),
        resources=checkpoint.resources,
        pending=checkpoint.pending,
        outputs=checkpoint.outputs,
    )


def _of_stack(state: StackState, policies: Policies, scope: Scope | None, *, now_ms: int) -> tuple[Policies, Facts]:
    """What counts for a stack, and what its own output says of scope and revisions. Raises ConfigError for a
    declaration that cannot be read: a check that left it out would pass in silence."""
    from reconciler.kernel.errors import ConfigError
    from reconciler.policy.declared import declared_policy, declared_revisions

    output: Any = state.outputs.get(OUTPUT_NAME)
    try:
        own = declared_policy(output, stack=state.stack)
    except ValueError as error:
        raise ConfigError(
            f"stack {state.stack}: {error}", code="RC0845", hint="Correct the policy in the program, and deploy it."
        ) from None
    uuid = output.get("scope") if hasattr(output, "get") else None
    named = scope.uuid if scope is not None else uuid if isinstance(uuid, str) else None
    declared = ((state.stack, own),) if own is not None else ()
    facts = Facts(now_ms=now_ms, scope=named, revisions=declared_revisions(output))
    return replace(policies, declared=declared), facts


def _file(wanted: Wanted, runtime: Runtime, policies: Policies) -> Checked:
    from reconciler.cli.plan_files import read_plan_file
    from reconciler.plan import load
    from reconciler.policy.adapters.actions import items_of_plan
    from reconciler.policy.adapters.preview import items_of_preview
    from reconciler.policy.decode import read_file

    scope = _only_scope(wanted, runtime)
    uuid = scope.uuid if scope is not None else None
    if wanted.plan is not None:
        plan = load(read_plan_file(wanted.plan))
        items: Sequence[Item] = tuple(items_of_plan(plan))
        uuid = plan.scope
        notes: tuple[str, ...] = ("a plan tells the tags that it writes, and nothing else of a resource",)
    else:
        assert wanted.preview is not None
        items, notes = items_of_preview(read_file(wanted.preview), Lookups()), ()
    facts = Facts(now_ms=runtime.clock.now_ms(), scope=uuid)
    return _checked([evaluate_all(policies, items, facts)], _all_of(policies), notes=notes)


def _all_of(policies: Policies) -> list[Policy]:
    own = [policy for _, policy in policies.declared]
    return [*([policies.configured] if policies.configured is not None else []), *own]


def _checked(
    parts: Iterable[Evaluation],
    found: Iterable[Policy],
    *,
    status: int = EXIT_OK,
    notes: tuple[str, ...] = (),
    any_policy: bool = False,
) -> Checked:
    listed = tuple({(one.source, one.name): one for one in found}.values())
    if not listed and not any_policy:
        raise UsageError(
            "there is no policy: none is configured, and no stack declares one",
            code="RC0839",
            hint="Name one: `[policy] file` in reconciler.toml, or --policy FILE. docs/policy.md shows one.",
        )
    return Checked(evaluation=together(list(parts)), policies=listed, status=status, notes=notes)
