"""What a program's preview adds to the findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reconciler.diff import diff
from reconciler.diff.exit import sweep_exit
from reconciler.diff.remember import sweep_record
from reconciler.kernel.errors import EXIT_DRIFT, EXIT_INCOMPLETE
from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.memory import Episode, Memory
from reconciler.model.program import FailedProgram, ProgramChange, ProgramResource, ProgramView
from reconciler.model.state import SECRET, Lock, StateResource
from tests.builders import (
    DAY,
    FLEET,
    NOW,
    OTHER_PROJECT,
    OTHER_SCOPE,
    STACK,
    absent,
    entry_of,
    fleet,
    found,
    ip,
    machine,
    only,
    owner_tags,
    pending,
    state,
    world,
)

ONE = machine(0)
SERVER_ENTRY, IP_ENTRY = ONE.entries


def step(entry: StateResource, operation: str, *changes: ProgramChange, **more: Any) -> ProgramResource:
    return ProgramResource(urn=entry.urn, type=entry.type, operation=operation, changes=changes, **more)


def view(*steps: ProgramResource, stack: str = STACK) -> dict[str, ProgramView]:
    return {stack: ProgramView(stack=stack, at_ms=NOW - 800, resources={one.urn: one for one in steps})}


def planned(name: str, kind: str = "instance/server:Server", **more: Any) -> ProgramResource:
    token = f"scaleway:{kind}"
    return ProgramResource(urn=f"urn:pulumi:prod::ci::{token}::{name}", type=token, operation="create", **more)


TAGS = ProgramChange(path="tags[1]", state=["a"], program=["a", "b"])


def test_what_the_program_dropped_is_undeclared_and_the_users_to_delete() -> None:
    finding = only(world(*ONE.cloud, states=[state(*ONE.entries)], programs=view(step(IP_ENTRY, "delete"))))
    assert (finding.kind, finding.verdict, finding.action) == (
        FindingKind.UNDECLARED,
        Verdict.ASK,
        ActionKind.UP,
    )
    assert (finding.subjects[0].urn, finding.subjects[0].id) == (IP_ENTRY.urn, ONE.ip.id)


def test_an_undeclared_machine_shows_what_it_costs() -> None:
    finding = only(world(*ONE.cloud, states=[state(*ONE.entries)], programs=view(step(SERVER_ENTRY, "delete"))))
    assert finding.cost.hour_nanos > 0


def test_an_undeclared_resource_that_is_protected_says_that_up_fails() -> None:
    kept = replace(IP_ENTRY, protect=True)
    finding = only(world(*ONE.cloud, states=[state(SERVER_ENTRY, kept)], programs=view(step(kept, "delete"))))
    assert "protected" in finding.reason


def test_an_entry_that_the_preview_does_not_speak_of_is_not_undeclared() -> None:
    """Only a step that deletes says so; a preview may leave things out."""
    assert found(world(*ONE.cloud, states=[state(*ONE.entries)], programs=view(step(IP_ENTRY, "same")))) == []


def test_without_a_program_nothing_is_undeclared() -> None:
    assert found(world(*ONE.cloud, states=[state(*ONE.entries)])) == []


@pytest.mark.parametrize("operation", ["read", "discard", "refresh", "something-new"])
def test_other_operations_are_no_difference(operation: str) -> None:
    steps = view(step(IP_ENTRY, operation))
    assert found(world(*ONE.cloud, states=[state(*ONE.entries)], programs=steps)) == []


def test_what_is_gone_from_cloud_and_program_is_one_finding() -> None:
    lost = world(
        ONE.server,
        ONE.root,
        states=[state(*ONE.entries)],
        probes=[absent(ONE.ip)],
        programs=view(step(IP_ENTRY, "delete")),
    )
    finding = only(lost, FindingKind.MISSING)
    assert found(lost, FindingKind.UNDECLARED) == []
    assert any("no longer declares it" in fact.text for fact in finding.evidence)


def test_a_change_of_the_program_alone_is_changed_and_the_users() -> None:
    finding = only(world(*ONE.cloud, states=[state(*ONE.entries)], programs=view(step(IP_ENTRY, "update", TAGS))))
    assert (finding.kind, finding.verdict, finding.action) == (FindingKind.CHANGED, Verdict.ASK, ActionKind.UP)
    assert "tags[1]" in finding.reason
    assert any('the program says ["a", "b"]' in fact.text for fact in finding.evidence)


def test_a_replace_says_that_the_machine_goes() -> None:
    steps = view(step(SERVER_ENTRY, "replace", ProgramChange(path="image", state="a", program="b")))
    assert "replaces it: deletes it" in only(world(*ONE.cloud, states=[state(*ONE.entries)], programs=steps)).reason


def test_what_differs_in_cloud_and_program_is_one_finding() -> None:
    renamed = replace(ONE.ip, tags=(*ONE.ip.tags, "more"))
    both = world(
        ONE.server,
        ONE.root,
        renamed,
        states=[state(*ONE.entries)],
        programs=view(step(IP_ENTRY, "update", TAGS)),
    )
    alone = only(replace(both, programs={}), FindingKind.CHANGED)
    finding = only(both, FindingKind.CHANGED)
    assert (finding.action, finding.id) == (alone.action, alone.id)
    assert any(fact.source == "program" for fact in finding.evidence)


def test_a_secret_that_the_program_changes_is_not_shown() -> None:
    change = ProgramChange(path="userData", state={"cloud-init": SECRET}, program={"cloud-init": SECRET})
    finding = only(world(*ONE.cloud, states=[state(*ONE.entries)], programs=view(step(SERVER_ENTRY, "update", change))))
    assert any('{"cloud-init": "[secret]"}' in fact.text for fact in finding.evidence)


def test_a_machine_that_the_program_adds_is_a_vacant_slot_with_all_that_it_needs() -> None:
    tags = owner_tags(1)
    steps = view(planned("linux-1", tags=tags, zone="fr-par-1"), planned("linux-1-ip", "instance/ip:Ip", tags=tags))
    finding = only(world(*ONE.cloud, states=[state(*ONE.entries)], fleets=[fleet(1)], programs=steps))
    assert (finding.kind, finding.verdict, finding.subjects[0].worker) == (
        FindingKind.VACANT,
        Verdict.ASK,
        f"{FLEET}/1",
    )
    assert len(finding.evidence) == 2


def test_a_slot_is_the_same_finding_by_outputs_and_by_program() -> None:
    by_outputs = only(world(*ONE.cloud, states=[state(*ONE.entries)], fleets=[fleet(2)]))
    steps = view(planned("linux-1", tags=owner_tags(1), zone="fr-par-1"))
    by_program = only(world(*ONE.cloud, states=[state(*ONE.entries)], fleets=[fleet(2)], programs=steps))
    assert by_program.id == by_outputs.id


def test_a_slot_that_the_edited_program_gave_up_is_not_vacant() -> None:
    """The outputs of the last `up` still say two; the program that is there now says one."""
    assert found(world(*ONE.cloud, states=[state(*ONE.entries)], fleets=[fleet(2)], programs=view())) == []


def test_a_resource_outside_any_fleet_that_the_program_adds_is_named_by_its_urn() -> None:
    finding = only(world(states=[state()], programs=view(planned("spare", "instance/ip:Ip"))))
    assert (finding.kind, finding.subjects[0].kind, finding.subjects[0].name) == (FindingKind.VACANT, "ip", "spare")


@pytest.mark.parametrize(
    "foreign",
    [
        planned("x", project=OTHER_PROJECT),
        planned("x", zone="nl-ams-3"),
        planned("x", tags=owner_tags(0, scope=OTHER_SCOPE)),
        ProgramResource(urn="urn:pulumi:prod::ci::random:index:Id::x", type="random:index:Id", operation="create"),
    ],
    ids=["project", "zone", "scope", "provider"],
)
def test_what_the_program_adds_elsewhere_is_not_this_scopes(foreign: ProgramResource) -> None:
    assert found(world(states=[state()], programs=view(foreign))) == []


def test_an_entry_of_another_project_is_not_undeclared_here() -> None:
    other = entry_of(ip("elsewhere", project=OTHER_PROJECT))
    assert found(world(states=[state(other)], programs=view(step(other, "delete")))) == []


def test_a_type_that_is_not_covered_is_undeclared_all_the_same() -> None:
    odd = StateResource(
        urn="urn:pulumi:prod::ci::scaleway:iam/policy:Policy::p", type="scaleway:iam/policy:Policy", id="x", custom=True
    )
    finding = only(world(states=[state(odd)], programs=view(step(odd, "delete"))))
    assert (finding.kind, finding.subjects[0].kind) == (FindingKind.UNDECLARED, "resource")


def test_a_locked_stack_waits() -> None:
    locked = state(*ONE.entries, locks=(Lock(created_by="eve@host"),))
    finding = only(world(*ONE.cloud, states=[locked], programs=view(step(IP_ENTRY, "delete"))))
    assert finding.verdict is Verdict.WAIT


def test_what_an_interrupted_run_was_making_is_not_vacant_as_well() -> None:
    interrupted = state(pending=(pending(name="linux-9"),))
    assert found(world(states=[interrupted], programs=view(planned("linux-9"))), FindingKind.VACANT) == []


def test_a_program_changes_no_verdict_on_a_leftover() -> None:
    left = ip("left", tags=owner_tags(7))
    plain = world(left, states=[state()])
    with_program = replace(plain, programs=view(planned("new", "instance/ip:Ip")))
    assert [f.verdict for f in found(plain, FindingKind.DETACHED)] == [
        f.verdict for f in found(with_program, FindingKind.DETACHED)
    ]


# -- a program that failed


FAILED = FailedProgram(stack=STACK, code="RC0541", reason="the program of ci/prod failed: KeyError")


def test_a_failed_program_is_a_gap_and_the_outputs_count() -> None:
    broken = world(*ONE.cloud, states=[state(*ONE.entries)], fleets=[fleet(2)], failed_programs=(FAILED,))
    findings = diff(broken)
    assert [finding.kind for finding in findings] == [FindingKind.VACANT, FindingKind.INCOMPLETE]
    assert "outputs" in findings[1].reason
    assert sweep_exit(broken, findings) == EXIT_INCOMPLETE


def test_a_failed_program_beside_an_unread_stack_is_a_finding_of_its_own() -> None:
    assert only(world(states=[state()], failed_programs=(FAILED,))).subjects[0].kind == "program"


def test_undeclared_counts_as_drift() -> None:
    drifted = world(*ONE.cloud, states=[state(*ONE.entries)], programs=view(step(IP_ENTRY, "delete")))
    assert sweep_exit(drifted, diff(drifted)) == EXIT_DRIFT


# -- memory


def remembering(*episodes: Episode) -> Memory:
    return Memory(first_complete_ms=NOW - DAY, episodes={one.finding_id: one for one in episodes})


BY_PROGRAM = Episode(finding_id="p", verdict="ask", opened_ms=NOW - DAY, from_program=True)
OTHER = Episode(finding_id="o", verdict="ask", opened_ms=NOW - DAY)


def test_a_sweep_without_the_program_ends_no_episode_of_the_program() -> None:
    quiet = world(*ONE.cloud, states=[state(*ONE.entries)], memory=remembering(BY_PROGRAM, OTHER))
    assert sweep_record(quiet, diff(quiet), trigger="drift").closable == frozenset({"o"})


def test_a_sweep_with_every_program_ends_all_episodes() -> None:
    heard = world(*ONE.cloud, states=[state(*ONE.entries)], memory=remembering(BY_PROGRAM), programs=view())
    assert sweep_record(heard, diff(heard), trigger="drift").closable is None


def test_a_program_that_failed_ends_no_episode_of_the_program() -> None:
    failed = world(*ONE.cloud, states=[state(*ONE.entries)], memory=remembering(BY_PROGRAM), failed_programs=(FAILED,))
    assert sweep_record(failed, diff(failed), trigger="drift").closable == frozenset()
