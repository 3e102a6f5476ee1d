"""`release`: what it shows, what it refuses, and what a sweep says afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reconciler.kernel.errors import CloudError, EngineError
from reconciler.model.memory import Release
from reconciler.model.resources import Ip, Kind, Server, Volume, VolumeSlot
from reconciler.model.state import Lock, PendingOperation, StateResource
from tests.cli.conftest import Run
from tests.fakes.cloud import PROJECT, ZONE
from tests.fakes.estate import STACK, FakeWorld, scope_named

SERVER_ID = "dddd0001-0000-4000-8000-000000000000"
IP_ID = "dddd0002-0000-4000-8000-000000000000"
ROOT_ID = "dddd0003-0000-4000-8000-000000000000"
SERVER_URN = "urn:pulumi:dev::demo::scaleway:instance/server:Server::w"
IP_URN = "urn:pulumi:dev::demo::scaleway:instance/ip:Ip::w-ip"


@pytest.fixture
def managed(world: FakeWorld) -> FakeWorld:
    """A server with an IP of its own entry and a root that its create made; owner tags beside a stranger's."""
    made = world.clock_now.now_ms() - 3_600_000
    tags = (*world.owner_tags, "mine")
    slot = VolumeSlot(key="0", id=ROOT_ID, volume_type="sbs_volume", boot=True)
    base: dict[str, Any] = {"zone": ZONE, "project": PROJECT, "tags": tags, "created_ms": made}
    server = Server(
        id=SERVER_ID, name="w", state="running", commercial_type="DEV1-S", volumes=(slot,), ip_ids=(IP_ID,), **base
    )
    ip = Ip(id=IP_ID, address="51.15.0.9", server_id=SERVER_ID, state="attached", **base)
    root = Volume(
        id=ROOT_ID,
        name="root",
        volume_type="sbs_5k",
        size=20_000_000_000,
        status="in_use",
        server_id=SERVER_ID,
        reference_ids=(SERVER_ID,),
        **base,
    )
    world.cloud_port.add(server, ip, root)
    state = world.engine_port.states[STACK]
    world.engine_port.add(
        replace(state, resources=(entry(IP_URN, IP_ID, tags), entry(SERVER_URN, SERVER_ID, tags, needs=IP_URN)))
    )
    return world


def entry(
    urn: str, identity: str, tags: tuple[str, ...], *, needs: str | None = None, protect: bool = False
) -> StateResource:
    return StateResource(
        urn=urn,
        type=urn.split("::")[2],
        id=f"{ZONE}/{identity}",
        custom=True,
        inputs={"tags": list(tags)},
        outputs={"projectId": PROJECT, "tags": list(tags)},
        dependencies=(needs,) if needs else (),
        protect=protect,
    )


def urns(world: FakeWorld) -> set[str]:
    return {one.urn for one in world.engine_port.states[STACK].resources}


def tags(world: FakeWorld) -> dict[str, tuple[str, ...]]:
    return {ref.id: one.tags for ref, one in world.cloud_port.resources.items()}


def test_it_leaves_state_and_owner_tags_and_the_machine_runs_on(run: Run, managed: FakeWorld) -> None:
    ran = run("release", "-y", SERVER_URN)
    assert (ran.status, urns(managed)) == (0, {IP_URN})
    assert tags(managed) == {SERVER_ID: ("mine",), ROOT_ID: ("mine",), IP_ID: (*managed.owner_tags, "mine")}
    assert managed.cloud_port.destroyed == []


def test_the_next_sweep_calls_it_unmanaged_and_never_an_orphan(run: Run, managed: FakeWorld) -> None:
    run("release", "-y", "--with-dependants", IP_URN)
    kinds = [finding["kind"] for finding in run("drift", "-j").document["findings"]]
    assert set(kinds) == {"unmanaged"}


@pytest.mark.parametrize("name", [SERVER_ID, f"{ZONE}/{SERVER_ID}", SERVER_ID[:9]])
def test_an_id_names_it_as_well(run: Run, managed: FakeWorld, name: str) -> None:
    assert (run("release", "-y", name).status, urns(managed)) == (0, {IP_URN})


def test_a_dry_run_shows_it_and_writes_nothing(run: Run, managed: FakeWorld) -> None:
    before = (urns(managed), tags(managed), dict(managed.store_port.released))
    ran = run("release", "--dry-run", SERVER_URN)
    assert (ran.status, (urns(managed), tags(managed), dict(managed.store_port.released))) == (0, before)
    assert "leaves the state" in ran.out
    assert ROOT_ID in ran.out


def test_nobody_is_asked_without_a_terminal(run: Run, managed: FakeWorld) -> None:
    ran = run("release", SERVER_URN)
    assert (ran.status, "RC0142" in ran.err, len(urns(managed))) == (6, True, 2)


def refused(run: Run, world: FakeWorld, code: str, *argv: str) -> None:
    before = (urns(world), tags(world))
    ran = run("release", "-y", *argv)
    assert (ran.status, code in ran.err, (urns(world), tags(world))) == (6, True, before)
    assert world.store_port.released == {}


