"""The Go command, with an environment that the user's settings cannot bend.

Kept from the user: where modules come from (GOPROXY, GOSUMDB, GOPRIVATE, ...) and GOTOOLCHAIN, if set. Everything
else that starts with GO or CGO is dropped: a GOFLAGS or GOOS meant for another project would make other binaries.
Caches are private and thrown away after success, for the build needs gigabytes that nothing else would use again;
what the user's own module cache has already is taken from there instead of the network.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.console import Stopwatch, ToolError, say

_FALLBACK = "/usr/local/go/bin/go"
_NETWORK = ("GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOINSECURE", "GOAUTH", "GOVCS")
_HEARTBEAT_SECONDS = 30
_GET_GO = "install Go from https://go.dev/dl/ and put it on PATH"


def find_go(environment: Mapping[str, str]) -> str | None:
    """Path of the `go` command: on PATH, or where its installer puts it."""
    found = shutil.which("go", path=environment.get("PATH", ""))
    if found is None and os.access(_FALLBACK, os.X_OK):
        return _FALLBACK
    return found


def parse_version(text: str) -> tuple[int, ...] | None:
    """(1, 26, 8) of "go version go1.26.8 linux/amd64"; None if there is none (a development build)."""
    found = re.search(r"\bgo(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found[1].split(".")) if found else None


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)


@dataclass(frozen=True)
class Go:
    """A checked Go command and the environment that it runs in."""

    command: str
    environment: Mapping[str, str]
    inherited: tuple[int, ...] = ()

    def run(self, arguments: Sequence[str], *, directory: Path, what: str) -> None:
        """Run `go ARGUMENTS` and say from time to time that it still runs.

        Raises ToolError RC8015 with the last lines of output when it fails.
        """
        watch = Stopwatch()
        log = directory / "go.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [self.command, *arguments],
                cwd=directory,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=self.inherited,
                start_new_session=True,  # so that its compilers can be ended with it
            )
            try:
                _wait(process, what, watch)
            except BaseException:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
                raise
        if process.returncode != 0:
            raise _failure(arguments, log)


def _wait(process: subprocess.Popen[bytes], what: str, watch: Stopwatch) -> None:
    while True:
        try:
            process.wait(timeout=_HEARTBEAT_SECONDS)
            return
        except subprocess.TimeoutExpired:
            say(f"still {what} ({watch})")


def _failure(arguments: Sequence[str], log: Path) -> ToolError:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    shown = "\n".join(f"    {line}" for line in lines[-20:])
    return ToolError(
        f"`go {' '.join(arguments[:2])}` failed:\n{shown}",
        code="RC8015",
        hint="if modules could not be downloaded, check GOPROXY and the network; then run it again",
    )


def _settings(command: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The user's settings as Go itself sees them, from variables and from its configuration file."""
    wanted = [*_NETWORK, "GOMODCACHE"]
    plain = {**environment, "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}
    done = subprocess.run(
        [command, "env", "-json", *wanted], cwd="/", env=plain, capture_output=True, text=True, check=True
    )
    values: dict[str, str] = json.loads(done.stdout)
    return values


def _check_version(command: str, environment: Mapping[str, str], needed: tuple[int, ...]) -> None:
    plain = {**environment, "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    done = subprocess.run([command, "version"], cwd="/", env=plain, capture_output=True, text=True, check=True)
    version = parse_version(done.stdout)
    chosen = environment.get("GOTOOLCHAIN", "local")
    if version is None or version >= needed or chosen != "local":
        return
    raise ToolError(
        f"Go {dotted(needed)} or newer is needed, and {command} is {dotted(version)}",
        code="RC8014",
        hint=f"{_GET_GO}, or set GOTOOLCHAIN=auto to let go download the right one",
    )


def go_environment(environment: Mapping[str, str], settings: Mapping[str, str], *, work: Path) -> dict[str, str]:
    """What the build sees. `settings` are the user's, `work` holds the private caches."""
    kept = {name: value for name, value in environment.items() if not name.startswith(("GO", "CGO_"))}
    kept.update({name: settings[name] for name in _NETWORK if settings.get(name)})
    downloads = Path(settings.get("GOMODCACHE") or "/nonexistent") / "cache" / "download"
    if downloads.is_dir():
        kept["GOPROXY"] = f"{downloads.as_uri()},{settings.get('GOPROXY') or 'https://proxy.golang.org,direct'}"
    kept.update(
        CGO_ENABLED="0",
        GOCACHE=str(work / "go-build"),
        GOENV="off",
        GOFLAGS="-modcacherw",
        GOMODCACHE=str(work / "go-mod"),
        GOTELEMETRY="off",
        GOTOOLCHAIN=environment.get("GOTOOLCHAIN") or "local",
        GOWORK="off",
    )
    return kept


def prepare_go(
    environment: Mapping[str, str], *, needed: tuple[int, ...], work: Path, inherited: tuple[int, ...]
) -> Go:
    """Find and check Go. Raises ToolError RC8013 (absent), RC8014 (too old)."""
    command = find_go(environment)
    if command is None:
        raise ToolError(f"Go {dotted(needed)} or newer is needed and not on PATH", code="RC8013", hint=_GET_GO)
    _check_version(command, environment, needed)
    return Go(command, go_environment(environment, _settings(command, environment), work=work), inherited)
