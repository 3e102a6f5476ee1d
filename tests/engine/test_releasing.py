"""Taking entries out of a real state, and nothing else."""

from __future__ import annotations

import dataclasses

import pytest

from reconciler.engine.checkpoint import Checkpoint
from reconciler.engine.releasing import require_exact, require_releasable
from reconciler.engine.shapes import RawSecretsProvider
from reconciler.engine.stacks import StackName
from reconciler.kernel.errors import EngineError, RefusedError
from reconciler.model.dependants import dependants
from reconciler.model.state import PendingOperation, StateResource
from reconciler.ports.engine import ChildProcess
from tests.engine.projects import IP, SERVER, urn
from tests.engine.real import RealWorld

SPEC = {"ips": ["ip0", "ip1"], "servers": {"w0": "ip1"}}
NAME = StackName("organization", "proj", "dev")


def release(real: RealWorld, *urns: str, force: bool = False, serial: str | None = None) -> list[ChildProcess]:
    children: list[ChildProcess] = []
    serial = serial or real.state().serial
    real.engine().release("proj/dev", urns, serial=serial, force=force, on_child=children.append)
    return children


def refused(real: RealWorld, code: str, *urns: str, serial: str | None = None) -> None:
    before = real.raw()
    with pytest.raises(RefusedError) as caught:
        release(real, *urns, serial=serial)
    assert (caught.value.code, real.raw()) == (code, before)


@pytest.mark.engine
def test_an_entry_leaves_the_state_and_nothing_the_cloud(real: RealWorld) -> None:
    """From a directory without a project, secrets in the state included; the rest of the state reads as before."""
    real.up(**SPEC)
    before, calls = real.state(), real.mutating_calls()
    children = release(real, urn(SERVER, "w0"), urn(IP, "ip1"))
    after = real.state()
    assert before.by_urn.keys() - after.by_urn.keys() == {urn(SERVER, "w0"), urn(IP, "ip1")}
    assert after.by_urn[urn(IP, "ip0")] == before.by_urn[urn(IP, "ip0")]
    assert (real.mutating_calls(), real.lock_files(), len(children)) == (calls, [], 1)
    assert real.engine().preview_refresh("proj/dev", [urn(IP, "ip0")]).operations == {urn(IP, "ip0"): "same"}


@pytest.mark.engine
def test_what_must_not_be_released_is_refused_and_the_state_is_as_it_was(real: RealWorld) -> None:
    real.up(**SPEC)
    refused(real, "RC0683", urn(IP, "ip1"))
    refused(real, "RC0681", urn(IP, "ip9"))
    refused(real, "RC0688", urn(IP, "ip0"), serial="another")
    real.pulumi("state", "protect", urn(IP, "ip0"), "--yes", "--stack", "organization/proj/dev")
    refused(real, "RC0682", urn(IP, "ip0"))
    release(real, urn(IP, "ip0"), force=True)
    assert urn(IP, "ip0") not in real.state().by_urn


@pytest.mark.engine
def test_a_locked_stack_is_refused(real: RealWorld) -> None:
    real.up(**SPEC)
    place = real.backend / ".pulumi" / "locks" / "organization" / "proj" / "dev"
    place.mkdir(parents=True, exist_ok=True)
    (place / "x.json").write_text('{"pid": 1, "username": "eve", "hostname": "h", "timestamp": "2026-11-30T00:00:00Z"}')
    with pytest.raises(RefusedError) as caught:
        release(real, urn(IP, "ip0"))
    assert caught.value.code == "RC0611"


# -- the rules alone


def entry(name: str, **changes: object) -> StateResource:
    given: dict[str, object] = {"urn": urn(IP, name), "type": IP, "id": f"fr-par-1/{name}", "custom": True}
    return StateResource(**(given | changes))  # type: ignore[arg-type]


def state(*resources: StateResource, pending: tuple[PendingOperation, ...] = ()) -> Checkpoint:
    return Checkpoint(
        serial="1", resources=resources, pending=pending, outputs={}, secrets=RawSecretsProvider(), written_ms=None
    )


def code(checkpoint: Checkpoint, *urns: str, force: bool = False) -> str | None:
    try:
        require_releasable(NAME, checkpoint, urns, force=force)
    except RefusedError as error:
        return error.code
    return None


A, B = entry("a"), entry("b", dependencies=(urn(IP, "a"),))
KEPT, CHILD = entry("a", protect=True), entry("c", parent=urn(IP, "a"))
PROVIDED = entry("p", provider=f"{urn(IP, 'a')}::id")


@pytest.mark.parametrize(
    ("checkpoint", "expected"),
    [
        (state(A), None),
        (state(A, B), "RC0683"),
        (state(A, CHILD), "RC0683"),
        (state(A, PROVIDED), "RC0683"),
        (state(KEPT), "RC0682"),
        (state(A, dataclasses.replace(A, pending_delete=True)), "RC0684"),
        (state(A, pending=(PendingOperation(operation="updating", resource=B),)), "RC0680"),
        (state(), "RC0681"),
    ],
    ids=["free", "dependency", "parent", "provider", "protected", "half-replaced", "pending", "unknown"],
)
def test_what_may_leave(checkpoint: Checkpoint, expected: str | None) -> None:
    assert code(checkpoint, A.urn) == expected


def test_force_covers_protection_and_nothing_else() -> None:
    assert code(state(KEPT), A.urn, force=True) is None
    assert code(state(KEPT, B), A.urn, force=True) == "RC0683"


def test_dependants_are_followed_to_their_end() -> None:
    third = entry("c", dependencies=(B.urn,))
    assert dependants([A, B, third], [A.urn]) == (B.urn, third.urn)


@pytest.mark.parametrize("after", [state(A, B), state()], ids=["kept", "lost-another"])
def test_another_result_than_was_asked_for_is_an_error(after: Checkpoint) -> None:
    with pytest.raises(EngineError) as caught:
        require_exact(NAME, state(A, B), after, [B.urn])
    assert caught.value.code == "RC0571"
