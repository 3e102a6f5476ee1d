"""Processes that may still be at work for a stack whose CLI is dead, or whose lock looks left behind.

The provider plugin of a killed `pulumi up` lives on, adopted by init, and finishes its create (tried): while it lives,
"not found" proves nothing. So every provider plugin on this host counts, unless its environment proves that it belongs
to another project or backend. The same goes for a CLI that can make things. A language host makes nothing by itself:
it counts only when its environment ties it to this backend.

What runs on another host, or in another container, is not seen from here; for that there is the create deadline.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from reconciler.engine import locks, processes
from reconciler.engine.backend import Backend, backend_of
from reconciler.engine.stacks import StackName
from reconciler.kernel.text import visible
from reconciler.model.state import LiveProcess, Lock
from reconciler.ports.engine import LockEvidence

_PLUGIN: Final = "pulumi-resource-scaleway"
_HOST: Final = "pulumi-language-"
_CLI: Final = "pulumi"
# The verbs of the CLI that can make or change what is in the cloud.
_VERBS: Final = frozenset({"up", "update", "destroy", "refresh", "import", "watch"})
# A lock is written a moment after its process has begun; the time of boot is told in whole seconds.
_SLACK_MS: Final = 5_000
# The first namespace of a Linux system has this number: whoever is in it sees every process of the machine.
_FIRST_NAMESPACE: Final = "pid:[4026531836]"


def live(name: StackName, backend: Backend, *, own_pid: int) -> tuple[LiveProcess, ...]:
    """What may still be at work for a stack, by pid. Children of `own_pid` are left out: they are ours, and read."""
    return tuple(sorted(_live(name, backend, own_pid), key=lambda process: process.pid))


def _live(name: StackName, backend: Backend, own_pid: int) -> Iterator[LiveProcess]:
    for process in processes.table():
        if process.parent == own_pid:
            continue
        argv = processes.command_line(process.pid) or ()
        program = program_of(argv)
        why = _tie(process.pid, program, argv, name, backend) if program is not None else None
        if program is not None and why is not None:
            yield LiveProcess(pid=process.pid, name=program, why=why, started_ms=processes.started_ms(process.pid))


def program_of(argv: tuple[str, ...]) -> str | None:
    """Which of Pulumi's programs this is; an interpreter's script counts as the program."""
    for word in argv[:2]:
        base = Path(word).name
        if base in (_CLI, _PLUGIN) or base.startswith(_HOST):
            return base
    return None


def _tie(pid: int, program: str, argv: tuple[str, ...], name: StackName, backend: Backend) -> str | None:
    """Why it may belong to a run of this stack; None when it does not."""
    environ = environment(pid)
    same = _same_backend(environ, pid, backend)
    if program == _CLI and (not _VERBS & set(argv[1:]) or _other_stack(argv, name)):
        return None
    if program != _CLI and environ is not None and environ.get("PULUMI_PROJECT", name.project) != name.project:
        return None
    if same is False or (program.startswith(_HOST) and not same):
        return None
    if same:
        return "its environment names this backend"
    return "its environment cannot be read" if environ is None else "nothing rules it out"


def environment(pid: int) -> Mapping[str, str] | None:
    """The environment that a process was started with; None when it cannot be read."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    pairs = (item.decode(errors="replace").partition("=") for item in raw.split(b"\0") if item)
    return {key: value for key, _, value in pairs}


def _same_backend(environ: Mapping[str, str] | None, pid: int, backend: Backend) -> bool | None:
    """None where the environment does not say."""
    url = environ.get("PULUMI_BACKEND_URL") if environ is not None else None
    if environ is None or not url:
        return None
    try:
        cwd = Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        cwd = Path("/")
    other = backend_of(url, env=environ, cwd=cwd)
    if other.directory is not None and backend.directory is not None:
        return os.path.realpath(other.directory) == os.path.realpath(backend.directory)
    return _place(other.url) == _place(backend.url)


def _place(url: str) -> str:
    """A backend's URL without the settings that do not say where it is."""
    return url.partition("?")[0].rstrip("/")


def _other_stack(argv: tuple[str, ...], name: StackName) -> bool:
    """Whether its arguments name another stack. Only the last segment is compared: the others may be left out."""
    for word, following in zip(argv, (*argv[1:], ""), strict=True):
        given = following if word in ("--stack", "-s") else word.removeprefix("--stack=")
        if given != word and given.rpartition("/")[2] != name.stack:
            return True
    return False


# -- who took a lock


def sees_all_processes() -> bool:
    """Whether a process that is not found here does not run on this host: not so inside a container."""
    try:
        return str(Path("/proc/self/ns/pid").readlink()) == _FIRST_NAMESPACE
    except OSError:
        return not processes.has_proc()


def evidence(lock: Lock, *, sees_all: bool) -> LockEvidence:
    """What is known of the process that took a lock."""
    here = lock.created_by.rpartition("@")[2] == locks.host() if "@" in lock.created_by else None
    if not here or lock.pid is None:
        return LockEvidence(lock=lock, here=here, alive=None)
    if not _took(lock, lock.pid):
        return LockEvidence(lock=lock, here=here, alive=False if sees_all else None)
    argv = processes.command_line(lock.pid) or ()
    verb = next((word for word in argv[1:] if word in _VERBS), "")
    program = program_of(argv) or (Path(argv[0]).name if argv else "")
    return LockEvidence(
        lock=lock,
        here=here,
        alive=True,
        command=visible(f"{program} {verb}".strip()),
        job=visible(job_of(environment(lock.pid) or {})),
    )


def _took(lock: Lock, pid: int) -> bool:
    """Whether the process that has this pid now is the one that took the lock: it began before the lock did."""
    if processes.find(pid) is None:
        return False
    started = processes.started_ms(pid)
    return lock.created_ms is None or started is None or started <= lock.created_ms + _SLACK_MS


def job_of(environ: Mapping[str, str]) -> str:
    """The CI job that an environment belongs to, as a link where there is one; empty outside CI."""
    for name in ("CI_JOB_URL", "BUILDKITE_BUILD_URL", "CIRCLE_BUILD_URL", "BUILD_URL"):
        if environ.get(name):
            return environ[name]
    server, repository, run = (environ.get(f"GITHUB_{part}") for part in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    return f"{server}/{repository}/actions/runs/{run}" if server and repository and run else ""
