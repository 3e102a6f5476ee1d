"""Rows of workers that differ from the cloud: a machine that is gone or not known, a row that must not stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.memory import Memory, Release
from reconciler.model.records import WorkerState
from reconciler.model.resources import Kind
from reconciler.model.scope import FleetMatch, Never, Ownership
from reconciler.model.state import Lock, UnreadStack
from tests.builders import (
    HOUR,
    NOW,
    OTHER_SCOPE,
    absent,
    entry_of,
    found,
    local_volume,
    only,
    pending,
    scope,
    server,
    state,
    uid,
    unanswered,
    volume,
    with_parts,
)
from tests.records.rows import WINDOW_MS, WORKER, doomed, row, view, with_records, worker_machine, worker_tags

ONE = worker_machine()
WITNESS = server("witness")  # a list that holds something is no list that hides everything
SENT = NOW - WINDOW_MS


def verdict(*resources: Any, kind: FindingKind, **changes: Any) -> tuple[Verdict, ActionKind]:
    finding = only(with_records(*resources, **changes), kind)
    return finding.verdict, finding.action


# -- missing


def test_a_recorded_machine_that_is_proved_absent_ends_its_row() -> None:
    finding = only(with_records(rows=[row(ONE)], probes=[absent(ONE.server)]), FindingKind.MISSING)
    assert (finding.verdict, finding.action, finding.row) == (Verdict.ACT, ActionKind.PURGE, WORKER)
    assert finding.refs == (ONE.ref,)


def test_a_machine_that_is_only_hidden_is_not_missing() -> None:
    probes = [unanswered(ONE.server)]
    finding = only(with_records(rows=[row(ONE)], probes=probes), FindingKind.MISSING)
    assert (finding.verdict, finding.action) == (Verdict.UNKNOWN, ActionKind.NONE)


def test_a_machine_that_an_incomplete_list_lacks_is_no_finding() -> None:
    given = with_records(rows=[row(ONE)], broken={Kind.SERVER: "HTTP 503"})
    assert [one.kind for one in found(given)] == [FindingKind.INCOMPLETE]


def test_a_row_that_got_its_machine_while_the_inventory_was_read_waits() -> None:
    """It may have been made after the list, and before the GET looked elsewhere."""
    given = with_records(rows=[row(ONE)], before=view(row()), probes=[absent(ONE.server)])
    assert only(given, FindingKind.MISSING).verdict is Verdict.WAIT


def test_a_row_that_was_written_between_the_reads_waits() -> None:
    given = with_records(rows=[row(ONE, changed_ms=NOW)], before=view(row(ONE)), probes=[absent(ONE.server)])
    assert only(given, FindingKind.MISSING).verdict is Verdict.WAIT


def test_a_missing_machine_whose_id_another_one_carries_is_asked_about() -> None:
    other = worker_machine(label="other")
    given = with_records(*other.cloud, rows=[row(ONE)], probes=[absent(ONE.server)])
    assert only(given, FindingKind.MISSING).verdict is Verdict.ASK


def test_a_row_of_a_zone_that_is_not_looked_at_is_left_alone() -> None:
    far = worker_machine(zone="pl-waw-1")
    assert found(with_records(rows=[row(far.ref, zone="pl-waw-1")])) == []


# -- unresolved creates


@pytest.mark.parametrize("sent", [NOW, SENT + 1])
def test_a_create_that_may_still_be_carried_out_is_waited_for(sent: int) -> None:
    given = with_records(WITNESS, rows=[row(create_sent_ms=sent, changed_ms=sent)])
    finding = only(given, FindingKind.UNRESOLVED_CREATE)
    assert (finding.verdict, finding.action, finding.wait_until_ms) == (Verdict.WAIT, ActionKind.NONE, sent + WINDOW_MS)


def test_a_create_is_waited_for_even_when_its_machine_is_seen_already() -> None:
    given = with_records(*ONE.cloud, rows=[row(create_sent_ms=SENT + 1)])
    assert only(given, FindingKind.UNRESOLVED_CREATE).verdict is Verdict.WAIT


def test_the_longer_of_create_deadline_and_grace_counts() -> None:
    patient = scope(create_seconds=3000, grace_seconds=3600)
    given = with_records(WITNESS, rows=[row(create_sent_ms=NOW - 3_599_999)], scope=patient)
    assert only(given, FindingKind.UNRESOLVED_CREATE).wait_until_ms == NOW + 1


def test_of_an_intent_that_was_never_sent_the_time_of_the_row_counts() -> None:
    young = with_records(WITNESS, rows=[row(create_sent_ms=None, changed_ms=SENT + 1)])
    assert only(young, FindingKind.UNRESOLVED_CREATE).verdict is Verdict.WAIT
    old = with_records(WITNESS, rows=[row(create_sent_ms=None, changed_ms=SENT)])
    assert only(old, FindingKind.UNRESOLVED_CREATE).action is ActionKind.PURGE


def test_the_one_machine_with_the_id_is_attached() -> None:
    """Created, and the answer or the write of its id was lost."""
    finding = only(with_records(*ONE.cloud, rows=[row()]), FindingKind.UNRESOLVED_CREATE)
    assert (finding.verdict, finding.action, finding.row) == (Verdict.ACT, ActionKind.ATTACH, WORKER)
    assert finding.refs == (ONE.ref,)


def test_a_create_that_made_nothing_ends_its_row() -> None:
    """The request was lost."""
    assert verdict(WITNESS, rows=[row()], kind=FindingKind.UNRESOLVED_CREATE) == (Verdict.ACT, ActionKind.PURGE)


@pytest.mark.parametrize("resources", [(), ONE.cloud], ids=["none seen", "one seen"])
def test_an_incomplete_list_resolves_no_create(resources: tuple[Any, ...]) -> None:
    given = with_records(*resources, rows=[row()], broken={Kind.SERVER: "HTTP 503"})
    finding = only(given, FindingKind.UNRESOLVED_CREATE)
    assert (finding.verdict, finding.action) == (Verdict.UNKNOWN, ActionKind.NONE)


def test_an_empty_list_without_a_proved_right_is_no_proof() -> None:
    given = with_records(rows=[row()])
    blind = {
        key: replace(scan, right=type(scan.right).ASSUMED) if key[0] is Kind.SERVER else scan
        for key, scan in given.inventory.scans.items()
    }
    given = replace(given, inventory=replace(given.inventory, scans=blind))
    assert only(given, FindingKind.UNRESOLVED_CREATE).verdict is Verdict.ASK


def test_a_create_in_a_zone_that_is_not_looked_at_is_asked_about() -> None:
    assert verdict(rows=[row(zone="pl-waw-1")], kind=FindingKind.UNRESOLVED_CREATE)[0] is Verdict.ASK


BARRED: dict[str, dict[str, Any]] = {
    "a state holds it": {"states": [state(entry_of(ONE.server, ONE.root, ONE.ip))]},
    "its deletion is decided": {"memory": Memory(first_complete_ms=0, doomed=frozenset({ONE.ref}))},
    "it was released": {"memory": Memory(released={ONE.ref: Release(ref=ONE.ref, with_id="x", stack="s", urn="u")})},
    "it is never touched": {"scope": scope(never=Never(names=("burst-*",)))},
}


@pytest.mark.parametrize("why", BARRED)
def test_a_machine_that_is_somebody_elses_is_not_attached(why: str) -> None:
    assert verdict(*ONE.cloud, rows=[row()], kind=FindingKind.UNRESOLVED_CREATE, **BARRED[why])[0] is Verdict.ASK


MINUTE = 60_000


@pytest.mark.parametrize("made", [SENT - 2 * MINUTE, NOW + 2 * MINUTE], ids=["before it was sent", "after its end"])
def test_a_machine_that_the_create_cannot_have_made_is_not_attached(made: int) -> None:
    """A person's, whose tags were copied: by its tags alone it would get a row, and with the row it would be ours."""
    copy = worker_machine(created_ms=made)
    given = with_records(*copy.cloud, rows=[row(create_sent_ms=SENT)])
    finding = only(given, FindingKind.UNRESOLVED_CREATE)
    assert (finding.verdict, "carries its id, but it was " in finding.reason) == (Verdict.ASK, True)


