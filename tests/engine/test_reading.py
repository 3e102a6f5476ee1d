"""Reading a stack through the port: exact commands, typed errors, locks that are seen and never taken."""

from __future__ import annotations

import json

import pytest

from reconciler.engine.cli import EngineLimits
from reconciler.kernel.errors import EngineError, InternalError
from reconciler.kernel.guards import transaction
from tests.engine.fakes import FakePulumi, export, resource, urn


def test_a_stack_is_read_by_its_full_name_without_secrets(fake: FakePulumi) -> None:
    fake.answer("stack export", json.dumps(export(resource("ip0"), outputs={"n": 1})))
    state = fake.engine().read("proj/dev")
    assert state.stack == "proj/dev"
    assert state.by_urn.keys() >= {urn("ip0")}
    assert state.outputs == {"n": 1}
    assert state.locks == ()
    assert state.locks_known
    (call,) = fake.calls("stack export")
    assert call["args"] == [
        *("stack", "export", "--stack", "organization/proj/dev", "--non-interactive", "--color", "never"),
    ]
    assert "--show-secrets" not in call["args"]
    assert call["env"]["PULUMI_BACKEND_URL"] == f"file://{fake.state}"


def test_an_option_in_the_environment_cannot_show_secrets(fake: FakePulumi) -> None:
    fake.answer("stack export", json.dumps(export()))
    fake.engine(PULUMI_OPTION_SHOW_SECRETS="true").read("proj/dev")
    assert "PULUMI_OPTION_SHOW_SECRETS" not in fake.calls("stack export")[0]["env"]


def test_a_lock_is_reported(fake: FakePulumi) -> None:
    fake.lock(pid=7, username="ci", hostname="build-7")
    fake.answer("stack export", json.dumps(export()))
    (lock,) = fake.engine().read("proj/dev").locks
    assert (lock.created_by, lock.pid) == ("ci@build-7", 7)


def test_a_lock_that_appears_or_goes_while_the_export_runs_is_reported(fake: FakePulumi) -> None:
    fake.lock("goes.json", pid=1)
    directory = fake.state / ".pulumi" / "locks" / "organization" / "proj" / "dev"
    script = f"d={str(directory)!r}; os.rename(d+'/goes.json', d+'/comes.json')"
    fake.answer("stack export", json.dumps(export()), script=script)
    state = fake.engine().read("proj/dev")
    assert {lock.source for lock in state.locks} == {"goes.json", "comes.json"}


def test_on_an_object_store_locks_are_not_known(fake: FakePulumi) -> None:
    fake.answer("stack export", json.dumps(export()))
    state = fake.engine(backend="s3://bucket").read("proj/dev")
    assert not state.locks_known
    assert fake.calls("stack export")[0]["args"][3] == "organization/proj/dev"


def test_on_pulumi_cloud_an_update_in_progress_is_a_lock(fake: FakePulumi) -> None:
    rows = [{"name": "acme/proj/dev", "updateInProgress": True}, {"name": "acme/proj/other", "updateInProgress": False}]
    fake.answer("stack ls", json.dumps(rows))
    fake.answer("stack export", json.dumps(export()))
    engine = fake.engine(backend="https://api.pulumi.com")
    state = engine.read("proj/dev")
    assert (state.locks_known, len(state.locks)) == (True, 1)
    assert fake.calls("stack export")[0]["args"][3] == "acme/proj/dev"
    assert engine.read("acme/proj/other").locks == ()


def test_without_a_backend_the_cli_is_asked_once_where_it_is_logged_in(fake: FakePulumi) -> None:
    fake.answer("whoami", json.dumps({"user": "ci", "url": f"file://{fake.state}"}))
    fake.answer("stack export", json.dumps(export()))
    fake.lock(pid=7)
    engine = fake.engine(backend=None)
    assert len(engine.read("proj/dev").locks) == 1
    engine.read("proj/dev")
    assert len(fake.calls("whoami")) == 1
    assert fake.calls("stack export")[0]["env"]["PULUMI_BACKEND_URL"] == f"file://{fake.state}"


