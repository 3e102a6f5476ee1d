"""`adopt`: an id finds its URN, or a person is asked; what differs is shown; and the cloud is left as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reconciler.kernel.errors import EngineError
from reconciler.model.resources import Ip, Kind, Ref, Server
from reconciler.model.state import Lock, PendingOperation, StackState, StateResource
from reconciler.ports.engine import UNKNOWN, Difference, PlannedCreate
from tests.cli.conftest import Run
from tests.fakes.cloud import ZONE
from tests.fakes.estate import STACK, FakeWorld

SERVER, ADDRESS = "scaleway:instance/server:Server", "scaleway:instance/ip:Ip"


def urn(name: str, token: str = SERVER) -> str:
    return f"urn:pulumi:dev::demo::{token}::{name}"


def planned(world: FakeWorld, name: str, /, *, token: str = SERVER, needs: tuple[str, ...] = (), **inputs: Any) -> None:
    """The program declares this, and the state lacks it."""
    create = PlannedCreate(
        urn=urn(name, token), type=token, name=name, parent=None, inputs={"zone": ZONE, **inputs}, dependencies=needs
    )
    world.engine_port.planned[STACK] = (*world.engine_port.planned.get(STACK, ()), create)


def machine(world: FakeWorld, name: str = "linux-0", number: int = 7, **changes: Any) -> Server:
    """Runs, with the tags of slot 0, and is in no state."""
    server = replace(world.stranger(name, number), **({"tags": world.owner_tags} | changes))
    world.cloud_port.add(server)
    return server


def declared(world: FakeWorld, name: str = "linux-0", **changes: Any) -> None:
    planned(world, name, tags=[*world.owner_tags, UNKNOWN], **changes)


def in_state(world: FakeWorld) -> dict[str, Ref | None]:
    return {entry.urn: entry.ref for entry in world.engine_port.states[STACK].resources}


def test_a_machine_is_adopted_under_the_urn_that_has_its_slot(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    declared(world)
    planned(world, "other", tags=["role=other"])
    ran = run("adopt", server.id, "-y")
    assert (ran.status, in_state(world)) == (0, {urn("linux-0"): server.ref}), ran.err
    assert "1 taken into the state" in ran.out
    assert (world.cloud_port.destroyed, world.cloud_port.tagged) == ([], [])


def test_an_id_may_be_shortened_or_named_with_its_zone(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    declared(world)
    assert run("adopt", f"{ZONE}/{server.id[:8]}", "-y").status == 0


def test_without_slot_tags_the_name_decides(run: Run, world: FakeWorld) -> None:
    server = machine(world, "web-1", tags=("role=web",))
    planned(world, "one", name="web-1", tags=["role=web"])
    planned(world, "two", name="web-2", tags=["role=web"])
    assert run("adopt", server.id, "-y").status == 0
    assert in_state(world) == {urn("one"): server.ref}


def test_its_address_goes_along_when_the_state_has_it_not_yet(run: Run, world: FakeWorld) -> None:
    ip = Ip(id="dddd0001-0000-4000-8000-000000000000", zone=ZONE, project=world.scope.project, address="51.15.0.9")
    server = machine(world, ip_ids=(ip.id,))
    world.cloud_port.add(replace(ip, server_id=server.id, state="attached"))
    planned(world, "linux-0-ip", token=ADDRESS, tags=list(world.owner_tags))
    declared(world, needs=(urn("linux-0-ip", ADDRESS), "urn:pulumi:dev::demo::my:Component::c"))
    ran = run("adopt", server.id, "-y")
    assert (ran.status, in_state(world)) == (
        0, {urn("linux-0"): server.ref, urn("linux-0-ip", ADDRESS): Ref(Kind.IP, ZONE, ip.id)}
    )  # fmt: skip


def test_what_it_needs_and_has_not_is_named(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    planned(world, "linux-0-ip", token=ADDRESS)
    declared(world, needs=(urn("linux-0-ip", ADDRESS),))
    ran = run("adopt", server.id, "-y")
    assert (ran.status, "RC0675" in ran.err, urn("linux-0-ip", ADDRESS) in ran.err) == (6, True, True)
    assert in_state(world) == {}


def test_several_that_fit_are_listed_and_the_person_says_which(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    declared(world, "linux-0")
    declared(world, "copy-0")
    ran = run("adopt", server.id, "-y")
    assert ran.status == 6
    for part in ("RC0675", "several", urn("linux-0"), urn("copy-0"), "--as"):
        assert part in ran.err
    assert run("adopt", server.id, "--as", urn("copy-0"), "-y").status == 0
    assert in_state(world) == {urn("copy-0"): server.ref}


def test_what_nothing_declares_is_refused_with_what_there_is(run: Run, world: FakeWorld) -> None:
    server = machine(world, "web-1", tags=())
    planned(world, "one", name="web-9")
    ran = run("adopt", server.id, "-y")
    assert (ran.status, "RC0675" in ran.err, urn("one") in ran.err) == (6, True, True)


def test_a_urn_that_no_program_would_create_is_refused(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    declared(world)
    assert run("adopt", server.id, "--as", urn("nothing"), "-y").status == 6


def test_a_difference_is_shown_and_nothing_is_adopted(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    declared(world)
    world.engine_port.differences[urn("linux-0")] = Difference(
        urn=urn("linux-0"), path="type", program="DEV1-L", cloud="DEV1-S"
    )
    ran = run("adopt", server.id, "-y")
    assert (ran.status, "RC0640" in ran.out, in_state(world)) == (4, True, {})
    assert world.store_port.held == {}


def test_a_dry_run_rehearses_and_writes_nothing(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    declared(world)
    ran = run("adopt", server.id, "--dry-run")
    assert (ran.status, "would change nothing but the state" in ran.err) == (0, True)
    assert (in_state(world), world.store_port.runs) == ({}, {})


def test_a_dry_run_shows_the_differences(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    declared(world)
    found = Difference(urn=urn("linux-0"), path="type", program="DEV1-L", cloud="DEV1-S")
    world.engine_port.differences[urn("linux-0")] = found
    ran = run("adopt", server.id, "--dry-run")
    assert (ran.status, "program says DEV1-L, cloud has DEV1-S" in ran.err) == (6, True)


def test_the_same_as_json(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    declared(world)
    document = run("adopt", server.id, "-y", "-j").document
    (outcome,) = document["runs"][0]["outcomes"]
    assert (document["exit_code"], outcome["action"], outcome["status"]) == (0, "adopt", "done")
    assert outcome["urns"] == [urn("linux-0")]


@pytest.mark.parametrize("name", ["zzzzzzzz", "bbb"], ids=["unknown", "too short"])
def test_an_id_that_means_nothing_is_a_usage_error(run: Run, world: FakeWorld, name: str) -> None:
    machine(world)
    ran = run("adopt", name, "-y")
    assert (ran.status, "RC0674" in ran.err) == (64, True)


def test_what_a_state_holds_already_is_a_usage_error(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    held = StateResource(urn="urn:held", type=SERVER, id=f"{ZONE}/{server.id}", custom=True)
    world.engine_port.add(StackState(STACK, "s1", 0, resources=(held,)))
    ran = run("adopt", server.id, "-y")
    assert (ran.status, "as urn:held" in ran.err) == (64, True)


@pytest.mark.parametrize("argv", [(), ("--all", "aaaa0001"), ("aaaa0001", "aaaa0002", "--as", "urn:x")])
def test_a_command_line_that_names_nothing_or_too_much_is_a_usage_error(run: Run, argv: tuple[str, ...]) -> None:
    ran = run("adopt", *argv, "-y")
    assert (ran.status, "RC0676" in ran.err) == (64, True)


def test_nobody_to_ask_is_a_refusal(run: Run, world: FakeWorld) -> None:
    assert run("adopt", machine(world).id).status == 6


def test_all_takes_what_fits_and_leaves_out_what_does_not(run: Run, world: FakeWorld) -> None:
    fits, other = machine(world), machine(world, "odd-1", 8, tags=(*world.owner_tags[:-1], "reconciler:slot=9"))
    for server in (fits, other):
        world.store_port.unowned[server.ref] = 0
    declared(world)
    ran = run("adopt", "--all", "-y")
    assert (ran.status, in_state(world)) == (0, {urn("linux-0"): fits.ref})
    assert other.id in ran.err


def test_all_without_anything_to_adopt_is_done(run: Run, world: FakeWorld) -> None:
    assert run("adopt", "--all", "-y").status == 0


def test_a_program_that_cannot_be_run_is_said(run: Run, world: FakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(stack: str) -> tuple[PlannedCreate, ...]:
        raise EngineError(f"no directory for {stack}", code="RC0540")

    monkeypatch.setattr(world.engine_port, "planned_creates", fails)
    ran = run("adopt", machine(world).id, "-y")
    assert (ran.status, "no directory" in ran.err) == (1, True)


def test_what_an_interrupted_create_may_still_be_making_is_not_adopted_yet(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    declared(world)
    entry = StateResource(
        urn=urn("linux-0"), type=SERVER, id=None, custom=True, inputs={"zone": ZONE, "tags": list(world.owner_tags)}
    )
    pending = PendingOperation(operation="creating", resource=entry)
    world.engine_port.add(StackState(STACK, "s1", 0, pending=(pending,)))
    ran = run("adopt", server.id, "-y")
    assert (ran.status, "RC0677" in ran.err, in_state(world)) == (6, True, {})
    world.clock_now.advance(3600)
    assert run("adopt", server.id, "-y").status == 0
    assert in_state(world) == {urn("linux-0"): server.ref}


def test_a_locked_stack_is_left_alone(run: Run, world: FakeWorld) -> None:
    server = machine(world)
    declared(world)
    state = world.engine_port.states[STACK]
    world.engine_port.add(replace(state, locks=(Lock(created_by="ann@ci", source="a"),)))
    ran = run("adopt", server.id, "-y")
    assert (ran.status, "ann@ci" in ran.out, in_state(world)) == (4, True, {})


def test_several_scopes_need_a_name(run: Run, world: FakeWorld) -> None:
    world.scopes = (*world.scopes, replace(world.scope, name="second", uuid="00000002-9999-4999-8999-999999999999"))
    server = machine(world)
    declared(world)
    assert run("adopt", server.id, "-y").status == 64
    assert run("adopt", server.id, "-y", "--scope", "demo").status == 0


def test_another_scopes_machine_is_not_adopted(run: Run, world: FakeWorld) -> None:
    server = machine(world, tags=("reconciler", "reconciler:scope=someone-else"))
    planned(world, "one", name="linux-0")
    ran = run("adopt", server.id, "--as", urn("one"), "-y")
    assert (ran.status, "owner tag of scope someone-else" in ran.out, in_state(world)) == (4, True, {})
