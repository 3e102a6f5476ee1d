"""A gated refresh: what is refused, in which order things happen, and what comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reconciler.engine.cli import EngineLimits
from reconciler.engine.refresh import judge, type_of
from reconciler.kernel.errors import EngineError, ReconcilerError, RefusedError
from reconciler.ports.engine import ChildProcess, RefreshResult
from tests.engine.fakes import FakePulumi, export, lines, read_error, resource, result, urn, uuid_of

A, B = urn("a"), urn("b")


def prepare(fake: FakePulumi, *items: dict[str, Any], **fields: Any) -> None:
    fake.answer("stack export", json.dumps(export(*(items or (resource("a", 1), resource("b", 2))), **fields)))


def refresh(fake: FakePulumi, *urns: str, proved: tuple[str, ...] = (), **more: Any) -> RefreshResult:
    return fake.engine(**more).refresh("proj/dev", urns or (A, B), proved_absent=proved, on_child=lambda child: None)


def refused(fake: FakePulumi, *urns: str, **more: Any) -> ReconcilerError:
    with pytest.raises(ReconcilerError) as caught:
        refresh(fake, *urns, **more)
    assert fake.calls("refresh") == []  # nothing was written
    return caught.value


def test_a_proved_delete_goes_through(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(result("a", "delete"), result("b", "same")))
    fake.answer("refresh", lines(result("a", "delete"), result("b", "same")))
    found = refresh(fake, proved=(A,))
    assert found.operations == {A: "delete", B: "same"}
    assert found.failed == {}
    assert found.lock_seconds > 0


def test_the_commands_target_exactly_the_urns_and_run_no_program(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(result("a", "same"), result("b", "same")))
    fake.answer("refresh", lines(result("a", "same"), result("b", "same")))
    refresh(fake)
    (preview,), (real,) = fake.calls("preview"), fake.calls("refresh")
    for call in (preview, real):
        args = call["args"]
        assert [args[n + 1] for n, arg in enumerate(args) if arg == "--target"] == [A, B]
        assert "--run-program=false" in args
        assert "--target-dependents" not in args
        assert args[args.index("--stack") + 1] == "organization/proj/dev"
        assert call["env"]["SCW_API_URL"].startswith("http://127.0.0.1:")
    assert "--skip-preview" not in preview["args"]
    assert "--preview-only" not in real["args"]
    assert preview["env"]["SCW_API_URL"] != real["env"]["SCW_API_URL"]


def test_the_made_up_project_encrypts_as_the_state_does(fake: FakePulumi) -> None:
    secrets = {"type": "passphrase", "state": {"salt": "v1:abc:v1:def"}}
    prepare(fake, deployment={"secrets_providers": secrets})
    fake.answer("preview", lines(result("a", "same")))
    fake.answer("refresh", lines(result("a", "same")))
    refresh(fake, A)
    files = fake.calls("refresh")[0]["files"]
    assert "name: proj" in files["Pulumi.yaml"]
    assert "encryptionsalt: v1:abc:v1:def" in files["Pulumi.dev.yaml"]


def test_an_unproved_delete_refuses_the_whole_run(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(result("a", "delete"), result("b", "delete")))
    error = refused(fake, proved=(A,))
    assert (type(error), error.code) == (RefusedError, "RC0610")
    assert B in error.message
    assert A not in error.message


def test_an_operation_on_what_was_not_asked_for_refuses(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(result("a", "same"), result("b", "update")))
    assert refused(fake, A).code == "RC0610"


def test_an_operation_that_a_refresh_does_not_have_refuses(fake: FakePulumi) -> None:
    """A CLI that does not stream prints `refresh` for everything: the result is not in it."""
    prepare(fake)
    fake.answer("preview", lines(result("a", "refresh")))
    assert refused(fake, A).code == "RC0610"


def test_a_cli_that_prints_a_digest_is_refused(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", json.dumps({"steps": [{"op": "refresh", "urn": A}]}, indent=4))
    assert refused(fake, A).code == "RC0504"


def test_a_locked_stack_is_refused_with_who_and_when(fake: FakePulumi) -> None:
    prepare(fake)
    fake.lock(pid=7, username="ci", hostname="build-7")
    error = refused(fake)
    assert error.code == "RC0611"
    assert "ci@build-7 (pid 7) since 2026-11-30T01:07:45" in error.message


def test_a_lock_that_somebody_takes_in_between_is_the_same_refusal(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(result("a", "same")))
    fake.answer("refresh", stderr="error: the stack is currently locked by 1 lock(s).", status=1)
    with pytest.raises(RefusedError) as caught:
        refresh(fake, A)
    assert caught.value.code == "RC0611"


@pytest.mark.parametrize("operation", ["updating", "deleting", "reading", "importing"])
def test_evidence_of_an_interrupted_run_is_not_refreshed_away(fake: FakePulumi, operation: str) -> None:
    prepare(fake, resource("a", 1), pending=[{"type": operation, "resource": resource("b", 2)}])
    assert refused(fake, A).code == "RC0615"


def test_a_pending_create_stays_and_does_not_stop_a_refresh(fake: FakePulumi) -> None:
    prepare(fake, resource("a", 1), pending=[{"type": "creating", "resource": {"urn": B, "type": "a:b:C"}}])
    fake.answer("preview", lines(result("a", "same")))
    fake.answer("refresh", lines(result("a", "same")))
    assert refresh(fake, A).operations == {A: "same"}
    assert "--clear-pending-creates" not in fake.calls("refresh")[0]["args"]


@pytest.mark.parametrize(
    "name",
    [urn("nobody"), urn("old"), "urn:pulumi:dev::proj::pulumi:providers:scaleway::default", urn("*")],
    ids=["unknown", "waiting-for-removal", "provider", "wildcard"],
)
def test_what_cannot_be_a_target_is_refused(fake: FakePulumi, name: str) -> None:
    prepare(fake, resource("a", 1), resource("old", 2, delete=True), resource("*", 3))
    assert refused(fake, name).code == "RC0613"
    assert fake.calls("preview") == []


def test_a_type_that_is_read_past_the_gate_is_refused(fake: FakePulumi) -> None:
    kind = "scaleway:object/bucket:Bucket"
    prepare(fake, resource("bucket", 1, kind=kind))
    assert refused(fake, urn("bucket", kind)).code == "RC0614"


def test_one_bad_read_does_not_stop_the_others(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(read_error("a", "http error 424"), result("b", "delete")), status=1)
    fake.answer("refresh", lines(result("b", "delete")))
    found = refresh(fake, proved=(B,))
    assert found.operations == {B: "delete"}
    assert found.failed == {A: "http error 424"}
    assert A not in fake.calls("refresh")[0]["args"]


def test_a_read_that_fails_only_in_the_refresh_is_told(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(result("a", "delete"), result("b", "same")))
    fake.answer("refresh", lines(read_error("b", "http error 424"), result("a", "delete")), status=1)
    found = refresh(fake, proved=(A,))
    assert (found.operations, found.failed) == ({A: "delete"}, {B: "http error 424"})


def test_when_nothing_can_be_read_no_lock_is_taken(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(read_error("a", "424"), read_error("b", "424")), status=1)
    error = refused(fake)
    assert (type(error), error.code) == (EngineError, "RC0512")


def test_a_target_without_any_result_counts_as_failed(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(result("a", "same")))
    fake.answer("refresh", lines(result("a", "same")))
    assert refresh(fake).failed == {B: "the engine gave no result for it"}


def test_an_unproved_delete_in_the_refresh_itself_is_loud(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(result("a", "same")))
    fake.answer("refresh", lines(result("a", "delete")))
    with pytest.raises(EngineError) as caught:
        refresh(fake, A)
    assert caught.value.code == "RC0514"


def test_an_engine_that_fails_as_a_whole_is_an_error_with_its_words(fake: FakePulumi) -> None:
    prepare(fake)
    event = {"sequence": 1, "diagnosticEvent": {"severity": "error", "message": "incorrect passphrase"}}
    fake.answer("preview", lines(event), status=1)
    error = refused(fake, A)
    assert error.code == "RC0511"
    assert "incorrect passphrase" in error.message


def test_a_proof_of_another_id_is_none(fake: FakePulumi) -> None:
    """A replace between the proof and the refresh: the URN stands for a machine of which nothing is proved."""
    prepare(fake)
    with pytest.raises(RefusedError) as caught:
        fake.engine().refresh("proj/dev", [A], proved_absent={A: f"fr-par-1/{uuid_of(9)}"}, on_child=lambda child: None)
    assert caught.value.code == "RC0613"
    assert fake.calls("preview") == []


def test_a_proof_of_the_very_id_goes_through(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(result("a", "delete")))
    fake.answer("refresh", lines(result("a", "delete")))
    found = fake.engine().refresh(
        "proj/dev", [A], proved_absent={A: f"fr-par-1/{uuid_of(1)}"}, on_child=lambda child: None
    )
    assert found.operations == {A: "delete"}


def test_nothing_to_refresh_starts_nothing(fake: FakePulumi) -> None:
    engine = fake.engine()
    assert engine.refresh("proj/dev", (), proved_absent=(), on_child=lambda child: None).operations == {}
    assert engine.preview_refresh("proj/dev", ()).operations == {}
    assert fake.calls("stack export") == []


def test_the_child_is_noted_before_it_is_waited_for(fake: FakePulumi) -> None:
    prepare(fake)
    flag = fake.root / "noted"
    fake.answer("preview", lines(result("a", "same")))
    waits = f"import time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.01)"
    fake.answer("refresh", lines(result("a", "same")), script=waits)
    children: list[ChildProcess] = []

    def note(child: ChildProcess) -> None:
        children.append(child)
        flag.touch()

    fake.engine().refresh("proj/dev", [A], proved_absent=(), on_child=note)
    (child,) = children
    assert child.stack == "organization/proj/dev"
    assert child.argv[1] == "refresh"
    assert child.host


def test_the_preview_is_no_child_for_the_journal(fake: FakePulumi) -> None:
    prepare(fake)
    fake.answer("preview", lines(result("a", "delete")))
    children: list[ChildProcess] = []
    with pytest.raises(RefusedError):
        fake.engine().refresh("proj/dev", [A], proved_absent=(), on_child=children.append)
    assert children == []


# As the CLI does: it writes a lock with its pid and cannot remove it when it is killed.
HANGS = """
import signal, socket, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
d = {directory!r}
os.makedirs(d, exist_ok=True)
stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
lock = dict(pid=os.getpid(), username="ci", hostname=socket.gethostname(), timestamp=stamp)
open(d + "/ours.json", "w").write(json.dumps(lock))
open(d + "/others.json", "w").write(json.dumps(dict(lock, pid=1)))
time.sleep(60)
"""


def test_a_refresh_that_had_to_be_killed_gives_back_its_own_lock_only(fake: FakePulumi) -> None:
    prepare(fake)
    directory = fake.state / ".pulumi" / "locks" / "organization" / "proj" / "dev"
    fake.answer("preview", lines(result("a", "same")))
    fake.answer("refresh", script=HANGS.format(directory=str(directory)))
    limits = EngineLimits(refresh_seconds=1.5, grace_seconds=0.2)
    with pytest.raises(EngineError) as caught:
        fake.engine(limits=limits).refresh("proj/dev", [A], proved_absent=(), on_child=lambda child: None)
    assert caught.value.code == "RC0502"
    assert [path.name for path in directory.iterdir()] == ["others.json"]


def test_many_urns_are_asked_for_in_batches(fake: FakePulumi) -> None:
    items = [resource(f"ip{n}", n) for n in range(1001)]
    prepare(fake, *items, resource("other", 5000))
    fake.answer("preview", lines(*(result(f"ip{n}", "same") for n in range(1001))))
    found = fake.engine().preview_refresh("proj/dev", [item["urn"] for item in items])
    assert len(found.operations) == 1001
    assert [call["args"].count("--target") for call in fake.calls("preview")] == [1000, 1]


def test_a_whole_big_stack_is_asked_for_without_targets(fake: FakePulumi) -> None:
    items = [resource(f"ip{n}", n) for n in range(1001)]
    prepare(fake, *items)
    fake.answer("preview", lines(*(result(f"ip{n}", "same") for n in range(1001))))
    fake.engine().preview_refresh("proj/dev", [item["urn"] for item in items])
    assert [call["args"].count("--target") for call in fake.calls("preview")] == [0]


class TestJudging:
    def test_what_was_asked_and_proved_passes(self) -> None:
        judge({A: "delete", B: "update"}, urns=[A, B], proved=[A])

    def test_same_on_another_resource_is_no_change(self) -> None:
        judge({A: "update", B: "same"}, urns=[A], proved=[])

    @pytest.mark.parametrize("op", ["create", "replace", "refresh", "discard", ""])
    def test_any_other_operation_is_refused(self, op: str) -> None:
        with pytest.raises(RefusedError):
            judge({A: op}, urns=[A], proved=[A])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (A, "scaleway:instance/ip:Ip"),
        ("urn:pulumi:dev::proj::my:index:Fleet$scaleway:instance/ip:Ip::x", "scaleway:instance/ip:Ip"),
        ("urn:pulumi:dev::proj::scaleway:instance/ip:Ip::a::b", "scaleway:instance/ip:Ip"),
        ("nonsense", ""),
    ],
)
def test_the_type_is_in_the_urn(text: str, kind: str) -> None:
    assert type_of(text) == kind
