"""What state holds: missing and changed, and when each acts, waits, asks or does not know."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.inventory import Presence, Probe
from reconciler.model.resources import Kind
from reconciler.model.scope import Never
from reconciler.model.state import SECRET, Lock
from tests.builders import (
    NOW,
    OTHER_PROJECT,
    OTHER_SCOPE,
    STACK,
    absent,
    entry_of,
    found,
    ip,
    local_volume,
    machine,
    only,
    owner_tags,
    pending,
    scope,
    server,
    state,
    unanswered,
    volume,
    world,
)

ONE = machine(0)


def test_a_world_in_order_has_no_findings() -> None:
    assert found(world(*ONE.cloud, states=[state(*ONE.entries)])) == []


# -- missing


def test_what_is_proved_absent_is_forgotten_by_a_gated_refresh() -> None:
    finding = only(world(ONE.root, ONE.ip, states=[state(*ONE.entries)], probes=[absent(ONE.server)]))
    assert (finding.kind, finding.verdict, finding.action) == (FindingKind.MISSING, Verdict.ACT, ActionKind.REFRESH)
    assert (finding.stack, finding.fleet, finding.subjects[0].worker) == (STACK, "linux", "linux/0")
    assert finding.witness is not None


def test_what_no_probe_proved_absent_is_unknown() -> None:
    finding = only(world(ONE.root, ONE.ip, states=[state(*ONE.entries)], probes=[unanswered(ONE.server)]))
    assert (finding.kind, finding.verdict, finding.witness) == (FindingKind.MISSING, Verdict.UNKNOWN, None)
    assert "403" in finding.reason


def test_what_was_not_asked_for_by_id_is_no_finding_whatever_the_list_says() -> None:
    assert found(world(ONE.root, ONE.ip, states=[state(*ONE.entries)]), FindingKind.MISSING) == []


def test_what_an_incomplete_list_lacks_is_not_missing() -> None:
    broken = {Kind.SERVER: "HTTP 503"}
    kinds = [(one.kind, one.verdict) for one in found(world(ONE.ip, states=[state(*ONE.entries)], broken=broken))]
    assert kinds == [(FindingKind.INCOMPLETE, Verdict.UNKNOWN)]


def test_what_a_lagging_list_lacks_and_a_get_finds_is_there() -> None:
    seen = Probe(ref=ONE.server.ref, presence=Presence.PRESENT, at_ms=NOW, resource=ONE.server, status=200)
    assert found(world(ONE.root, ONE.ip, states=[state(*ONE.entries)], probes=[seen])) == []


def test_what_came_into_the_state_during_the_sweep_waits() -> None:
    earlier = state(*ONE.entries[1:], serial="0")
    finding = only(
        world(ONE.root, ONE.ip, states=[state(*ONE.entries)], before=[earlier], probes=[absent(ONE.server)]),
        FindingKind.MISSING,
    )
    assert (finding.verdict, "came into the state" in finding.reason) == (Verdict.WAIT, True)


def test_what_was_replaced_during_the_sweep_waits() -> None:
    """The same URN with another id is another thing, and the first read says nothing of it."""
    old = replace(ONE.entries[0], id=f"fr-par-1/{server('old').id}")
    finding = only(
        world(
            ONE.root,
            ONE.ip,
            states=[state(*ONE.entries)],
            before=[state(old, ONE.entries[1], serial="0")],
            probes=[absent(ONE.server)],
        ),
        FindingKind.MISSING,
    )
    assert finding.verdict is Verdict.WAIT


@pytest.mark.parametrize("when", ["now", "during the scan"])
def test_nothing_is_forgotten_while_a_lock_is_held(when: str) -> None:
    locked = state(*ONE.entries, locks=(Lock(created_by="ann@ci", pid=7),))
    calm = state(*ONE.entries)
    finding = only(
        world(
            ONE.root,
            ONE.ip,
            states=[locked if when == "now" else calm],
            before=[calm if when == "now" else locked],
            probes=[absent(ONE.server)],
        )
    )
    assert (finding.kind, finding.verdict) == (FindingKind.MISSING, Verdict.WAIT)


def test_nothing_is_forgotten_while_the_serial_moves() -> None:
    finding = only(
        world(
            ONE.root,
            ONE.ip,
            states=[state(*ONE.entries)],
            before=[state(*ONE.entries, serial="0")],
            probes=[absent(ONE.server)],
        )
    )
    assert (finding.verdict, "moved" in finding.reason) == (Verdict.WAIT, True)


def test_nothing_is_forgotten_while_an_operation_is_pending() -> None:
    finding = only(
        world(ONE.root, ONE.ip, states=[state(*ONE.entries, pending=(pending(),))], probes=[absent(ONE.server)]),
        FindingKind.MISSING,
    )
    assert (finding.verdict, "pending" in finding.reason) == (Verdict.WAIT, True)


def test_another_stacks_lock_holds_nothing_up_that_state_holds() -> None:
    locked = state(stack="ci/other", locks=(Lock(created_by="ann@ci"),))
    finding = only(world(ONE.root, ONE.ip, states=[state(*ONE.entries), locked], probes=[absent(ONE.server)]))
    assert finding.verdict is Verdict.ACT


def test_a_volume_that_moved_to_block_storage_under_its_id_is_asked_about() -> None:
    """Report R088: the old API's 404 is true, and the volume is there."""
    was = local_volume("data")
    now = volume("data", tags=owner_tags())
    finding = only(world(now, states=[state(entry_of(was))], probes=[absent(was)]))
    assert (finding.kind, finding.verdict) == (FindingKind.MISSING, Verdict.ASK)
    assert "as a volume" in finding.reason


