"""What `doctor` looks at: one function per concern, each giving findings about the installation instead of raising.

A check says `ok`, `warn` (it works, but not as it should), `fail` (a command will not work) or `skip` (it could not be
asked, because something before it failed). Only a `fail` changes the exit status.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from reconciler.cli.composition import Runtime
from reconciler.kernel.clock import iso
from reconciler.kernel.errors import EXIT_ERROR, EXIT_OK, ReconcilerError
from reconciler.model.resources import Kind
from reconciler.model.scope import Scope
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine, EngineInfo

OK: Final = "ok"
WARN: Final = "warn"
FAIL: Final = "fail"
SKIP: Final = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One answer. `hint` is empty where there is nothing to do; `exit_status` is 0 unless the check failed."""

    name: str
    status: str
    text: str
    hint: str = ""
    exit_status: int = EXIT_OK


def failed(name: str, error: ReconcilerError) -> Check:
    return Check(
        name=name,
        status=FAIL,
        text=f"{error.code}: {error.message}",
        hint=error.hint,
        exit_status=error.exit_status or EXIT_ERROR,
    )


def all_checks(runtime: Runtime) -> Iterator[Check]:
    """Every check, in an order in which the first failure explains the later ones."""
    yield from guarded("tools", lambda: tools(runtime.engine().info()))
    if not runtime.settings.scopes:
        hint = "`reconciler config init` writes a commented reconciler.toml."
        yield Check(name="configuration", status=WARN, text="no scope is declared", hint=hint)
    for scope in runtime.scopes(()):
        yield from guarded(f"{scope.name}: provider", lambda scope=scope: provider(runtime, scope))  # type: ignore[misc]
        yield from guarded(f"{scope.name}: state", lambda scope=scope: state(runtime.engine(), scope))  # type: ignore[misc]
    yield from guarded("database", lambda: database(runtime))


