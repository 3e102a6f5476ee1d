"""`pulumi state delete` of exactly these URNs: out of the state, never out of the cloud.

The CLI takes several URNs in one write, in any order, and refuses what something else depends on and, without
`--force`, what is protected (all tried). `--target-dependents` is never passed: what goes is what was named, so that
nobody loses an entry that he was not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from reconciler.engine.checkpoint import Checkpoint
from reconciler.engine.cli import PulumiCli
from reconciler.engine.failures import failure
from reconciler.engine.project import project_directory
from reconciler.engine.stacks import StackName
from reconciler.kernel.errors import EngineError, RefusedError
from reconciler.kernel.text import visible
from reconciler.model.dependants import dependants

_SHOWN: Final = 3
_OnStart = Callable[[int, int, tuple[str, ...]], None]


def require_releasable(name: StackName, state: Checkpoint, urns: Collection[str], *, force: bool) -> None:
    """Raises RefusedError RC0680 (pending operations), RC0681 (no such entry), RC0682 (protected), RC0683 (something
    depends on it), RC0684 (a replace is half done)."""
    if state.pending:
        raise _refused(
            f"{name.short} has {len(state.pending)} interrupted operation(s)",
            code="RC0680",
            hint="Settle them first: they say what an interrupted run was doing to these resources.",
        )
    entries = {item.urn: item for item in state.resources if not item.pending_delete}
    unknown = sorted(urn for urn in urns if urn not in entries or "*" in urn)
    if unknown:
        raise _refused(f"{name.short} has no entry {visible(unknown[0])}", code="RC0681", hint="Read it again.")
    half = sorted(item.urn for item in state.resources if item.pending_delete and item.urn in urns)
    if half:
        raise _refused(
            f"{visible(half[0])} is there twice: a replace was not finished",
            code="RC0684",
            hint="`pulumi up` finishes it.",
        )
    kept = sorted(urn for urn in urns if entries[urn].protect)
    if kept and not force:
        raise _refused(f"{_told(kept)} is protected in the state", code="RC0682", hint="`--force` releases it anyway.")
    left = dependants(state.resources, urns)
    if left:
        raise _refused(
            f"{_told(left)} depends on what is to be released",
            code="RC0683",
            hint="Release it as well: `--with-dependants`.",
        )


def state_delete(
    cli: PulumiCli,
    name: StackName,
    urns: Collection[str],
    *,
    state: Checkpoint,
    force: bool,
    on_start: _OnStart,
) -> float:
    """For how long the child ran. Raises RefusedError RC0611 (locked), RC0685 (the CLI refused), EngineError."""
    mark = cli.new_mark()
    argv = ["state", "delete", *sorted(urns), "--yes", *(["--force"] if force else []), "--stack", str(name)]
    with project_directory(name, state.secrets, configured={}, default=cli.directory) as directory:
        finished = cli.stream(
            argv,
            cwd=directory,
            env=cli.environment(mark=mark),
            deadline_seconds=cli.limits.refresh_seconds,
            on_line=lambda _: None,
            on_start=on_start,
        )
    if finished.status != 0 and "can't be safely deleted" in finished.stderr:
        raise _refused(
            f"Pulumi refuses to let go: {cli.scrubber.message(finished.stderr)}",
            code="RC0685",
            hint="Nothing was written.",
        )
    if finished.timed_out or finished.status != 0:
        raise failure(finished, what="`pulumi state delete`", scrubber=cli.scrubber)
    return finished.seconds


def require_exact(name: StackName, before: Checkpoint, after: Checkpoint, urns: Collection[str]) -> None:
    """What left the state is what was named. Raises EngineError RC0571."""
    had, has = ({item.urn for item in one.resources} for one in (before, after))
    wrong = sorted((had - has) ^ set(urns))
    if wrong:
        raise EngineError(
            f"{name.short}: `pulumi state delete` did something else than it was asked for ({_told(wrong)})",
            code="RC0571",
            hint="The state before is in the backend's history. Nothing was changed in the cloud.",
        )


def _told(urns: Collection[str]) -> str:
    names = [urn.rpartition("::")[2] for urn in list(urns)[:_SHOWN]]
    more = f" and {len(urns) - _SHOWN} more" if len(urns) > _SHOWN else ""
    return visible(", ".join(names)) + more


def _refused(what: str, *, code: str, hint: str) -> RefusedError:
    return RefusedError(what, code=code, hint=hint)