def test_what_others_depend_on_is_refused_with_their_names(run: Run, managed: FakeWorld) -> None:
    refused(run, managed, "depend on what is to be released: w\n", IP_URN)


def test_dependants_go_along_when_that_is_wanted(run: Run, managed: FakeWorld) -> None:
    assert (run("release", "-y", "--with-dependants", IP_URN).status, urns(managed)) == (0, set())


def test_what_is_protected_needs_force(run: Run, managed: FakeWorld) -> None:
    state = managed.engine_port.states[STACK]
    kept = tuple(replace(one, protect=one.urn == SERVER_URN) for one in state.resources)
    managed.engine_port.add(replace(state, resources=kept))
    refused(run, managed, "RC0682", SERVER_URN)
    assert (run("release", "-y", "--force", SERVER_URN).status, urns(managed)) == (0, {IP_URN})
    assert managed.engine_port.released == [(STACK, (SERVER_URN,), True)]


def test_a_locked_stack_is_refused(run: Run, managed: FakeWorld) -> None:
    state = managed.engine_port.states[STACK]
    managed.engine_port.add(replace(state, locks=(Lock(created_by="eve@host"),)))
    refused(run, managed, "RC0611", SERVER_URN)


def test_interrupted_operations_are_refused(run: Run, managed: FakeWorld) -> None:
    state = managed.engine_port.states[STACK]
    waiting = PendingOperation(operation="creating", resource=entry("urn:x::y::t::z", "", ()))
    managed.engine_port.add(replace(state, pending=(waiting,)))
    refused(run, managed, "RC0680", SERVER_URN)


def test_what_cannot_be_read_is_refused(run: Run, managed: FakeWorld) -> None:
    managed.cloud_port.broken[Kind.SERVER, ZONE] = "HTTP 503"
    refused(run, managed, "RC0689", SERVER_URN)


def test_without_its_database_nothing_is_released(run: Run, managed: FakeWorld) -> None:
    managed.store_port.down = True
    assert (run("release", "-y", SERVER_URN).status, len(urns(managed))) == (6, 2)


def test_a_name_that_no_entry_has_is_a_usage_error(run: Run, managed: FakeWorld) -> None:
    ran = run("release", "-y", "eeee0001-0000-4000-8000-000000000000")
    assert (ran.status, "RC0575" in ran.err) == (64, True)


def test_a_stack_that_was_not_read_may_hold_it(run: Run, managed: FakeWorld) -> None:
    managed.engine_port.unreadable[STACK] = "no answer"
    ran = run("release", "-y", SERVER_URN)
    assert (ran.status, "RC0572" in ran.err) == (7, True)


def test_several_scopes_need_a_name(run: Run, managed: FakeWorld) -> None:
    managed.scopes = (*managed.scopes, scope_named("gpu", 2))
    assert "RC0574" in run("release", "-y", SERVER_URN).err


def test_a_state_delete_that_fails_leaves_everything_managed(run: Run, managed: FakeWorld) -> None:
    managed.engine_port.release_fails = EngineError("it broke", code="RC0500")
    ran = run("release", "-y", SERVER_URN)
    assert (ran.status, len(urns(managed)), managed.store_port.released) == (1, 2, {})
    assert managed.owner_tags[0] in tags(managed)[SERVER_ID]


def test_tags_that_stay_end_with_4_and_the_next_run_goes_on(run: Run, managed: FakeWorld) -> None:
    def moved(*_: object, **__: object) -> None:
        raise CloudError("the tags moved", code="RC0420")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(managed.cloud_port, "set_tags", moved)
        assert run("release", "-y", SERVER_URN).status == 4
    assert all(one.done_ms is None for one in managed.store_port.released.values())
    found = run("drift", "-j").document["findings"]
    assert {one["kind"] for one in found if one["subjects"][0]["id"] in (SERVER_ID, ROOT_ID)} == {"unmanaged"}
    assert (run("release", "-y", SERVER_URN).status, tags(managed)[SERVER_ID]) == (0, ("mine",))
    assert all(one.done_ms is not None for one in managed.store_port.released.values())


def test_another_scopes_tags_are_left_alone(run: Run, managed: FakeWorld) -> None:
    foreign = ("reconciler", "reconciler:scope=00000002-9999-4999-8999-999999999999")
    for ref, one in list(managed.cloud_port.resources.items()):
        if ref.id == ROOT_ID:
            managed.cloud_port.resources[ref] = replace(one, tags=foreign)
    run("release", "-y", SERVER_URN)
    assert tags(managed)[ROOT_ID] == foreign


def test_json_says_what_left(run: Run, managed: FakeWorld) -> None:
    document = run("release", "-y", "-j", SERVER_URN).document
    assert [one["urn"] for one in document["leaving"]] == [SERVER_URN]
    assert len(document["untagged"]) == 2


def test_a_doomed_resource_is_refused(run: Run, managed: FakeWorld) -> None:
    ref = next(ref for ref in managed.cloud_port.resources if ref.id == ROOT_ID)
    managed.store_port.held["x"] = ref
    refused(run, managed, "RC0687", SERVER_URN)
    assert not isinstance(managed.store_port.released.get(ref), Release)
