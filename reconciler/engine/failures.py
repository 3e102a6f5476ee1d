"""What a failed `pulumi` command means, told from its exit status and its words.

The CLI has few exit statuses of its own (1 everything, 3 authentication, 6 stack not found); the rest is in the text.
The text is shown scrubbed, the code and the hint are ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from reconciler.engine.environment import Scrubber
from reconciler.engine.process import Finished
from reconciler.kernel.errors import EngineError, ReconcilerError, RefusedError

_STATUS_AUTH: Final = 3
_STATUS_NO_STACK: Final = 6


@dataclass(frozen=True, slots=True)
class _Meaning:
    code: str
    pattern: re.Pattern[str]
    hint: str
    status: int | None = None
    kind: type[ReconcilerError] = EngineError


_LOCKED: Final = _Meaning(
    "RC0611",
    re.compile(r"currently locked by|Another update is currently in progress"),
    "Wait for it, or look at `reconciler unlock`. Nothing was touched.",
    kind=RefusedError,
)
_MEANINGS: Final = (
    _LOCKED,
    _Meaning(
        "RC0508",
        re.compile(r"no stack named .* found"),
        "`pulumi stack ls --all` lists what is there; check [state] stacks and the backend.",
        _STATUS_NO_STACK,
    ),
    _Meaning(
        "RC0511",
        re.compile(r"passphrase must be set|incorrect passphrase|secrets manager|decrypt", re.IGNORECASE),
        "Set PULUMI_CONFIG_PASSPHRASE (or PULUMI_CONFIG_PASSPHRASE_FILE) or the credentials of the secrets provider.",
    ),
    _Meaning(
        "RC0505",
        re.compile(r"unsupported checkpoint version|too (new|old)|needs support for the following features"),
        "Upgrade the Pulumi CLI: this stack was written by a newer one.",
    ),
    _Meaning(
        "RC0506",
        re.compile(r"snapshot integrity|integrity failure", re.IGNORECASE),
        "`pulumi state repair` mends what it can.",
    ),
    _Meaning(
        "RC0510",
        re.compile(r"requires logging in|PULUMI_ACCESS_TOKEN must be set|invalid access token|\[401\]"),
        "Set [state] backend_url or PULUMI_BACKEND_URL, and PULUMI_ACCESS_TOKEN for Pulumi Cloud; or `pulumi login`.",
        _STATUS_AUTH,
    ),
    _Meaning(
        "RC0509",
        re.compile(r"unable to open|unable to check bucket|could not list bucket|no such host|connection refused"),
        "Check [state] backend_url or PULUMI_BACKEND_URL: the place where the state is kept could not be opened.",
    ),
)


def failure(finished: Finished, *, what: str, scrubber: Scrubber, detail: str = "") -> ReconcilerError:
    """The error for a command that did not end well. `detail` is text from its events, in place of stderr."""
    text = detail or finished.stderr
    said = scrubber.message(text) or f"exit status {finished.status}"
    if finished.timed_out:
        return EngineError(
            f"{what} did not end within its deadline ({finished.seconds:.0f} s) and was ended",
            code="RC0502",
            hint="Raise the deadline, or find out by hand what it waits for. A lock that it left on a `file://` "
            "backend has been removed; elsewhere `pulumi cancel` does it.",
        )
    for meaning in _MEANINGS:
        if meaning.pattern.search(text) or (meaning.status is not None and meaning.status == finished.status):
            return meaning.kind(f"{what} failed: {said}", code=meaning.code, hint=meaning.hint)
    return EngineError(f"{what} failed: {said}", code="RC0500")


def locked(what: str, holders: str) -> RefusedError:
    """The refusal for a stack that somebody holds; `holders` says who and since when."""
    return RefusedError(f"{what} is locked by {holders}", code=_LOCKED.code, hint=_LOCKED.hint)


def out_of_reach(name: str) -> RefusedError:
    """The refusal to remove a lock that is no file here; `name` is the stack's full name."""
    return RefusedError(
        f"the locks of {name} are in a place that only the CLI reaches",
        code="RC0660",
        hint=f"When nothing else works on this stack, run `pulumi cancel --stack {name}`: it removes every lock.",
    )
