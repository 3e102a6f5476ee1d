"""The entry point: how each kind of error looks and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from reconciler.cli import main as entry
from reconciler.cli.errors import show_error
from reconciler.kernel.errors import (
    AuthenticationError,
    CloudError,
    ConfigError,
    EngineError,
    IncompleteError,
    InternalError,
    NotLeaderError,
    ReconcilerError,
    RefusedError,
    StoreError,
    UsageError,
)
from tests.cli.conftest import Run
from tests.fakes.estate import FakeWorld

PYTHON = [sys.executable, "-m", "reconciler.cli.main"]


def raising(error: BaseException) -> Callable[..., None]:
    def raise_it(*_: object, **__: object) -> None:
        raise error

    return raise_it


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ReconcilerError("what", code="RC0123", hint="do"), 1),
        (UsageError("what", code="RC0123", hint="do"), 64),
        (ConfigError("what", code="RC0123", hint="do"), 64),
        (AuthenticationError("what", code="RC0123", hint="do"), 3),
        (RefusedError("what", code="RC0123", hint="do"), 6),
        (IncompleteError("what", code="RC0123", hint="do"), 7),
        (NotLeaderError("what", code="RC0123", hint="do"), 75),
        (CloudError("what", code="RC0123", hint="do"), 1),
        (EngineError("what", code="RC0123", hint="do"), 1),
        (StoreError("what", code="RC0123", hint="do"), 1),
        (InternalError("what", code="RC0123", hint="do"), 1),
    ],
)
def test_an_error_is_a_code_a_text_and_a_hint_on_stderr(
    run: Run, world: FakeWorld, monkeypatch: pytest.MonkeyPatch, error: ReconcilerError, status: int
) -> None:
    monkeypatch.setattr(world, "settings", raising(error))
    ran = run("drift")
    assert (ran.status, ran.out, ran.err) == (status, "", "error[RC0123]: what\nhint: do\n")


def test_an_error_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(code="RC0123", message="a\x1b[2J\nerror[RC0001]: forged", hint="\u202e")
    assert capsys.readouterr().err == "error[RC0123]: a\\x1b[2J\\nerror[RC0001]: forged\nhint: \\u202e\n"


def test_an_unexpected_error_shows_its_type_and_nothing_that_it_holds(
    run: Run, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "settings", raising(ValueError("token=abc")))
    ran = run("drift")
    assert ran.status == 1
    assert ran.err.startswith("error[RC0900]: unexpected ValueError\nhint: ")
    assert "abc" not in ran.err
    assert "Traceback" not in ran.err


def test_an_unexpected_error_has_a_traceback_with_v(
    run: Run, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "settings", raising(ValueError("x")))
    assert "Traceback" in run("-v", "drift").err


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), click.Abort()])
def test_an_interruption_ends_with_130(
    run: Run, world: FakeWorld, monkeypatch: pytest.MonkeyPatch, interruption: BaseException
) -> None:
    monkeypatch.setattr(world, "settings", raising(interruption))
    assert run("drift").status == 130


@pytest.mark.parametrize("argv", [["nope"], ["drift", "--nope"], ["drift", "extra"], ["--color", "pink", "drift"]])
def test_a_wrong_command_line_ends_with_64(run: Run, argv: list[str]) -> None:
    ran = run(*argv)
    assert (ran.status, ran.out) == (64, "")
    assert ran.err.startswith("error[RC0101]: ")


@pytest.mark.parametrize("argv", [[], ["db"], ["config"]])
def test_a_group_without_a_command_shows_its_help_on_stderr(run: Run, argv: list[str]) -> None:
    ran = run(*argv)
    assert (ran.status, ran.out) == (64, "")
    assert "\nCommands:\n" in ran.err


def test_cwd_changes_the_directory_first(run: Run, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    assert run("-C", "below", "drift", "-o", "json=x.json").status == 0
    assert (tmp_path / "below" / "x.json").exists()


def test_a_directory_that_is_not_there_is_a_usage_error(run: Run) -> None:
    ran = run("-C", "nowhere", "drift")
    assert (ran.status, "error[RC0103]" in ran.err) == (64, True)


def test_the_sigterm_handler_is_put_back(run: Run) -> None:
    before = signal.getsignal(signal.SIGTERM)
    run("drift")
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_process_with_its_status(number: signal.Signals, status: int) -> None:
    def heed_signals() -> None:
        """A shell starts its background jobs with SIGINT ignored, and they hand that down."""
        signal.signal(number, signal.SIG_DFL)

    argv = [*PYTHON, "simulate", "serve"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed_signals) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline().startswith(b"export SCW_API_URL=http://127.0.0.1:")
            child.send_signal(number)
            assert child.wait(timeout=30) == status
        finally:
            child.kill()


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*PYTHON, "config", "schema"], stdout=write, stderr=subprocess.PIPE, cwd=tmp_path, check=False, timeout=60
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_the_module_runs_as_a_program() -> None:
    done = subprocess.run([*PYTHON, "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("reconciler, version ")


def test_main_takes_the_world_of_its_caller(world: FakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert entry.main(["-q", "drift"], adapters=world) == 0


def test_a_missing_choice_is_named_on_one_readable_line(run: Run) -> None:
    assert "Choose from: bash, fish, powershell, zsh\n" in run("completion").err


def started(
    tmp_path: Path, *argv: str, closing: str = "", encoding: str = "utf-8", **more: str
) -> subprocess.CompletedProcess[bytes]:
    """The program as a shell starts it, with the streams of `closing` closed."""
    (tmp_path / "p.yaml").write_text(
        "version: 1\nname: n\nrules:\n  - {id: a, check: required-tags, tags: [rôle✓]}\n", encoding="utf-8"
    )
    script = f'exec "$@" {closing}'
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONIOENCODING": encoding, **more}
    root = str(Path(__file__).parents[2])
    return subprocess.run(
        ["sh", "-c", script, "sh", *PYTHON, *argv],
        cwd=tmp_path,
        env={**environ, "PYTHONPATH": root},
        capture_output=True,
        check=False,
    )


EXPLAIN = ("policy", "explain", "a", "--policy", "p.yaml")


@pytest.mark.parametrize("closing", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stdout_changes_no_exit_status(tmp_path: Path, closing: str) -> None:
    ran = started(tmp_path, *EXPLAIN, closing=closing)
    assert (ran.returncode, ran.stderr) == (0, b"")


def test_what_belongs_on_a_closed_stderr_does_not_get_into_the_result(tmp_path: Path) -> None:
    ran = started(tmp_path, "policy", "explain", "b", "--policy", "p.yaml", closing="2>&-")
    assert (ran.returncode, ran.stdout) == (64, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_under_stdout_is_said_in_plain_words(tmp_path: Path) -> None:
    ran = started(tmp_path, *EXPLAIN, closing=">/dev/full")
    assert (ran.returncode, ran.stderr.startswith(b"error[RC0104]")) == (1, True)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_character_that_the_terminal_cannot_show_is_its_escape(tmp_path: Path, encoding: str) -> None:
    ran = started(tmp_path, *EXPLAIN, encoding=encoding)
    assert (ran.returncode, b"\\u2713" in ran.stdout, ran.stderr) == (0, True, b"")


def test_without_a_home_what_needs_no_database_works(tmp_path: Path) -> None:
    assert started(tmp_path, *EXPLAIN, HOME="").returncode == 0
