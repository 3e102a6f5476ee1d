"""Policy findings: what is judged, what is repaired, and what another finding says already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from reconciler.diff import diff
from reconciler.diff.exit import sweep_exit
from reconciler.diff.index import Index
from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.memory import Memory, Release
from reconciler.model.policy import Policies
from reconciler.model.scope import FleetMatch, Never
from reconciler.model.state import Lock
from reconciler.model.world import World
from reconciler.policy.item import Item, violation_fingerprint
from tests.builders import (
    GB,
    NOW,
    OTHER_SCOPE,
    PROJECT,
    STACK,
    entry_of,
    found,
    ip,
    local_volume,
    machine,
    nic,
    only,
    owner_tags,
    policies,
    remembered,
    scope,
    server,
    state,
    volume,
    with_parts,
    world,
)
from tests.diff.worlds import worlds

ONE = machine(0)
ROLE: dict[str, Any] = {"id": "role", "check": "required-tags", "tags": ["role=ci"]}
NIC = nic("linux-0-nic", server_id=ONE.server.id)
WITH_NIC = with_parts(ONE.server, ONE.root, ONE.ip, NIC)
WITH_NIC_ENTRIES = (entry_of(WITH_NIC, ONE.root, ONE.ip, NIC), ONE.entries[1])


def judged(*rules: dict[str, Any], **changes: Any) -> World:
    """One machine in order, and a policy."""
    given: dict[str, Any] = {"states": [state(*ONE.entries)], "policies": policies(*(rules or (ROLE,)))}
    return world(*changes.pop("cloud", ONE.cloud), **(given | changes))


def of(kind: str, *rules: dict[str, Any], **changes: Any) -> Any:
    (finding,) = [one for one in found(judged(*rules, **changes), FindingKind.POLICY) if one.subjects[0].kind == kind]
    return finding


def test_without_a_policy_there_is_no_such_finding() -> None:
    assert found(judged(policies=Policies()), FindingKind.POLICY) == []


def test_a_managed_server_is_asked_about_with_the_tag_to_declare() -> None:
    finding = of("server")
    assert (finding.verdict, finding.action, finding.tags_after) == (Verdict.ASK, ActionKind.NONE, None)
    assert finding.reason == "role: tag `role=ci` is missing; declare `role=ci` in the tags of linux-0"


def test_a_managed_ip_is_asked_about() -> None:
    assert of("ip").verdict is Verdict.ASK


@pytest.mark.parametrize("ignored", ["tags", "*"])
def test_what_the_program_ignores_may_be_tagged(ignored: str) -> None:
    entries = (replace(ONE.entries[0], ignore_changes=(ignored,)), ONE.entries[1])
    finding = of("server", states=[state(*entries)])
    assert (finding.verdict, finding.action) == (Verdict.ACT, ActionKind.TAG)
    assert finding.tags_after == (*ONE.server.tags, "role=ci")


def test_a_root_volume_is_tagged_and_keeps_what_it_has() -> None:
    root = replace(ONE.root, tags=("theirs", *ONE.root.tags))
    finding = of("volume", cloud=(ONE.server, root, ONE.ip))
    assert (finding.verdict, finding.action) == (Verdict.ACT, ActionKind.TAG)
    assert finding.tags_after == (*root.tags, "role=ci")
    assert finding.subjects[1].urn == ONE.entries[0].urn


def test_a_nic_that_the_state_of_its_server_names_gets_all_owner_tags_of_the_server() -> None:
    rule = {"id": "own", "check": "ownership", "kinds": ["nic"]}
    finding = of("nic", rule, cloud=(WITH_NIC, ONE.root, ONE.ip, NIC), states=[state(*WITH_NIC_ENTRIES)])
    assert (finding.verdict, finding.action, finding.tags_after) == (Verdict.ACT, ActionKind.TAG, owner_tags(0))


def test_a_nic_that_a_person_attached_is_not_judged() -> None:
    by_hand = nic("by-hand", server_id=ONE.server.id, network="another")
    given = judged(cloud=(WITH_NIC, ONE.root, ONE.ip, NIC, by_hand), states=[state(*WITH_NIC_ENTRIES)])
    assert by_hand.id not in {one.subjects[0].id for one in found(given, FindingKind.POLICY)}


def test_a_volume_that_a_person_attached_is_not_judged() -> None:
    data = volume("data", server_id=ONE.server.id, created_ms=NOW - 3_600_000)
    owner = with_parts(ONE.server, ONE.root, data, ONE.ip)
    given = judged(cloud=(owner, ONE.root, data, ONE.ip), states=[state(*ONE.entries)])
    assert data.id not in {one.subjects[0].id for one in found(given, FindingKind.POLICY)}


def test_local_storage_of_the_machine_is_judged_as_its_own_kind() -> None:
    disk = local_volume("disk", server_id=ONE.server.id, tags=owner_tags(0))
    owner = with_parts(ONE.server, ONE.root, disk, ONE.ip)
    finding = of("instance_volume", cloud=(owner, ONE.root, disk, ONE.ip), states=[state(entry_of(owner, ONE.root))])
    assert finding.verdict is Verdict.ACT


def test_owner_tags_and_those_of_the_policy_are_written_at_once() -> None:
    bare = replace(ONE.root, tags=("theirs",))
    rule = {**ROLE, "kinds": ["volume"]}
    finding = only(judged(rule, cloud=(ONE.server, bare, ONE.ip)))
    assert finding.kind is FindingKind.UNTAGGED_CHILD
    assert finding.tags_after == ("theirs", *owner_tags(0), "role=ci")


def test_what_owner_tags_settle_is_no_policy_finding() -> None:
    rule = {"id": "own", "check": "ownership", "kinds": ["volume"]}
    finding = only(judged(rule, cloud=(ONE.server, replace(ONE.root, tags=()), ONE.ip)))
    assert (finding.kind, finding.tags_after) == (FindingKind.UNTAGGED_CHILD, owner_tags(0))


def test_declared_tags_that_were_lost_are_changed_and_no_policy() -> None:
    rule = {"id": "own", "check": "ownership", "kinds": ["server"]}
    finding = only(judged(rule, cloud=(replace(ONE.server, tags=()), ONE.root, ONE.ip)))
    assert finding.kind is FindingKind.CHANGED


def test_a_forbidden_tag_that_a_person_added_is_changed_and_no_policy() -> None:
    rule = {"id": "no", "check": "forbidden-tags", "tags": ["temporary"], "kinds": ["server"]}
    tagged = replace(ONE.server, tags=(*ONE.server.tags, "temporary"))
    assert only(judged(rule, cloud=(tagged, ONE.root, ONE.ip))).kind is FindingKind.CHANGED


def test_a_size_that_changed_is_not_said_twice() -> None:
    rule = {"id": "small", "check": "max-size", "gb": 30}
    grown = replace(ONE.root, size=100 * GB)
    assert only(judged(rule, cloud=(ONE.server, grown, ONE.ip))).kind is FindingKind.CHANGED


def test_a_resource_with_another_difference_is_tagged_later() -> None:
    entries = (replace(ONE.entries[0], ignore_changes=("tags",)), ONE.entries[1])
    renamed = replace(ONE.server, name="by-hand")
    rule = {**ROLE, "kinds": ["server"]}
    finding = of("server", rule, cloud=(renamed, ONE.root, ONE.ip), states=[state(*entries)])
    assert (finding.verdict, finding.action) == (Verdict.WAIT, ActionKind.TAG)


def test_a_locked_stack_makes_it_wait() -> None:
    locked = state(*ONE.entries, locks=(Lock(created_by="ann@ci"),))
    assert {one.verdict for one in found(judged(states=[locked]), FindingKind.POLICY)} == {Verdict.WAIT}


def test_advice_is_shown_and_counts_for_nothing() -> None:
    given = judged({**ROLE, "severity": "advisory"})
    findings = found(given, FindingKind.POLICY)
    assert {(one.verdict, one.action) for one in findings} == {(Verdict.NONE, ActionKind.NONE)}
    assert sweep_exit(given, findings) == 0


def test_a_violation_ends_with_5_and_other_drift_beside_it_too() -> None:
    given = judged(cloud=(replace(ONE.server, name="by-hand"), ONE.root, ONE.ip))
    findings = found(given)
    assert {one.kind for one in findings} == {FindingKind.CHANGED, FindingKind.POLICY}
    assert sweep_exit(given, findings) == 5


def test_several_rules_are_one_finding_with_one_piece_of_evidence_each() -> None:
    finding = of("server", ROLE, {"id": "private", "check": "no-public-ip"})
    assert finding.rule == "policy role, private"
    assert [fact.text.split(" ")[0] for fact in finding.evidence] == ["role", "private"]


def test_leftovers_and_strangers_are_not_judged() -> None:
    leftover, stranger = volume("left", tags=owner_tags(3)), server("bastion")
    given = world(leftover, stranger, memory=remembered(leftover), policies=policies(ROLE))
    assert found(given, FindingKind.POLICY) == []


def test_what_is_never_touched_is_shown_and_not_tagged() -> None:
    never = scope(never=Never(ids=(ONE.root.id,)))
    finding = of("volume", {**ROLE, "kinds": ["volume"]}, scope=never)
    assert (finding.verdict, finding.action) == (Verdict.ASK, ActionKind.NONE)


def test_another_scopes_child_is_not_judged() -> None:
    theirs = replace(ONE.root, tags=owner_tags(0, scope=OTHER_SCOPE))
    given = judged({**ROLE, "kinds": ["volume"]}, cloud=(ONE.server, theirs, ONE.ip))
    assert found(given, FindingKind.POLICY) == []


def test_another_projects_resource_is_not_judged() -> None:
    theirs = replace(ONE.server, project="99999999-9999-4999-8999-999999999999")
    entry = replace(ONE.entries[0], outputs={**ONE.entries[0].outputs, "projectId": PROJECT})
    given = judged({**ROLE, "kinds": ["server"]}, cloud=(theirs, ONE.root, ONE.ip), states=[state(entry)])
    assert found(given, FindingKind.POLICY) == []


def test_a_released_child_is_not_judged() -> None:
    release = Release(ref=ONE.root.ref, with_id=ONE.root.id, stack=STACK, urn="urn", done_ms=1)
    memory = Memory(first_complete_ms=0, released={ONE.root.ref: release})
    assert found(judged({**ROLE, "kinds": ["volume"]}, memory=memory), FindingKind.POLICY) == []


def test_a_stack_is_judged_by_its_own_declaration_and_another_is_not() -> None:
    other = machine(1)
    states = [state(*ONE.entries), state(*other.entries, stack="ci/other")]
    rule = {**ROLE, "kinds": ["server"]}
    given = world(*ONE.cloud, *other.cloud, states=states, policies=policies(rule, stack=STACK))
    assert [one.stack for one in found(given, FindingKind.POLICY)] == [STACK]


def test_where_both_have_a_rule_of_one_id_the_configured_one_counts() -> None:
    own = policies({**ROLE, "kinds": ["server"]}, stack=STACK).declared
    configured = policies({**ROLE, "kinds": ["server"], "severity": "advisory"}).configured
    finding = only(judged(policies=Policies(configured=configured, declared=own)))
    assert finding.verdict is Verdict.NONE


def test_what_is_in_the_baseline_does_not_count_until_its_day() -> None:
    item = Item(kind=ONE.server.ref.kind, urn=ONE.entries[0].urn)
    known = (violation_fingerprint("role", item),)
    rule = {**ROLE, "kinds": ["server"]}
    for over, count in ((NOW + 1, 0), (NOW, 1)):
        given = replace(policies(rule), baseline=tuple((one, over) for one in known))
        assert len(found(judged(policies=given), FindingKind.POLICY)) == count


def test_a_fleet_of_the_configuration_is_a_fleet_of_the_policy() -> None:
    plain = machine(0, tags=("x",))
    match = FleetMatch(name="legacy", names=("linux-*",), urns=("**Server::linux-*",))
    rule = {**ROLE, "kinds": ["server"], "fleets": ["legacy"]}
    given = world(plain.server, states=[state(plain.entries[0])], scope=scope(fleets=(match,)), policies=policies(rule))
    assert only(given, FindingKind.POLICY).fleet == "legacy"


def test_what_a_program_only_reads_is_not_judged() -> None:
    entries = (replace(ONE.entries[0], external=True), ONE.entries[1])
    assert found(judged({**ROLE, "kinds": ["server"]}, states=[state(*entries)]), FindingKind.POLICY) == []


def test_a_price_is_that_of_the_catalogue() -> None:
    rule = {"id": "cheap", "check": "max-price", "eur_hour": 0.005, "kinds": ["server", "ip", "volume"]}
    assert [one.subjects[0].kind for one in found(judged(rule), FindingKind.POLICY)] == ["server"]


def test_a_free_ip_of_the_state_is_judged_too() -> None:
    free = ip("free", tags=owner_tags(None))
    given = judged({**ROLE, "kinds": ["ip"]}, cloud=(*ONE.cloud, free), states=[state(*ONE.entries, entry_of(free))])
    assert len(found(given, FindingKind.POLICY)) == 2


EVERYTHING = policies(
    {"id": "own", "check": "ownership", "severity": "remediate"},
    ROLE,
    {"id": "types", "check": "allowed-types", "types": ["PRO2-*"]},
    {"id": "young", "check": "max-lifetime", "age": "1h"},
    {"id": "few", "check": "tag-limits", "count": 1},
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(worlds())
def test_a_policy_adds_findings_and_tags_and_changes_nothing_else(given_world: World) -> None:
    """In any world: the other findings are as they were, no tag is lost, and nothing is ever destroyed for it."""
    before = {one.id: one for one in diff(given_world)}
    after = diff(replace(given_world, policies=EVERYTHING))
    index = Index(given_world.inventory)
    for one in after:
        if one.kind is FindingKind.POLICY:
            assert one.action in (ActionKind.NONE, ActionKind.TAG)
        elif one.kind is FindingKind.UNTAGGED_CHILD:
            assert replace(one, tags_after=None, reason="") == replace(before[one.id], tags_after=None, reason="")
        else:
            assert one == before[one.id]
        if one.tags_after is not None and one.kind in (FindingKind.POLICY, FindingKind.UNTAGGED_CHILD):
            resource = index.get(one.refs[0])
            assert resource is not None
            assert one.tags_after[: len(resource.tags)] == resource.tags
            assert resource.project == given_world.scope.project
    assert {one.id for one in after if one.kind is not FindingKind.POLICY} == set(before)