def test_two_clocks_that_differ_by_less_than_the_limit_keep_no_machine_from_its_row() -> None:
    one = worker_machine(created_ms=SENT - MINUTE // 2)
    given = with_records(*one.cloud, rows=[row(create_sent_ms=SENT)])
    assert only(given, FindingKind.UNRESOLVED_CREATE).verdict is Verdict.ACT


def test_a_machine_with_another_scopes_tag_is_not_attached() -> None:
    foreign = worker_machine(tags=worker_tags(scope=OTHER_SCOPE))
    assert verdict(*foreign.cloud, rows=[row()], kind=FindingKind.UNRESOLVED_CREATE)[0] is Verdict.ASK


def test_nothing_is_attached_while_a_stack_may_be_taking_it_into_its_state() -> None:
    locked = [state(locks=(Lock(created_by="ann@ci-7"),))]
    assert verdict(*ONE.cloud, rows=[row()], kind=FindingKind.UNRESOLVED_CREATE, states=locked)[0] is Verdict.WAIT


def test_nothing_is_attached_while_a_stack_that_may_own_it_is_unread() -> None:
    unread = (UnreadStack(stack="ci/x", code="RC0508", reason="broken"),)
    assert verdict(*ONE.cloud, rows=[row()], kind=FindingKind.UNRESOLVED_CREATE, unread=unread)[0] is Verdict.UNKNOWN


def test_a_row_that_was_written_while_the_inventory_was_read_is_not_resolved() -> None:
    given = with_records(WITNESS, rows=[row()], before=view(row(changed_ms=1)))
    assert only(given, FindingKind.UNRESOLVED_CREATE).verdict is Verdict.WAIT
    fresh = with_records(WITNESS, rows=[row()], before=view())
    assert only(fresh, FindingKind.UNRESOLVED_CREATE).verdict is Verdict.WAIT


# -- stale rows


def stale(*resources: Any, **changes: Any) -> tuple[Verdict, ActionKind]:
    return verdict(*resources, kind=FindingKind.STALE_ROW, **changes)


FAILED = row(ONE, state=WorkerState.FAILED, failure="out of memory")
STALE = {
    "failed": FAILED,
    "provisioning": row(ONE, state=WorkerState.PROVISIONING),
    "bootstrapping": row(ONE, state=WorkerState.BOOTSTRAPPING, create_confirmed_ms=NOW - 1_200_000),
}


@pytest.mark.parametrize("of", STALE)
def test_the_machine_of_a_row_that_must_not_stay_is_destroyed_with_what_was_made_for_it(of: str) -> None:
    finding = only(with_records(*ONE.cloud, rows=[STALE[of]]), FindingKind.STALE_ROW)
    assert (finding.verdict, finding.action) == (Verdict.ACT, ActionKind.DESTROY)
    assert finding.refs[0] == ONE.ref
    assert set(finding.refs[1:]) == {ONE.root.ref, ONE.ip.ref}
    assert finding.cost.hour_nanos > 0


@pytest.mark.parametrize("of", STALE)
def test_a_stale_row_whose_machine_is_gone_ends(of: str) -> None:
    assert stale(rows=[STALE[of]], probes=[absent(ONE.server)]) == (Verdict.ACT, ActionKind.PURGE)


@pytest.mark.parametrize(
    "fresh",
    [
        row(ONE, state=WorkerState.PROVISIONING, create_sent_ms=SENT + 1),
        row(ONE, state=WorkerState.BOOTSTRAPPING, create_confirmed_ms=NOW - 1_199_999),
        row(ONE),
        row(ONE, state=WorkerState.BUSY, create_sent_ms=1, create_confirmed_ms=2),
    ],
    ids=["provisioning", "bootstrapping", "ready", "busy"],
)
def test_a_row_within_its_deadline_or_at_work_stays(fresh: Any) -> None:
    assert found(with_records(*ONE.cloud, rows=[fresh])) == []


def test_a_row_that_was_written_for_a_found_machine_has_no_deadline() -> None:
    """Nobody knows when it was made, and it may be at work."""
    old = row(ONE, state=WorkerState.BOOTSTRAPPING, create_sent_ms=None, create_confirmed_ms=None, changed_ms=1)
    assert found(with_records(*ONE.cloud, rows=[old])) == []


def test_a_failed_row_that_never_had_a_machine_ends_after_the_longest_create() -> None:
    failed = row(state=WorkerState.FAILED)
    assert stale(WITNESS, rows=[failed]) == (Verdict.ACT, ActionKind.PURGE)
    assert stale(WITNESS, rows=[replace(failed, create_sent_ms=SENT + 1)])[0] is Verdict.WAIT


def test_the_machine_of_a_failed_row_is_attached_before_it_is_destroyed() -> None:
    assert stale(*ONE.cloud, rows=[row(state=WorkerState.FAILED)]) == (Verdict.ACT, ActionKind.ATTACH)


def test_a_doomed_row_ends_when_its_deletion_is_finished() -> None:
    assert stale(rows=[doomed(FAILED, finished=True)]) == (Verdict.ACT, ActionKind.PURGE)
    assert found(with_records(rows=[doomed(FAILED)])) == []


KEPT: dict[str, tuple[dict[str, Any], Verdict]] = {
    "a state holds it": ({"states": [state(entry_of(ONE.server, ONE.root, ONE.ip))]}, Verdict.ASK),
    "an adoption holds it": ({"memory": Memory(held=frozenset({ONE.ref}))}, Verdict.ASK),
    "never": ({"scope": scope(never=Never(names=("burst-*",)))}, Verdict.ASK),
    "its fleet asks": (
        {"scope": scope(fleets=(FleetMatch(name="burst", tags=("x",), actions=(("stale_row", "ask"),)),))},
        Verdict.ASK,
    ),
    "pending": ({"states": [state(pending=(pending(),))]}, Verdict.ASK),
    "locked": ({"states": [state(locks=(Lock(created_by="ann@ci-7"),))]}, Verdict.WAIT),
    "unread": ({"unread": (UnreadStack(stack="ci/x", code="RC0508", reason="broken"),)}, Verdict.UNKNOWN),
    "not read whole": ({"broken": {Kind.SERVER: "HTTP 503"}}, Verdict.UNKNOWN),
}


@pytest.mark.parametrize("why", KEPT)
def test_everything_that_speaks_for_an_orphan_speaks_for_a_stale_rows_machine(why: str) -> None:
    changes, expected = KEPT[why]
    assert stale(*ONE.cloud, rows=[FAILED], **changes)[0] is expected


def test_a_protected_machine_of_a_stale_row_is_asked_about() -> None:
    kept = worker_machine(protected=True)
    assert stale(*kept.cloud, rows=[replace(FAILED, machine=kept.ref)])[0] is Verdict.ASK


def test_a_machine_in_a_transient_state_is_waited_for() -> None:
    moving = worker_machine(state="stopping")
    assert stale(*moving.cloud, rows=[replace(FAILED, machine=moving.ref)])[0] is Verdict.WAIT


def test_a_machine_without_our_tags_is_not_destroyed_for_its_row_alone() -> None:
    """Somebody took the tags off, and may mean it."""
    bare = worker_machine(tags=())
    assert stale(*bare.cloud, rows=[replace(FAILED, machine=bare.ref)])[0] is Verdict.ASK


def test_a_machine_with_another_scopes_tag_is_not_destroyed_for_its_row() -> None:
    foreign = worker_machine(tags=worker_tags(scope=OTHER_SCOPE))
    assert stale(*foreign.cloud, rows=[replace(FAILED, machine=foreign.ref)])[0] is Verdict.ASK


def test_a_persons_local_storage_on_it_is_a_persons_to_say() -> None:
    disk = local_volume("theirs", server_id=ONE.server.id, created_ms=NOW - 30 * 24 * HOUR)
    with_disk = with_parts(ONE.server, ONE.root, disk, ONE.ip)
    assert stale(with_disk, ONE.root, disk, ONE.ip, rows=[FAILED])[0] is Verdict.ASK


def test_a_persons_volume_on_it_does_not_go_with_it() -> None:
    data = volume("theirs", server_id=ONE.server.id, created_ms=NOW - 30 * 24 * HOUR)
    with_data = with_parts(ONE.server, ONE.root, data, ONE.ip)
    finding = only(with_records(with_data, ONE.root, data, ONE.ip, rows=[FAILED]), FindingKind.STALE_ROW)
    assert data.ref not in finding.refs


def test_a_row_that_reported_while_the_inventory_was_read_waits() -> None:
    given = with_records(*ONE.cloud, rows=[FAILED], before=view(row(ONE)))
    assert only(given, FindingKind.STALE_ROW).verdict is Verdict.WAIT


def test_the_episode_of_a_row_is_one_whatever_becomes_of_its_verdict() -> None:
    ids = {
        only(given, FindingKind.UNRESOLVED_CREATE).id
        for given in (
            with_records(WITNESS, rows=[row()]),
            with_records(*ONE.cloud, rows=[row()]),
            with_records(WITNESS, rows=[row(create_sent_ms=NOW)]),
        )
    }
    assert len(ids) == 1


def test_the_owners_of_a_scope_by_tags_gain_nothing_here() -> None:
    """The row is proof enough of which machine; the tags say that it is still ours."""
    given = with_records(*ONE.cloud, rows=[FAILED], scope=scope(ownership=Ownership.TAGS))
    assert only(given, FindingKind.STALE_ROW).verdict is Verdict.ACT


def test_a_row_of_one_fleet_says_nothing_of_another_worker() -> None:
    other = worker_machine(uid("worker-2"), label="burst-2")
    rows = [FAILED, row(other, id=uid("worker-2"))]
    findings = found(with_records(*ONE.cloud, *other.cloud, rows=rows))
    assert [one.row for one in findings] == [WORKER]
