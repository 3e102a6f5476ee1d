"""The environment of a Pulumi child, and the secrets in it that must not come out again.

The child gets the caller's environment, because secrets managers and state backends read variables that nobody can
list in advance; but what would change the meaning of our commands is taken out. `PULUMI_OPTION_SHOW_SECRETS=true`,
for one, sets that flag on every command. `RECONCILER_*` holds our own secrets (database, write keys) and is none of
the child's business. Whether plugins may be downloaded stays the user's choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from reconciler.engine.processes import MARK_VARIABLE
from reconciler.kernel.text import visible

_DROPPED_PREFIXES: Final = ("RECONCILER_", "PULUMI_OPTION_", "TF_LOG")
_DROPPED: Final = frozenset(
    {
        "PULUMI_AUTOMATION_API",
        "PULUMI_DEBUG_COMMANDS",
        "PULUMI_DEBUG_GRPC",
        "PULUMI_DEBUG_PROVIDERS",
        "PULUMI_ENABLE_LEGACY_DIFF",
        "PULUMI_ENABLE_LEGACY_REFRESH_DIFF",
        "PULUMI_RUN_PROGRAM",
        "PULUMI_SKIP_CHECKPOINTS",
    }
)
_ALWAYS_SECRET: Final = ("SCW_SECRET_KEY", "PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG_PASSPHRASE")
_SECRET_NAME: Final = re.compile(r"SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|PRIVATE_KEY|CREDENTIAL|DATABASE_URL|_DSN$")
_URL_PASSWORD: Final = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)")
_NOISE: Final = re.compile(r"^\s*(warning: )?using \S+ from \$PATH at ")


def child_environment(base: Mapping[str, str], *, backend: str | None, mark: str = "", **extra: str) -> dict[str, str]:
    """What a child gets: `base` without what would change our commands, and what makes the CLI quiet and steady."""
    env = {k: v for k, v in base.items() if k not in _DROPPED and not k.startswith(_DROPPED_PREFIXES)}
    env["PULUMI_SKIP_UPDATE_CHECK"] = "true"
    # Without it, a directory that lacks `Pulumi.<stack>.yaml` makes the CLI mint a new salt and encrypt all of the
    # state anew with it (tried); with it the secrets manager is the one that the state names.
    env["PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER"] = "true"
    if backend:
        env["PULUMI_BACKEND_URL"] = backend
    if mark:
        env[MARK_VARIABLE] = mark
    env.update(extra)
    return env


class Scrubber:
    """Takes the secrets of an environment out of captured text. Its own repr shows none."""

    __slots__ = ("_values",)

    def __init__(self, env: Mapping[str, str]) -> None:
        named = {env[name] for name in _ALWAYS_SECRET if env.get(name)}
        guessed = {value for name, value in env.items() if _SECRET_NAME.search(name) and len(value) >= 6}
        # A file name or a switch is no secret, and `true` in every message would be a riddle.
        guessed = {value for value in guessed if not value.startswith(("/", "./", "~"))}
        self._values = sorted(named | guessed, key=len, reverse=True)

    def __repr__(self) -> str:
        return f"Scrubber({len(self._values)} values)"

    def clean(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, "[secret]")
        return _URL_PASSWORD.sub("[secret]", text)

    def message(self, text: str, *, limit: int = 600) -> str:
        """One safe line out of what a child printed: no noise, no secrets, no control characters."""
        return visible(" | ".join(_said(self.clean(text).splitlines())), limit=limit)


def _said(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        stripped = line.strip()
        if stripped and not _NOISE.match(stripped):
            yield stripped.removeprefix("error: ")


def is_noise(text: str) -> bool:
    """Whether a diagnostic only says which plugin on PATH is used."""
    return _NOISE.match(text) is not None
