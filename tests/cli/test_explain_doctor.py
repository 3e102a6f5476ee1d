"""`explain` and `doctor`."""

from __future__ import annotations

import dataclasses

import pytest

from reconciler.kernel.errors import CloudError, EngineError, StoreError
from reconciler.model.resources import Kind
from reconciler.model.state import Lock, PendingOperation, StackState
from reconciler.ports.store import Lease
from tests.cli.conftest import Run
from tests.fakes.cloud import ZONE
from tests.fakes.engine import INFO
from tests.fakes.estate import STACK, FakeWorld


def test_a_finding_is_explained_by_a_prefix_of_its_id(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    identity = run("drift", "-j").document["findings"][0]["id"]
    ran = run("explain", identity[:8])
    assert ran.status == 0
    for part in ("detached ip", "verdict: act", "LEDGER", "inventory", "evidence", "history", "rule"):
        assert part in ran.out


def test_a_resource_is_explained_by_its_id_and_its_zone(run: Run, world: FakeWorld) -> None:
    ip = world.leftover_ip()
    assert "detached ip" in run("explain", ip.id).out
    assert "detached ip" in run("explain", f"{ZONE}/{ip.id[:8]}").out


def test_an_entry_is_explained_by_its_urn(run: Run, world: FakeWorld) -> None:
    entry = world.vanished_ip()
    assert "missing ip" in run("explain", entry.urn).out


def test_history_tells_since_when_something_has_no_owner(run: Run, world: FakeWorld) -> None:
    ip = world.leftover_ip()
    assert "without an owner since" in run("explain", ip.id).out


def test_explain_gives_json_on_request(run: Run, world: FakeWorld) -> None:
    ip = world.leftover_ip()
    document = run("explain", ip.id, "-j").document
    assert [finding["kind"] for finding in document["findings"]] == ["detached"]
    assert document["ledgers"]["demo"]


def test_explain_remembers_nothing(run: Run, world: FakeWorld) -> None:
    ip = world.leftover_ip()
    run("explain", ip.id)
    assert world.store_port.sweeps == []


def test_what_does_not_differ_is_shown_as_the_ledgers_have_it(run: Run, world: FakeWorld) -> None:
    world.engine_port.add(
        StackState(STACK, "s1", 0, resources=(dataclasses.replace(world.vanished_ip(), custom=False, id=None),))
    )
    urn = world.engine_port.states[STACK].resources[0].urn
    ran = run("explain", urn)
    assert (ran.status, "no finding" in ran.out, f"state: {urn}" in ran.out) == (0, True, True)


def test_an_unknown_name_is_a_usage_error(run: Run) -> None:
    ran = run("explain", "nobody")
    assert (ran.status, "error[RC0108]" in ran.err) == (64, True)


def test_a_name_that_could_mean_anything_is_refused(run: Run) -> None:
    ran = run("explain", "ab")
    assert (ran.status, "error[RC0107]" in ran.err) == (64, True)


# -- doctor


def statuses(run: Run) -> dict[str, str]:
    """The worst status per check name."""
    worst: dict[str, str] = {}
    for check in run("doctor", "-j").document["checks"]:
        order = ("ok", "skip", "warn", "fail")
        worst[check["name"]] = max(worst.get(check["name"], "ok"), check["status"], key=order.index)
    return worst


def test_a_healthy_installation_passes(run: Run) -> None:
    assert run("doctor").status == 0
    assert set(statuses(run).values()) == {"ok"}


def test_a_refused_key_fails_with_3(run: Run, world: FakeWorld) -> None:
    world.cloud_port.unauthorised = True
    ran = run("doctor")
    assert ran.status == 3
    assert "RC0300" in ran.out


def test_one_failing_check_leaves_the_others(run: Run, world: FakeWorld) -> None:
    world.broken_clouds["demo"] = CloudError("unreachable")
    found = statuses(run)
    assert found["demo: provider"] == "fail"
    assert found["database"] == "ok"


def test_a_zone_that_does_not_answer_fails(run: Run, world: FakeWorld) -> None:
    world.cloud_port.broken[Kind.SERVER, ZONE] = "HTTP 503"
    assert statuses(run)["demo: zones"] == "fail"


def test_a_clock_that_is_off_fails(run: Run, world: FakeWorld) -> None:
    world.cloud_port.skew_seconds = 300.0
    ran = run("doctor")
    assert (ran.status, "+300.0 s from the API's clock" in ran.out) == (1, True)


def test_a_missing_cli_fails(run: Run, world: FakeWorld) -> None:
    world.engine_port.tools = dataclasses.replace(INFO, cli_path=None)
    assert run("doctor").status == 1


def test_a_missing_plugin_is_a_warning(run: Run, world: FakeWorld) -> None:
    world.engine_port.tools = dataclasses.replace(INFO, plugin_path=None)
    assert (run("doctor").status, statuses(run)["scaleway plugin"]) == (0, "warn")


@pytest.mark.parametrize(("plugin", "expected"), [("1.53.0", "warn"), ("1.60.3", None), (None, None)])
def test_a_plugin_of_another_minor_version_than_the_sdk_is_a_warning(
    run: Run, world: FakeWorld, plugin: str | None, expected: str | None
) -> None:
    world.engine_port.tools = dataclasses.replace(INFO, plugin_version=plugin)
    assert statuses(run).get("versions") == expected


def test_a_lock_is_a_warning_that_names_its_holder(run: Run, world: FakeWorld) -> None:
    world.engine_port.add(StackState(STACK, "s1", 0, locks=(Lock(created_by="eve@host", pid=7, created_ms=0),)))
    ran = run("doctor")
    assert "locked by eve@host (pid 7) since 1970-01-01T00:00:00.000Z" in ran.out


def test_an_interrupted_operation_is_a_warning(run: Run, world: FakeWorld) -> None:
    entry = world.vanished_ip()
    pending = PendingOperation(operation="creating", resource=entry)
    world.engine_port.add(StackState(STACK, "s1", 0, pending=(pending,)))
    assert "1 interrupted operation(s): creating gone-1" in run("doctor").out


def test_a_stack_that_cannot_be_read_fails(run: Run, world: FakeWorld) -> None:
    world.engine_port.unreadable[STACK] = "no such stack"
    assert run("doctor").status == EngineError.exit_status


def test_no_database_yet_is_fine(run: Run, world: FakeWorld) -> None:
    world.schema_text = None
    world.broken_store = StoreError("must not be opened")
    ran = run("doctor")
    assert (ran.status, "none yet" in ran.out) == (0, True)


def test_a_database_that_does_not_answer_fails(run: Run, world: FakeWorld) -> None:
    world.broken_store = StoreError("down", code="RC0201")
    ran = run("doctor")
    assert (ran.status, "RC0201: down" in ran.out) == (1, True)


def test_an_unfinished_run_is_a_warning(run: Run, world: FakeWorld) -> None:
    world.leftover_ip()
    run("plan", "--out", "plan.json")
    world.begin_run("plan.json")
    assert statuses(run)["demo: database"] == "warn"


@pytest.mark.parametrize(("left_ms", "text"), [(60_000, "an `apply` is at work"), (-1, "expired at ")])
def test_the_holder_of_the_lease_is_named(run: Run, world: FakeWorld, left_ms: int, text: str) -> None:
    expires = world.clock_now.now_ms() + left_ms
    world.lease_held = Lease(name="apply:x", holder="host:7", token=1, expires_ms=expires)
    assert f"the lease is host:7's: {text}" in run("doctor").out


def test_no_scope_is_a_warning(run: Run, world: FakeWorld) -> None:
    world.scopes = ()
    assert (run("doctor").status, statuses(run)["configuration"]) == (0, "warn")
