"""`preflight`: what stops a `pulumi up`, what is only said, and how little is read for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.kernel.errors import AuthenticationError
from reconciler.model.money import NANO, Price
from reconciler.model.resources import Kind, Server
from reconciler.model.state import Lock, PendingOperation, StackState, StateResource
from reconciler.ports.engine import LockEvidence
from tests.cli.conftest import Run
from tests.fakes.cloud import PROJECT, ZONE
from tests.fakes.estate import STACK, FakeWorld, scope_named

SERVER = "scaleway:instance/server:Server"
URN = f"urn:pulumi:dev::demo::{SERVER}::"


def tags(world: FakeWorld, slot: int) -> list[str]:
    return [*world.owner_tags[:-1], f"reconciler:slot={slot}"]


def entry(world: FakeWorld, slot: int, *, id_: str | None, **inputs: Any) -> StateResource:
    given = {"zone": ZONE, "tags": tags(world, slot), "type": "DEV1-S", **inputs}
    return StateResource(urn=f"{URN}linux-{slot}", type=SERVER, id=id_, custom=True, inputs=given)


def interrupt(world: FakeWorld, *slots: int, operation: str = "creating", **inputs: Any) -> None:
    state = world.engine_port.states[STACK]
    pending = tuple(
        PendingOperation(operation=operation, resource=entry(world, slot, id_=None, **inputs)) for slot in slots
    )
    world.engine_port.add(replace(state, pending=pending))


def holds(world: FakeWorld, server: Server, slot: int) -> None:
    state = world.engine_port.states[STACK]
    held = entry(world, slot, id_=f"{server.zone}/{server.id}")
    world.engine_port.add(replace(state, resources=(*state.resources, held)))


def machine(world: FakeWorld, slot: int, number: int = 7, **changes: Any) -> Server:
    server = replace(world.stranger(f"linux-{slot}", number), tags=tuple(tags(world, slot)), **changes)
    world.cloud_port.add(server)
    return server


def lock(world: FakeWorld, *, known: bool = True, **evidence: Any) -> Lock:
    held = Lock(created_by="ci@host-1", pid=4711, created_ms=world.clock_now.now_ms() - 60_000, source="a.json")
    state = world.engine_port.states[STACK]
    world.engine_port.add(replace(state, locks=(held,), locks_known=known))
    world.engine_port.holders["a.json"] = LockEvidence(**{"lock": held, "here": True, "alive": False, **evidence})
    return held


def test_a_clean_stack_passes_and_no_key_is_asked_for(run: Run, world: FakeWorld) -> None:
    world.broken_clouds["demo"] = AuthenticationError("no key")
    ran = run("preflight", STACK)
    assert (ran.status, "may run" in ran.out, world.cloud_port.calls) == (0, True, 0)


def test_a_healthy_fleet_passes_after_one_list_of_servers_a_zone(run: Run, world: FakeWorld) -> None:
    holds(world, machine(world, 0), 0)
    assert run("preflight", STACK).status == 0
    assert world.cloud_port.calls == 1


def test_an_interrupted_create_stops_and_names_the_server_its_zone_and_its_price(run: Run, world: FakeWorld) -> None:
    world.cloud_port.price_list["DEV1-S"] = Price(hour_nanos=NANO // 100, source="test")
    server = machine(world, 1)
    interrupt(world, 1)
    ran = run("preflight", STACK)
    assert ran.status == 6
    assert "creating linux-1 was interrupted" in ran.out
    assert f"server {ZONE}/{server.id} linux-1 (running)" in ran.out
    assert "7.30 EUR/month" in ran.out


def test_the_same_as_json(run: Run, world: FakeWorld) -> None:
    server = machine(world, 1)
    interrupt(world, 1)
    document = run("preflight", STACK, "-j").document
    (stack,) = document["stacks"]
    assert (document["exit_code"], stack["exit_code"]) == (6, 6)
    assert [problem["kind"] for problem in stack["problems"]] == ["interrupted", "twin"]
    found = stack["problems"][1]["resource"]
    assert (found["kind"], found["zone"], found["id"], found["name"]) == ("server", ZONE, server.id, "linux-1")
    assert stack["problems"][1]["urn"] == f"{URN}linux-1"


@pytest.mark.parametrize("operation", ["updating", "deleting", "reading", "importing"])
def test_every_interrupted_operation_stops(run: Run, world: FakeWorld, operation: str) -> None:
    interrupt(world, 1, operation=operation)
    assert run("preflight", STACK).status == 6


def test_an_interrupted_create_that_made_nothing_stops_all_the_same(run: Run, world: FakeWorld) -> None:
    interrupt(world, 1)
    ran = run("preflight", STACK)
    assert (ran.status, "twin" in ran.out) == (6, False)


def test_a_create_without_tags_is_known_by_its_name_alone_and_that_is_said_with_doubt(
    run: Run, world: FakeWorld
) -> None:
    server = world.stranger("bastion", 3)
    interrupt(world, 1, name="bastion", tags=["role=ci"])
    ran = run("preflight", STACK)
    assert ran.status == 6
    assert f"{ZONE}/{server.id}" in ran.out
    assert "may be one" in ran.out


def test_a_machine_that_some_state_holds_is_no_twin(run: Run, world: FakeWorld) -> None:
    holds(world, machine(world, 1), 1)
    interrupt(world, 2)
    assert "twin" not in run("preflight", STACK).out


def test_two_machines_of_one_slot_stop(run: Run, world: FakeWorld) -> None:
    holds(world, machine(world, 0, 7), 0)
    second = machine(world, 0, 8)
    ran = run("preflight", STACK)
    assert ran.status == 6
    assert second.id in ran.out
    assert "another machine for slot linux/0" in ran.out


def declare(world: FakeWorld, replicas: int) -> None:
    fleet = {"uid": "uid-1", "name": "linux", "controller": "static", "zone": ZONE, "revision": "0" * 12}
    fleet |= {"replicas": replicas}  # type: ignore[dict-item]
    output = {"schema_version": 1, "scope": world.scope.uuid, "fleets": [fleet]}
    state = world.engine_port.states[STACK]
    world.engine_port.add(replace(state, outputs={"reconciler": output}))


def test_a_machine_for_a_slot_that_the_state_has_vacant_stops(run: Run, world: FakeWorld) -> None:
    """Its entry was lost, and nothing is pending: `up` would fill the slot again."""
    declare(world, 1)
    server = machine(world, 0)
    ran = run("preflight", STACK)
    assert (ran.status, server.id in ran.out) == (6, True)
    assert "slot linux/0 is vacant" in ran.out


def test_a_vacant_slot_without_a_machine_passes(run: Run, world: FakeWorld) -> None:
    declare(world, 1)
    assert run("preflight", STACK).status == 0


def test_a_machine_of_another_fleet_is_nobodys_twin(run: Run, world: FakeWorld) -> None:
    declare(world, 1)
    other = tuple(tag.replace("fleet=linux", "fleet=mac") for tag in tags(world, 0))
    world.cloud_port.add(replace(world.stranger("mac-0", 9), tags=other))
    assert run("preflight", STACK).status == 0


def test_a_lock_stops_and_says_what_is_known_of_its_holder(run: Run, world: FakeWorld) -> None:
    lock(world)
    ran = run("preflight", STACK)
    assert ran.status == 6
    assert "locked by ci@host-1 (pid 4711)" in ran.out
    assert "that process is gone" in ran.out
    assert f"reconciler unlock {STACK}" in ran.out


def test_a_live_lock_says_to_wait_and_names_the_job(run: Run, world: FakeWorld) -> None:
    lock(world, alive=True, command="pulumi up", job="https://ci/1")
    ran = run("preflight", STACK)
    assert (ran.status, "Wait for it" in ran.out, "https://ci/1" in ran.out) == (6, True, True)


def test_while_an_update_runs_what_is_pending_is_not_called_interrupted(run: Run, world: FakeWorld) -> None:
    interrupt(world, 1)
    lock(world, alive=True)
    assert "creating linux-1 is not finished" in run("preflight", STACK).out


def test_a_backend_that_does_not_tell_its_locks_is_a_remark(run: Run, world: FakeWorld) -> None:
    state = world.engine_port.states[STACK]
    world.engine_port.add(replace(state, locks_known=False))
    ran = run("preflight", STACK)
    assert (ran.status, "does not tell its locks" in ran.out) == (0, True)


def test_a_list_that_is_not_whole_is_7_and_never_clean(run: Run, world: FakeWorld) -> None:
    holds(world, machine(world, 0), 0)
    world.cloud_port.broken[(Kind.SERVER, ZONE)] = "HTTP 503"
    ran = run("preflight", STACK)
    assert (ran.status, "may run" in ran.out, "HTTP 503" in ran.out) == (7, False, True)


def test_a_stop_outweighs_a_gap(run: Run, world: FakeWorld) -> None:
    interrupt(world, 1)
    world.cloud_port.broken[(Kind.SERVER, ZONE)] = "HTTP 503"
    assert run("preflight", STACK).status == 6


def test_a_refused_key_is_3_and_the_interrupted_operation_is_shown_all_the_same(run: Run, world: FakeWorld) -> None:
    interrupt(world, 1)
    world.cloud_port.unauthorised = True
    ran = run("preflight", STACK)
    assert (ran.status, "creating linux-1 was interrupted" in ran.out) == (3, True)


def test_a_stack_that_cannot_be_read_does_not_hide_the_others(run: Run, world: FakeWorld) -> None:
    world.engine_port.unreadable["demo/broken"] = "no such stack"
    interrupt(world, 1)
    ran = run("preflight", "demo/broken", STACK, "-j")
    assert ran.status == 1
    assert [stack["exit_code"] for stack in ran.document["stacks"]] == [1, 6]
    assert "demo/broken: no such stack" in ran.err


def test_without_a_name_every_configured_stack_is_checked(run: Run, world: FakeWorld) -> None:
    interrupt(world, 1)
    assert run("preflight").status == 6


def test_nothing_to_check_is_a_usage_error(run: Run, world: FakeWorld) -> None:
    world.scopes = (replace(world.scope, stacks=()),)
    ran = run("preflight")
    assert (ran.status, "RC0665" in ran.err) == (64, True)


def test_without_a_configuration_the_project_of_the_key_is_looked_at(run: Run, world: FakeWorld) -> None:
    server = machine(world, 1)
    interrupt(world, 1)
    world.scopes = ()
    ran = run("preflight", STACK)
    assert (ran.status, server.id in ran.out) == (6, True)


def test_a_short_name_gets_the_project_of_the_folder(run: Run, world: FakeWorld) -> None:
    Path("Pulumi.yaml").write_text("name: demo\nruntime: python\n")
    assert STACK in run("preflight", "dev").out


def test_a_short_name_outside_a_project_is_a_usage_error(run: Run) -> None:
    ran = run("preflight", "dev")
    assert (ran.status, "RC0666" in ran.err) == (64, True)


def test_two_scopes_of_one_project_are_looked_at_once(run: Run, world: FakeWorld) -> None:
    world.scopes = (world.scope, scope_named("second", 2))
    assert {scope.project for scope in world.scopes} == {PROJECT}
    interrupt(world, 1)
    run("preflight", STACK)
    assert world.cloud_port.calls == 1


def test_a_first_update_that_was_killed_has_no_zone_of_its_own_and_every_zone_is_looked_at(
    run: Run, world: FakeWorld
) -> None:
    server = machine(world, 1)
    pending = PendingOperation(
        operation="creating", resource=replace(entry(world, 1, id_=None), inputs={"tags": tags(world, 1)})
    )
    world.engine_port.add(StackState(STACK, "s1", 0, pending=(pending,)))
    ran = run("preflight", STACK)
    assert (ran.status, server.id in ran.out) == (6, True)