def test_an_old_copy_that_a_replace_left_is_nobodys_missing() -> None:
    old = replace(ONE.entries[0], id=f"fr-par-1/{server('old').id}", pending_delete=True)
    assert found(world(*ONE.cloud, states=[state(*ONE.entries, old)], probes=[absent(server("old"))])) == []


def test_what_a_program_only_reads_is_nobodys_missing() -> None:
    entry = replace(ONE.entries[0], external=True)
    assert found(world(states=[state(entry)], probes=[absent(ONE.server)])) == []


@pytest.mark.parametrize(
    "entry",
    [
        entry_of(server("elsewhere", project=OTHER_PROJECT)),
        entry_of(server("elsewhere", zone="nl-ams-1")),
        entry_of(server("elsewhere", tags=owner_tags(scope=OTHER_SCOPE))),
    ],
    ids=["another project", "a zone that was not looked at", "another scope's owner tag"],
)
def test_what_is_not_this_scopes_to_judge_makes_no_finding(entry: object) -> None:
    thing = server("elsewhere")
    assert found(world(states=[state(entry)], probes=[absent(thing)])) == []  # type: ignore[arg-type]


# -- changed


def renamed() -> tuple[object, ...]:
    return replace(ONE.server, name="by-hand"), ONE.root, ONE.ip


def test_a_difference_is_taken_into_the_state_by_a_gated_refresh() -> None:
    finding = only(world(*renamed(), states=[state(*ONE.entries)]))  # type: ignore[arg-type]
    assert (finding.kind, finding.verdict, finding.action) == (FindingKind.CHANGED, Verdict.ACT, ActionKind.REFRESH)
    assert [(one.path, one.state, one.cloud) for one in finding.differences] == [("name", "linux-0", "by-hand")]


def test_a_difference_that_no_get_confirmed_is_unknown() -> None:
    finding = only(world(*renamed(), states=[state(*ONE.entries)], probes=[unanswered(ONE.server)]))  # type: ignore[arg-type]
    assert (finding.kind, finding.verdict) == (FindingKind.CHANGED, Verdict.UNKNOWN)


def test_a_difference_in_a_stack_that_is_written_to_waits() -> None:
    locked = state(*ONE.entries, locks=(Lock(created_by="ann@ci"),))
    assert only(world(*renamed(), states=[locked])).verdict is Verdict.WAIT  # type: ignore[arg-type]


def test_a_difference_that_refresh_cannot_see_is_asked_about() -> None:
    root = replace(ONE.root, name="by-hand")
    finding = only(world(ONE.server, root, ONE.ip, states=[state(*ONE.entries)]))
    assert (finding.verdict, finding.action) == (Verdict.ASK, ActionKind.NONE)
    assert "would not see it" in finding.reason