def guarded(name: str, ask: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    """The answers of one check, and its error as one more."""
    try:
        yield from ask()
    except ReconcilerError as error:
        yield failed(name, error)


# -- tools


def tools(info: EngineInfo) -> Iterator[Check]:
    """The Pulumi CLI and the Scaleway plugin: where from, which version, and whether they fit."""
    if info.cli_path is None:
        yield Check(
            name="pulumi",
            status=FAIL,
            text="not found",
            hint="Install Pulumi (https://www.pulumi.com/docs/install/) and put it on PATH.",
            exit_status=EXIT_ERROR,
        )
    else:
        yield Check(name="pulumi", status=OK, text=f"{info.cli_version or 'unknown version'} at {info.cli_path}")
    if info.plugin_path is None:
        yield Check(
            name="scaleway plugin",
            status=WARN,
            text="not found",
            hint="`pulumi plugin install resource scaleway`; `drift` works without it, a refresh does not.",
        )
    else:
        where = f"{info.plugin_version or 'unknown version'} at {info.plugin_path}"
        yield Check(name="scaleway plugin", status=OK, text=f"{where} ({info.source or 'source unknown'})")
    yield from skew(info)


def skew(info: EngineInfo) -> Iterator[Check]:
    """An SDK that is newer than the plugin asks for properties that the plugin does not know."""
    if info.sdk_version is None or info.plugin_version is None:
        return
    sdk, plugin = _minor(info.sdk_version), _minor(info.plugin_version)
    if sdk != plugin:
        yield Check(
            name="versions",
            status=WARN,
            text=f"the Scaleway SDK is {info.sdk_version}, the plugin {info.plugin_version}",
            hint="Use the same minor version of both, or the program may ask for what the plugin does not know.",
        )


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


# -- provider


def provider(runtime: Runtime, scope: Scope) -> Iterator[Check]:
    """The key, the zones and the clock."""
    name = f"{scope.name}: provider"
    cloud = runtime.cloud(scope)
    cloud.check_credentials()
    yield Check(name=name, status=OK, text=f"the key is accepted for project {cloud.project}")
    yield from zones(cloud, scope)
    yield clock(cloud, scope)


def zones(cloud: Cloud, scope: Scope) -> Iterator[Check]:
    scans = [cloud.scan(Kind.SERVER, zone) for zone in scope.zones]
    name = f"{scope.name}: zones"
    broken = [scan for scan in scans if scan.offered and not scan.complete]
    for scan in broken:
        yield Check(
            name=name,
            status=FAIL,
            text=f"{scan.zone}: {scan.reason or 'not read'}",
            hint="Grant the key InstancesReadOnly there, or leave the zone out of the scope.",
            exit_status=EXIT_ERROR,
        )
    elsewhere = [scan.zone for scan in scans if not scan.offered]
    text = f"{len(scans) - len(broken) - len(elsewhere)} of {len(scans)} zones answer"
    yield Check(name=name, status=OK, text=text + (f"; not offered: {', '.join(elsewhere)}" if elsewhere else ""))


def clock(cloud: Cloud, scope: Scope) -> Check:
    name, skew_seconds = f"{scope.name}: clock", cloud.health().skew_seconds
    limit = scope.limits.clock_skew_seconds
    if skew_seconds is None:
        return Check(name=name, status=SKIP, text="the API said no time")
    text = f"{skew_seconds:+.1f} s from the API's clock"
    if abs(skew_seconds) > limit:
        return Check(
            name=name,
            status=FAIL,
            text=f"{text}, more than {limit:g} s",
            hint="Set this machine's clock (NTP): ages and graces are measured with it.",
            exit_status=EXIT_ERROR,
        )
    return Check(name=name, status=OK, text=text)


# -- state


def state(engine: Engine, scope: Scope) -> Iterator[Check]:
    """Every stack that may own something: readable, and not locked for long."""
    name = f"{scope.name}: state"
    if not scope.stacks:
        yield Check(
            name=name, status=WARN, text="no stack is listed", hint="List every possible owner in [state] stacks."
        )
        return
    stacks = engine.stacks(scope.stacks)
    yield Check(name=name, status=OK if stacks else WARN, text=f"the backend answers; {len(stacks)} stack(s) match")
    for stack in stacks:
        try:
            read = engine.read(stack)
        except ReconcilerError as error:
            yield failed(f"{name} {stack}", error)
            continue
        yield Check(name=f"{name} {stack}", status=OK, text=f"{len(read.resources)} resources")
        for lock in read.locks:
            since = f" since {iso(lock.created_ms)}" if lock.created_ms is not None else ""
            pid = f" (pid {lock.pid})" if lock.pid is not None else ""
            yield Check(
                name=f"{name} {stack}",
                status=WARN,
                text=f"locked by {lock.created_by}{pid}{since}",
                hint="A running `pulumi up`, or one that was killed: `pulumi cancel` clears the latter.",
            )
        if read.pending:
            names = ", ".join(f"{op.operation} {op.resource.name}" for op in read.pending[:3])
            yield Check(
                name=f"{name} {stack}",
                status=WARN,
                text=f"{len(read.pending)} interrupted operation(s): {names}",
                hint="`reconciler drift` says what became of each; do not run `pulumi up` before that.",
            )


# -- database


def database(runtime: Runtime) -> Iterator[Check]:
    """Reachable, of the schema that this version knows, and what is still open in it."""
    said = runtime.schema()
    if said is None:
        yield Check(name="database", status=OK, text="none yet: the first `drift`, `plan` or `apply` makes it")
        return
    store = runtime.store()
    yield Check(name="database", status=OK, text=said)
    for scope in runtime.scopes(()):
        name = f"{scope.name}: database"
        memory = store.memory(scope.uuid)
        since = memory.first_complete_ms
        text = f"remembers complete sweeps since {iso(since)}" if since is not None else "no complete sweep yet"
        yield Check(name=name, status=OK, text=text)
        lease = runtime.lease(scope)
        if lease is not None:
            ended = runtime.clock.now_ms() > lease.expires_ms
            state = f"expired at {iso(lease.expires_ms)}" if ended else "an `apply` is at work"
            yield Check(name=name, status=OK, text=f"the lease is {lease.holder}'s: {state}")
        run = store.unfinished_run(scope.uuid)
        if run is not None:
            yield Check(
                name=name,
                status=WARN,
                text=f"run {run.run_id} of {iso(run.started_ms)} is not finished",
                hint="`reconciler apply` goes on with it first.",
            )
        waiting = store.open_deletions(scope.uuid)
        if waiting:
            yield Check(name=name, status=OK, text=f"{len(waiting)} decided deletion(s) not yet proved gone")
