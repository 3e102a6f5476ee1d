"""Pending operations leave a state only as named, and nothing else of it changes."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

from reconciler.kernel.errors import EngineError, ReconcilerError, RefusedError
from reconciler.ports.engine import ChildProcess, Forgotten
from tests.engine.fakes import STACK, FakePulumi, export, lines, resource, urn
from tests.engine.real import RealWorld

CREATING, UPDATING = ("creating", urn("c")), ("updating", urn("a"))


def entry(operation: tuple[str, str]) -> dict[str, Any]:
    kind, name = operation
    made = resource(name.rpartition("::")[2])
    return {
        "type": kind,
        "resource": {k: v for k, v in made.items() if kind != "creating" or k not in ("id", "outputs")},
    }


def prepare(fake: FakePulumi, *before: tuple[str, str], after: tuple[tuple[str, str], ...] = ()) -> None:
    """The first export holds `before`, every later one `after`."""
    first, later = (
        json.dumps(export(resource("a"), pending=[entry(one) for one in listed])) for listed in (before, after)
    )
    mark = str(fake.root / "refreshed")
    fake.answer("stack export", script=f"answer['stdout'] = {later!r} if os.path.exists({mark!r}) else {first!r}")
    fake.answer("refresh", lines(), script=f"open({mark!r}, 'w').close()")


def forget(fake: FakePulumi, *operations: tuple[str, str], **more: Any) -> Forgotten:
    return fake.engine(**more).forget_pending("proj/dev", operations, on_child=lambda _: None)


def refused(fake: FakePulumi, *operations: tuple[str, str], **more: Any) -> ReconcilerError:
    with pytest.raises(ReconcilerError) as caught:
        forget(fake, *operations, **more)
    return caught.value


def test_creates_go_by_the_flag_for_it_and_only_the_stack_is_a_target(fake: FakePulumi) -> None:
    prepare(fake, CREATING)
    result = forget(fake, CREATING)
    assert (result.operations, result.lock_seconds > 0) == ((CREATING,), True)
    (call,) = fake.calls("refresh")
    args = call["args"]
    assert "--clear-pending-creates" in args
    assert [args[n + 1] for n, arg in enumerate(args) if arg == "--target"] == [STACK]
    assert "--run-program=false" in args
    assert call["env"]["SCW_API_URL"].startswith("http://127.0.0.1:")


def test_others_go_with_any_write_and_the_creates_stay(fake: FakePulumi) -> None:
    prepare(fake, CREATING, UPDATING, after=(CREATING,))
    assert forget(fake, UPDATING).operations == (UPDATING,)
    (call,) = fake.calls("refresh")
    assert "--skip-pending-creates" in call["args"]
    assert "--clear-pending-creates" not in call["args"]


@pytest.mark.parametrize(
    ("there", "named"),
    [((CREATING, ("creating", urn("d"))), (CREATING,)), ((CREATING, UPDATING), (CREATING,))],
    ids=["another create", "an update beside a create"],
)
def test_what_nobody_named_would_go_too_so_nothing_goes(
    fake: FakePulumi, there: tuple[tuple[str, str], ...], named: tuple[tuple[str, str], ...]
) -> None:
    prepare(fake, *there)
    assert refused(fake, *named).code == "RC0670"
    assert fake.calls("refresh") == []


def test_what_is_not_pending_any_more_needs_no_command(fake: FakePulumi) -> None:
    prepare(fake, UPDATING)
    assert forget(fake, CREATING) == Forgotten(operations=(), lock_seconds=0.0)
    assert fake.calls("refresh") == []


def test_an_entry_that_is_still_there_afterwards_is_an_error(fake: FakePulumi) -> None:
    prepare(fake, CREATING, after=(CREATING,))
    error = refused(fake, CREATING)
    assert (error.code, "still pending" in error.message) == ("RC0671", True)


def test_a_create_that_was_dropped_though_it_was_to_stay_is_an_error(fake: FakePulumi) -> None:
    prepare(fake, CREATING, UPDATING)
    error = refused(fake, UPDATING)
    assert (error.code, "were to stay" in error.message) == ("RC0671", True)


def test_a_locked_stack_is_left_alone(fake: FakePulumi) -> None:
    prepare(fake, CREATING)
    fake.lock(pid=1, username="ann", hostname="elsewhere")
    assert refused(fake, CREATING).code == "RC0611"
    assert fake.calls("refresh") == []


def test_a_state_without_a_stack_resource_cannot_be_narrowed(fake: FakePulumi) -> None:
    document = export(pending=[entry(CREATING)])
    document["deployment"]["resources"] = []
    fake.answer("stack export", json.dumps(document))
    assert refused(fake, CREATING).code == "RC0672"


def test_a_command_that_fails_is_an_error(fake: FakePulumi) -> None:
    prepare(fake, CREATING)
    fake.answer("refresh", stderr="error: the plugin is not there", status=1)
    assert isinstance(refused(fake, CREATING), EngineError)


def test_the_child_is_told_of(fake: FakePulumi) -> None:
    prepare(fake, CREATING)
    seen: list[ChildProcess] = []
    fake.engine().forget_pending("proj/dev", [CREATING], on_child=seen.append)
    assert [child.stack for child in seen] == ["organization/proj/dev"]


# -- the real engine


@pytest.fixture
def broken(real: RealWorld) -> dict[str, Any]:
    """Two addresses, and beside them two creates and an update that were cut off."""
    real.up(ips=["ip0", "ip1"])
    document = real.raw()
    latest = document["checkpoint"]["latest"]
    item = next(one for one in latest["resources"] if one["urn"].endswith("::ip0"))
    made = {key: value for key, value in item.items() if key not in ("id", "outputs")}
    creates = [{"type": "creating", "resource": {**made, "urn": made["urn"].replace("ip0", name)}} for name in "xy"]
    latest["pending_operations"] = [*creates, {"type": "updating", "resource": item}]
    real.checkpoint_file.write_text(json.dumps(document))
    return copy.deepcopy(latest)


def pending_of(real: RealWorld) -> list[tuple[str, str]]:
    return [(one.operation, one.resource.name) for one in real.state().pending]


def entries(resources: list[dict[str, Any]]) -> list[Any]:
    """What a resource is. Secrets are encrypted anew with each write, and empty lists are left out then."""
    kept = [{key: value for key, value in one.items() if key != "propertyDependencies"} for one in resources]
    return list(json.loads(re.sub(r'"ciphertext": "[^"]*"', '"ciphertext": ""', json.dumps(kept))))


@pytest.mark.engine
def test_the_engine_drops_exactly_what_was_named_and_changes_no_resource(
    real: RealWorld, broken: dict[str, Any]
) -> None:
    calls = len(real.simulator.traffic.entries())
    named = {(one.operation, one.resource.urn) for one in real.state().pending}
    others = {one for one in named if one[0] != "creating"}
    real.engine().forget_pending("proj/dev", others, on_child=lambda _: None)
    assert pending_of(real) == [("creating", "x"), ("creating", "y")]
    with pytest.raises(RefusedError, match="not judged"):
        real.engine().forget_pending("proj/dev", sorted(named - others)[:1], on_child=lambda _: None)
    assert pending_of(real) == [("creating", "x"), ("creating", "y")]
    real.engine().forget_pending("proj/dev", named - others, on_child=lambda _: None)
    assert pending_of(real) == []
    assert entries(real.raw()["checkpoint"]["latest"]["resources"]) == entries(broken["resources"])
    assert len(real.simulator.traffic.entries()) == calls  # the cloud was not even asked
    assert real.lock_files() == []
