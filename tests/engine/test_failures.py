"""A failed command is named by what it means, in words that hold no secret."""

from __future__ import annotations

import pytest

from reconciler.engine.environment import Scrubber
from reconciler.engine.failures import failure
from reconciler.engine.process import Finished
from reconciler.kernel.errors import EngineError, RefusedError


def finished(stderr: str = "", status: int = 1, *, timed_out: bool = False) -> Finished:
    return Finished(
        pid=1,
        status=status,
        stdout=bytearray(),
        stderr=stderr,
        seconds=3,
        timed_out=timed_out,
        killed=False,
        truncated=False,
    )


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("error: no stack named 'organization/proj/nope' found", 6, "RC0508"),
        ("error: something", 6, "RC0508"),
        ("error: getting stack configuration: get stack secrets manager: incorrect passphrase", 1, "RC0511"),
        ("error: failed to load checkpoint: unsupported checkpoint version 9", 1, "RC0505"),
        ("error: this command requires logging in; try running `pulumi login` first", 3, "RC0510"),
        ('error: unable to open state directory "file:///x": stat /x: no such file or directory', 1, "RC0509"),
        ("error: snapshot integrity failure; refusing to use it", 1, "RC0506"),
        ("error: something else", 255, "RC0500"),
        ("", -9, "RC0500"),
    ],
)
def test_words_and_status_mean(text: str, status: int, code: str) -> None:
    error = failure(finished(text, status), what="`pulumi x`", scrubber=Scrubber({}))
    assert isinstance(error, EngineError)
    assert error.code == code


def test_a_lock_is_a_refusal_that_says_who() -> None:
    text = "error: the stack is currently locked by 1 lock(s). created by root@vm (pid 7) at 2026-11-30T01:08:01Z"
    error = failure(finished(text), what="the refresh", scrubber=Scrubber({}))
    assert isinstance(error, RefusedError)
    assert error.code == "RC0611"
    assert "root@vm (pid 7)" in error.message


def test_a_deadline_is_named_whatever_was_printed() -> None:
    error = failure(finished("error: update canceled", timed_out=True), what="the refresh", scrubber=Scrubber({}))
    assert error.code == "RC0502"


def test_no_secret_is_in_the_message() -> None:
    scrubber = Scrubber({"PULUMI_ACCESS_TOKEN": "pul-0123456789"})
    assert "pul-0123" not in str(failure(finished("error: pul-0123456789 is no token"), what="x", scrubber=scrubber))