def test_patterns_are_matched_against_the_listing(fake: FakePulumi) -> None:
    fake.answer("stack ls", json.dumps([{"name": "organization/ci/dev"}, {"name": "organization/ci/prod"}]))
    assert fake.engine().stacks(["ci/*", "gone/dev"]) == ("ci/dev", "ci/prod", "gone/dev")


def test_exact_names_need_no_listing(fake: FakePulumi) -> None:
    fake.answer("stack ls", stderr="error: denied", status=1)
    assert fake.engine().stacks(["ci/dev", "acme/ci/prod"]) == ("ci/dev", "acme/ci/prod")


@pytest.mark.parametrize(
    ("stdout", "stderr", "status", "code"),
    [
        ("", "error: no stack named 'organization/proj/dev' found", 6, "RC0508"),
        ("", "error: unable to open state directory", 1, "RC0509"),
        ("Please upgrade!\n{}", "", 0, "RC0504"),
        ("", "", 0, "RC0504"),
        ('{"version": 7}', "", 0, "RC0505"),
        (json.dumps(export(resource("a", 1), resource("a", 2))), "", 0, "RC0506"),
        (json.dumps(export())[:-10], "", 0, "RC0504"),
    ],
    ids=["no-stack", "no-backend", "chatter", "nothing", "newer", "corrupt", "torn"],
)
def test_a_stack_that_cannot_be_read_is_an_error_by_name(
    fake: FakePulumi, stdout: str, stderr: str, status: int, code: str
) -> None:
    fake.answer("stack export", stdout, stderr=stderr, status=status)
    with pytest.raises(EngineError) as caught:
        fake.engine().read("proj/dev")
    assert caught.value.code == code


def test_an_export_over_the_bound_is_an_error_and_not_a_part_of_a_state(fake: FakePulumi) -> None:
    fake.answer("stack export", json.dumps(export(*(resource(f"ip{n}", n) for n in range(50)))))
    with pytest.raises(EngineError) as caught:
        fake.engine(limits=EngineLimits(export_bytes=2000)).read("proj/dev")
    assert caught.value.code == "RC0507"


def test_a_cli_that_hangs_is_ended_at_the_deadline(fake: FakePulumi) -> None:
    fake.answer("stack export", script="import time; time.sleep(60)")
    with pytest.raises(EngineError) as caught:
        fake.engine(limits=EngineLimits(read_seconds=0.5, grace_seconds=1)).read("proj/dev")
    assert caught.value.code == "RC0502"


def test_without_a_cli_the_error_says_so(fake: FakePulumi) -> None:
    fake.path.unlink()
    with pytest.raises(EngineError) as caught:
        fake.engine(PATH=str(fake.bin)).read("proj/dev")
    assert caught.value.code == "RC0501"


def test_a_secret_that_the_cli_prints_is_not_in_the_error(fake: FakePulumi) -> None:
    fake.answer("stack export", stderr="error: token pul-0123456789 rejected\n", status=1)
    with pytest.raises(EngineError) as caught:
        fake.engine(PULUMI_ACCESS_TOKEN="pul-0123456789").read("proj/dev")
    assert "pul-0123456789" not in str(caught.value)


def test_nothing_is_read_inside_a_transaction(fake: FakePulumi) -> None:
    with transaction("sweep"), pytest.raises(InternalError):
        fake.engine().read("proj/dev")


def test_a_big_export_is_read_whole(fake: FakePulumi) -> None:
    """Bigger than any pipe and than one read of it."""
    script = (
        "big = {'version': 3, 'deployment': {'resources': [{'urn': 'urn:%d' % n, 'type': 'a:b:C', 'custom': True,"
        " 'id': 'x', 'inputs': {'blob': 'y' * 1000}} for n in range(20000)]}}\n"
        "sys.stdout.write(json.dumps(big, indent=4))"
    )
    fake.answer("stack export", script=script)
    assert len(fake.engine().read("proj/dev").resources) == 20_000
