"""Read all ledgers in the order that makes a verdict possible: records + state → inventory → records + state.

A leftover needs its authorities read after the inventory, a missing resource needs them before (rule 3); reading them
twice serves both, and what moved in between is live, which turns into `wait`. The stacks are named twice as well: one
that was made meanwhile may own what the inventory showed. Nothing is written here, no lock is taken, and a sweep
without any readable ledger is an error rather than an empty report.
"""

from __future__ import annotations

from dataclasses import replace

from reconciler.diff.declared import parse_desired, parse_policies
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import CloudError, ReconcilerError
from reconciler.kernel.executor import Executor
from reconciler.kernel.ids import Ids
from reconciler.model.inventory import Inventory, Scan
from reconciler.model.memory import Memory
from reconciler.model.policy import Policies
from reconciler.model.records import machines_of
from reconciler.model.resources import region_of
from reconciler.model.scope import Scope
from reconciler.model.state import UnreadStack
from reconciler.model.world import Health, World
from reconciler.observe.authorities import Authorities, name_stacks, read_stacks
from reconciler.observe.coverage import LISTED, LISTED_REGIONAL, coverage
from reconciler.observe.inventory import Reader
from reconciler.observe.programs import Programs, read_programs
from reconciler.observe.rows import NO_ROWS, read_rows, read_rows_again
from reconciler.observe.survivors import survivors
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine
from reconciler.ports.records import Records

__all__ = ["observe"]


def observe(
    *,
    scope: Scope,
    cloud: Cloud,
    engine: Engine,
    memory: Memory,
    clock: Clock,
    executor: Executor,
    ids: Ids,
    program: bool = False,
    records: Records = NO_ROWS,
    policies: Policies = Policies(),
) -> World:
    """One sweep's view of one scope.

    Raises AuthenticationError (401) before anything else is read, and ReconcilerError RC0701 when no ledger at all
    could be read. Everything else that fails is a value in the world: an incomplete scan, an unread stack, rows that
    were not read, a failed program. `program`: also run the programs, between the two reads of the states, so that a
    state that moved meanwhile is known to have moved. `policies`: the configured ones; those that stacks declare are
    read from their outputs.
    """
    started = clock.now_ms()
    unreachable = _reach(cloud)
    rows_before = read_rows(records, scope.uuid)
    names, unnamed = name_stacks(engine, scope.stacks)
    before = read_stacks(engine, names, executor=executor)
    processes = survivors(engine, before.states.values())
    if unreachable is None:
        reader = Reader(scope=scope, cloud=cloud, executor=executor)
        inventory = reader.read(tuple(before.states.values()), recorded=machines_of(rows_before.workers))
    else:
        inventory = _unread(scope, at_ms=started, why=unreachable)
    programs = read_programs(engine, tuple(before.states), executor=executor) if program else Programs()
    after, unnamed_again = _read_again(engine, scope, before, executor=executor)
    rows = read_rows_again(records, scope.uuid, inventory)
    unread = tuple(dict.fromkeys((*unnamed, *before.unread, *unnamed_again, *after.unread)))
    if unreachable is not None and not after.states:
        raise ReconcilerError(
            f"no ledger could be read: {unreachable.message}", code="RC0701", hint=unreachable.hint
        ) from unreachable
    desired = parse_desired(after.states.values(), scope=scope)
    declared, problems = parse_policies(after.states.values(), scope=scope)
    health = cloud.health()
    return World(
        scope=scope,
        sweep_id=ids.new(),
        started_ms=started,
        finished_ms=clock.now_ms(),
        inventory=inventory,
        memory=memory,
        desired=replace(desired, problems=(*desired.problems, *problems)),
        policies=replace(policies, declared=declared),
        states_before=before.states,
        states=after.states,
        unread=unread,
        coverage=coverage(after.states.values()),
        programs=programs.views,
        failed_programs=programs.failed,
        health=Health(
            calls=health.calls, failed=health.failed, throttled=health.throttled, skew_seconds=health.skew_seconds
        ),
        processes=processes,
        records_before=rows_before,
        records=rows,
    )


def _read_again(
    engine: Engine, scope: Scope, before: Authorities, *, executor: Executor
) -> tuple[Authorities, tuple[UnreadStack, ...]]:
    """The second read: what was read before, and what has a matching name only now."""
    names, unnamed = name_stacks(engine, scope.stacks)
    failed = {unread.stack for unread in before.unread}
    wanted = [name for name in dict.fromkeys((*before.states, *names)) if name not in failed]
    return read_stacks(engine, wanted, executor=executor), unnamed


def _reach(cloud: Cloud) -> CloudError | None:
    try:
        cloud.check_credentials()
    except CloudError as error:
        return error
    return None


def _unread(scope: Scope, *, at_ms: int, why: CloudError) -> Inventory:
    places = [(kind, zone) for zone in scope.zones for kind in LISTED]
    places += [
        (kind, region) for region in sorted({region_of(zone) for zone in scope.zones}) for kind in LISTED_REGIONAL
    ]
    return Inventory(
        scans={
            (kind, place): Scan(
                kind=kind,
                zone=place,
                started_ms=at_ms,
                finished_ms=at_ms,
                complete=False,
                reason=why.message,
                code=why.code,
                hint=why.hint,
            )
            for kind, place in places
        }
    )
