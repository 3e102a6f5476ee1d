"""What comes into a state, or leaves it, between a judgement and its write: the states are asked again (rules 3, 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from reconciler.model.plan import ActionStatus, Mode, RunOutcome
from reconciler.model.scope import Ownership
from reconciler.model.state import Lock, StateResource
from reconciler.simulator import ZONE
from tests.apply.rig import STACK, Rig
from tests.apply.test_deletions import at, leak, only

_SERVER: Final = "scaleway:instance/server:Server"
_VOLUME: Final = "scaleway:block/volume:Volume"


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    made = Rig(folder=tmp_path, url=f"sqlite:///{tmp_path / 'memory.db'}", ownership=Ownership.TAGS)
    made.apply(mode=Mode.REPAIR)
    return made


def take_in(rig: Rig, id_: str, *, token: str = _SERVER) -> None:
    """What `pulumi import` does."""
    state = rig.engine.states[STACK]
    entry = StateResource(urn=f"urn:x::{token}::late", type=token, id=f"{ZONE}/{id_}", custom=True, protect=True)
    rig.engine.add(replace(state, resources=(*state.resources, entry), serial=f"{state.serial}!"))


def killed_after_the_decision(rig: Rig) -> dict[str, str]:
    def die() -> None:
        raise Killed

    made = leak(rig)
    plan = rig.plan()
    with pytest.raises(Killed):
        rig.applier(checkpoint=at("destroy.decided", die)).apply(plan)
    rig.clock.advance(86_400)
    return made


def left(rig: Rig, made: dict[str, str]) -> list[str]:
    return [part for part in ("server", "volume", "ip") if rig.exists(made[part])]


def resumed(rig: Rig) -> RunOutcome:
    outcome = rig.applier().resume()
    assert outcome is not None
    return outcome


def test_a_machine_that_was_imported_after_the_decision_is_struck_with_all_that_hangs_on_it(rig: Rig) -> None:
    made = killed_after_the_decision(rig)
    take_in(rig, made["server"])
    outcome = only(resumed(rig).outcomes)
    assert (outcome.status, left(rig, made)) == (ActionStatus.SKIPPED, ["server", "volume", "ip"])
    assert "is in the state of fleet/prod as urn:x::" in outcome.text
    assert "protected" in outcome.text
    assert rig.store.open_deletions(rig.scope.uuid) == ()


def test_a_volume_that_was_imported_after_the_decision_is_struck_alone(rig: Rig) -> None:
    made = killed_after_the_decision(rig)
    take_in(rig, made["volume"], token=_VOLUME)
    assert [ref.id for ref in only(resumed(rig).outcomes).struck] == [made["volume"]]
    assert left(rig, made) == ["volume"]


def test_what_is_imported_while_its_machine_is_being_terminated_is_struck(rig: Rig) -> None:
    made = leak(rig)
    plan = rig.plan()
    take = at("destroy.sent", lambda: take_in(rig, made["volume"], token=_VOLUME))
    outcome = only(rig.applier(checkpoint=take).apply(plan).outcomes)
    assert ([ref.id for ref in outcome.struck], "volume" in left(rig, made)) == ([made["volume"]], True)


def locked(rig: Rig) -> None:
    rig.engine.add(replace(rig.engine.states[STACK], locks=(Lock(created_by="ann@ci", pid=7),)))


def unreadable(rig: Rig) -> None:
    rig.engine.unreadable[STACK] = "the bucket is gone"


def elsewhere(rig: Rig) -> None:
    """Another backend, which has another stack."""
    state = rig.engine.states.pop(STACK)
    rig.engine.add(replace(state, stack="fleet/test", resources=(), outputs={}))


@pytest.mark.parametrize("trouble", [locked, unreadable, elsewhere])
def test_an_open_deletion_waits_while_a_possible_owner_cannot_speak(rig: Rig, trouble: Callable[[Rig], None]) -> None:
    rig.scope = replace(rig.scope, stacks=("fleet/*",))
    made = killed_after_the_decision(rig)
    run = rig.store.unfinished_run(rig.scope.uuid)
    assert run is not None
    rig.store.finish_run(run.run_id, status="partial")  # so that the next run knows of no plan
    before = rig.engine.states[STACK]
    trouble(rig)
    assert only(resumed(rig).outcomes).status is ActionStatus.WAITING
    assert left(rig, made) == ["server", "volume", "ip"]
    rig.engine.unreadable.clear()
    rig.engine.add(before)
    assert only(resumed(rig).outcomes).status is ActionStatus.DONE
    assert left(rig, made) == []


def test_what_left_its_state_after_the_plan_gets_no_owner_tags_back(rig: Rig) -> None:
    """With them, and the memory of that state, it would be proved ours and go after its grace."""
    server = rig.workers[0].server
    rig.stranger("set_tags", id=server, tags=["mine"])
    plan = rig.plan(mode=Mode.REPAIR)
    state = rig.engine.states[STACK]
    kept = tuple(entry for entry in state.resources if not (entry.id or "").endswith(server))
    rig.engine.add(replace(state, resources=kept, serial="9"))
    outcome = only(rig.applier().apply(plan, from_file=True).outcomes)
    assert (outcome.status, outcome.text) == (ActionStatus.SKIPPED, "the state of fleet/prod holds it no more")
    with rig.simulator.editing() as world:
        assert getattr(world.find(server), "tags", None) == ("mine",)


def test_a_root_whose_machine_left_its_state_after_the_plan_gets_no_owner_tags(rig: Rig) -> None:
    root = rig.workers[0].root
    rig.stranger("set_tags", id=root, tags=["mine"])
    plan = rig.plan(mode=Mode.REPAIR)
    state = rig.engine.states[STACK]
    rig.engine.add(replace(state, resources=state.resources[1:], serial="9"))
    assert only(rig.applier().apply(plan).outcomes).status is ActionStatus.SKIPPED
    with rig.simulator.editing() as world:
        assert getattr(world.find(root), "tags", None) == ("mine",)


def test_nothing_is_tagged_while_its_stack_is_being_written_to(rig: Rig) -> None:
    rig.stranger("set_tags", id=rig.workers[0].root, tags=["mine"])
    plan = rig.plan(mode=Mode.REPAIR)
    locked(rig)
    assert only(rig.applier().apply(plan).outcomes).status is ActionStatus.SKIPPED
