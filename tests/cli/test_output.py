"""Where results go and when they are coloured."""

from __future__ import annotations

import io
import signal
from pathlib import Path

import click
import pytest

from reconciler.cli.interrupts import patient_stop
from reconciler.cli.output import Target, TargetType, targets_of, wants_color


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("mode", "environ", "terminal", "expected"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("never", {"FORCE_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"CLICOLOR_FORCE": "1"}, False, True),
        ("auto", {"CLICOLOR": "0"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
    ],
)
def test_colour_follows_the_flag_then_the_variables_then_the_terminal(
    mode: str, environ: dict[str, str], terminal: bool, expected: bool
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    assert wants_color(stream, mode=mode, environ=environ) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("json", Target("json")), ("json=-", Target("json")), ("console", Target("console"))],
)
def test_a_format_without_a_file_is_stdout(text: str, expected: Target) -> None:
    assert TargetType(("console", "json")).convert(text, None, None) == expected


def test_a_file_name_may_hold_an_equals_sign() -> None:
    target = TargetType(("json",)).convert("json=a=b.json", None, None)
    assert str(target.path) == "a=b.json"


@pytest.mark.parametrize("text", ["xml", "json=", ""])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        TargetType(("json",)).convert(text, None, None)


def test_the_configured_format_counts_where_no_flag_says_otherwise() -> None:
    assert targets_of((), as_json=False, default="json") == (Target("json"),)
    assert targets_of((Target("console"),), as_json=False, default="json") == (Target("console"),)


def test_json_twice_is_json_once() -> None:
    assert targets_of((Target("json"),), as_json=True) == (Target("json"),)


# -- stopping


def test_the_first_signal_only_raises_a_flag_and_the_second_interrupts() -> None:
    told: list[str] = []
    with patient_stop(told.append) as stop:
        assert not stop()
        signal.raise_signal(signal.SIGINT)
        assert (stop(), stop.exit_status, len(told)) == (True, 130, 1)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_termination_is_as_patient_and_ends_with_143() -> None:
    with patient_stop(lambda _: None) as stop:
        signal.raise_signal(signal.SIGTERM)
        assert (stop(), stop.exit_status) == (True, 143)


def test_the_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with patient_stop(lambda _: None):
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_two_outputs_do_not_overwrite_each_other(tmp_path: Path) -> None:
    chosen = [Target("json", tmp_path / "a"), Target("sarif", tmp_path / "b" / ".." / "a")]
    (tmp_path / "b").mkdir()
    with pytest.raises(click.UsageError):
        targets_of(chosen, as_json=False)