def test_beside_a_difference_that_refresh_sees_the_blind_one_is_no_obstacle() -> None:
    root = replace(ONE.root, name="by-hand", size=30 * 10**9)
    finding = only(world(ONE.server, root, ONE.ip, states=[state(*ONE.entries)]))
    assert (finding.verdict, finding.action) == (Verdict.ACT, ActionKind.REFRESH)


# -- tags written back

LOST = replace(ONE.server, tags=("role=ci",))


def test_declared_tags_that_were_lost_are_written_back_and_nobodys_tag_is_dropped() -> None:
    finding = only(world(LOST, ONE.root, ONE.ip, states=[state(*ONE.entries)]))
    assert (finding.kind, finding.verdict, finding.action) == (FindingKind.CHANGED, Verdict.ACT, ActionKind.TAG)
    assert finding.tags_after == (*owner_tags(0), "role=ci")


def test_all_tags_lost_are_written_back_though_a_refresh_would_not_see_it() -> None:
    finding = only(world(replace(ONE.server, tags=()), ONE.root, ONE.ip, states=[state(*ONE.entries)]))
    assert (finding.verdict, finding.action, finding.tags_after) == (Verdict.ACT, ActionKind.TAG, owner_tags(0))


def test_a_tag_that_somebody_added_is_taken_into_the_state_and_not_removed() -> None:
    more = replace(ONE.server, tags=(*ONE.server.tags, "role=ci"))
    finding = only(world(more, ONE.root, ONE.ip, states=[state(*ONE.entries)]))
    assert (finding.action, finding.tags_after) == (ActionKind.REFRESH, None)


def test_tags_that_the_program_ignores_are_not_written_back() -> None:
    entry = replace(ONE.entries[0], ignore_changes=("tags",))
    assert found(world(LOST, ONE.root, ONE.ip, states=[state(entry, ONE.entries[1])])) == []


def test_no_tag_is_written_while_the_stack_is_written_to() -> None:
    locked = state(*ONE.entries, locks=(Lock(created_by="ann@ci"),))
    finding = only(world(LOST, ONE.root, ONE.ip, states=[locked]))
    assert (finding.verdict, finding.action) == (Verdict.WAIT, ActionKind.TAG)


@pytest.mark.parametrize(
    ("cloud", "rules"),
    [
        (replace(LOST, tags=("keep",)), scope(never=Never(tags=("keep",)))),
        (replace(LOST, tags=(f"reconciler:scope={OTHER_SCOPE}",)), scope()),
        (replace(LOST, project=OTHER_PROJECT), scope()),
    ],
    ids=["never touched", "another scope's", "another project's"],
)
def test_no_tag_is_written_to_what_is_not_ours_to_touch(cloud: object, rules: object) -> None:
    finding = only(world(cloud, ONE.root, ONE.ip, states=[state(*ONE.entries)], scope=rules), FindingKind.CHANGED)  # type: ignore[arg-type]
    assert finding.verdict is Verdict.ASK


def test_a_secret_tag_is_neither_compared_nor_lost() -> None:
    entry = ONE.entries[0]
    secret = replace(
        entry,
        inputs={**entry.inputs, "tags": [*owner_tags(0), SECRET]},
        outputs={**entry.outputs, "tags": [*owner_tags(0), SECRET]},
    )
    cloud = replace(ONE.server, tags=(*owner_tags(0), "shh"))
    assert found(world(cloud, ONE.root, ONE.ip, states=[state(secret, ONE.entries[1])])) == []


def test_two_stacks_that_hold_one_resource_each_hear_of_it() -> None:
    gone = ip("shared", tags=owner_tags())
    states = [state(entry_of(gone)), state(entry_of(gone), stack="ci/other")]
    findings = found(world(states=states, probes=[absent(gone)]))
    assert [(one.kind, one.stack) for one in findings] == [
        (FindingKind.MISSING, "ci/other"),
        (FindingKind.MISSING, "ci/prod"),
    ]
