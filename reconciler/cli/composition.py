"""The composition root: the one place that knows which implementation stands behind which port.

A command asks `open_runtime` for a `Runtime` and speaks ports from then on. `Adapters` makes the real world out of
the settings; tests and cases hand in their own through `main(argv, adapters=...)`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import click

from reconciler.cli import logs
from reconciler.cli.options import Globals
from reconciler.config.settings import Settings
from reconciler.kernel.clock import Clock, clock_from_environment
from reconciler.kernel.errors import ReconcilerError, UsageError
from reconciler.kernel.executor import Executor, ThreadExecutor
from reconciler.kernel.ids import Ids
from reconciler.kernel.paths import at_home
from reconciler.kernel.randomness import Randomness, SystemRandomness
from reconciler.model.policy import Policies
from reconciler.model.scope import Scope
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine
from reconciler.ports.records import Records
from reconciler.ports.store import Lease, Store

_WORKERS = 8  # threads of one fan-out; the rate budget of the API bounds what they send


class Adapters(Protocol):
    """Makes the world. Each call may raise what the port's implementation raises when it is made."""

    def clock(self) -> Clock: ...

    def randomness(self) -> Randomness: ...

    def executor(self) -> Executor: ...

    def settings(self, options: Globals, *, need_scopes: bool) -> Settings: ...

    def cloud(self, scope: Scope, runtime: Runtime) -> Cloud: ...

    def engine(self, runtime: Runtime) -> Engine: ...

    def store(self, runtime: Runtime) -> Store: ...

    def records(self, runtime: Runtime, store: Store | None, reason: str | None) -> Records:
        """The rows of workers. `store` None: there is no database, for this reason."""
        ...

    def schema(self, runtime: Runtime) -> str | None:
        """The database and its schema in words; None where there is none yet and the first use makes one."""
        ...

    def lease(self, scope: Scope, runtime: Runtime) -> Lease | None:
        """Who may write for a scope, whether the lease has expired or not; None when nobody does. Takes nothing."""
        ...


class RealWorld:
    """Scaleway over HTTP, the Pulumi CLI, a SQL database, the machine's clock."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    def clock(self) -> Clock:
        return clock_from_environment()

    def randomness(self) -> Randomness:
        return SystemRandomness()

    def executor(self) -> Executor:
        return ThreadExecutor(workers=_WORKERS)

    def settings(self, options: Globals, *, need_scopes: bool) -> Settings:
        from reconciler.config.load import load_settings

        flags = {"output.color": options.color}
        return load_settings(
            Path.cwd(), environ=self._environ, config=options.config, flags=flags, need_scopes=need_scopes
        )

    def cloud(self, scope: Scope, runtime: Runtime) -> Cloud:
        from reconciler.cloud import ScalewayCloud, load_credentials

        credentials = load_credentials(self._environ, project=scope.project)
        return ScalewayCloud(credentials, clock=runtime.clock, randomness=runtime.randomness, executor=runtime.executor)

    def engine(self, runtime: Runtime) -> Engine:
        from reconciler.engine.adapter import PulumiEngine
        from reconciler.engine.cli import EngineLimits

        settings = runtime.settings
        deadlines = settings.pulumi
        return PulumiEngine(
            backend=settings.state.backend_url,
            work_dirs=settings.state.projects,
            directory=settings.state.work_dir,
            env=_with_command(self._environ, deadlines.command),
            api_url=self._api_url(),
            clock=runtime.clock,
            randomness=runtime.randomness,
            limits=EngineLimits(
                read_seconds=deadlines.export_seconds,
                preview_seconds=deadlines.preview_seconds,
                refresh_seconds=deadlines.refresh_seconds,
            ),
        )

    def _api_url(self) -> str:
        """The API that the key's profile names; the public one where there is no usable key, which others report."""
        from reconciler.cloud import load_credentials
        from reconciler.cloud.credentials import DEFAULT_API_URL

        try:
            return load_credentials(self._environ).api_url
        except ReconcilerError:
            return DEFAULT_API_URL

    def store(self, runtime: Runtime) -> Store:
        from reconciler.store import open_store

        return open_store(runtime.settings.database, clock=runtime.clock, ids=runtime.ids, create=True)

    def records(self, runtime: Runtime, store: Store | None, reason: str | None) -> Records:
        return make_records(runtime.settings.records_adapter, store, reason)

    def schema(self, runtime: Runtime) -> str | None:
        from reconciler.store import current

        version = current(runtime.settings.database)
        if version.found is None and version.where.startswith("sqlite"):
            return None
        return f"{version.where} has schema {version.found or 'none'}, this version knows {version.head}"

    def lease(self, scope: Scope, runtime: Runtime) -> Lease | None:
        from sqlalchemy import select

        from reconciler.store import SqlStore
        from reconciler.store.tables import leases

        store = runtime.store()
        assert isinstance(store, SqlStore)  # made above
        statement = select(leases).where(leases.c.name == lease_name(scope), leases.c.holder.is_not(None))
        row = store.database.read("lease_holder", lambda connection: connection.execute(statement).one_or_none())
        if row is None:
            return None
        return Lease(name=row.name, holder=row.holder, token=row.token, expires_ms=row.expires_ms)


def _no_checkpoint(_: str) -> None:
    """What happens at a checkpoint of a real run."""


def make_records(adapter: str, store: Store | None, reason: str | None) -> Records:
    """The adapter of this name. Rows that are expected and out of reach are no missing rows: reading them fails."""
    from reconciler.records.none import NoRecords, UnavailableRecords

    if adapter == "none":
        return NoRecords()
    from reconciler.store import SqlStore

    if not isinstance(store, SqlStore):
        return UnavailableRecords(adapter, reason or "there is no database")
    from reconciler.records.native import NativeRecords

    return NativeRecords(store)


def _with_command(environ: Mapping[str, str], command: str) -> Mapping[str, str]:
    """The environment in which `pulumi` means the configured command, which may be a path."""
    path = at_home(command)
    if path.name == command:
        return environ
    return {**environ, "PATH": os.pathsep.join(filter(None, (str(path.parent), environ.get("PATH", ""))))}


class Runtime:
    """Everything that a command needs, made when it is first asked for and then kept."""

    def __init__(self, adapters: Adapters, settings: Settings) -> None:
        self._adapters = adapters
        self.settings = settings
        # Told of each step that the journal of an `apply` holds. Only a case has one, which may end the process there.
        self.checkpoint: Callable[[str], None] = getattr(adapters, "checkpoint", _no_checkpoint)
        self.clock = adapters.clock()
        self.randomness = adapters.randomness()
        self.executor = adapters.executor()
        self.ids = Ids(clock=self.clock, randomness=self.randomness)
        self._engine: Engine | None = None
        self._store: Store | None = None
        self._clouds: dict[str, Cloud] = {}
        self._policies: Policies | None = None

    def scopes(self, names: Sequence[str]) -> tuple[Scope, ...]:
        """The scopes of these names, all without one. Raises UsageError RC0109 for a name that is none."""
        known = {scope.name: scope for scope in self.settings.scopes}
        missing = [name for name in names if name not in known]
        if missing:
            raise UsageError(
                f"there is no scope named {missing[0]!r}",
                code="RC0109",
                hint=f"The configuration declares {', '.join(sorted(known)) or 'none'}.",
            )
        return tuple(known[name] for name in dict.fromkeys(names)) if names else self.settings.scopes

    def cloud(self, scope: Scope) -> Cloud:
        if scope.uuid not in self._clouds:
            self._clouds[scope.uuid] = self._adapters.cloud(scope, self)
        return self._clouds[scope.uuid]

    def engine(self) -> Engine:
        if self._engine is None:
            self._engine = self._adapters.engine(self)
        return self._engine

    def policies(self) -> Policies:
        """The configured policy with its baseline, read once. Raises ConfigError for a file that is wrong."""
        if self._policies is None:
            chosen = self.settings.policy
            self._policies = load_policies(chosen.file, chosen.baseline)
        return self._policies

    def schema(self) -> str | None:
        """See `Adapters.schema`."""
        return self._adapters.schema(self)

    def lease(self, scope: Scope) -> Lease | None:
        """See `Adapters.lease`."""
        return self._adapters.lease(scope, self)

    def store(self) -> Store:
        """The database, opened once. Raises StoreError when it is down, or of a schema that is not ours."""
        if self._store is None:
            self._store = self._adapters.store(self)
        return self._store

    def records(self, store: Store | None, reason: str | None = None) -> Records:
        """The rows of workers, behind the configured adapter; see `Adapters.records`."""
        return self._adapters.records(self, store, reason)

    def close(self) -> None:
        """Give back what holds connections; which ports do is their implementations' business."""
        for made in (*self._clouds.values(), self._store):
            close = getattr(made, "close", None)
            if close is not None:
                close()


def load_policies(file: Path | None, baseline: Path | None) -> Policies:
    """Raises ConfigError for a file that is wrong."""
    if file is None and baseline is None:
        return Policies()
    from reconciler.policy.baseline import load_baseline
    from reconciler.policy.decode import load_policy

    return Policies(
        configured=load_policy(file) if file is not None else None,
        baseline=load_baseline(baseline) if baseline is not None else (),
    )


def open_runtime(options: Globals, *, need_scopes: bool = True) -> Runtime:
    """Read the settings and be ready; nothing is contacted yet. Connections are given back when the command ends."""
    logs.configure(verbose=options.verbose)
    adapters = options.adapters or RealWorld()
    settings = adapters.settings(options, need_scopes=need_scopes)
    options.color = options.color or settings.output.color
    runtime = Runtime(adapters, settings)
    click.get_current_context().call_on_close(runtime.close)
    return runtime


def lease_name(scope: Scope) -> str:
    """The one lease of a scope; the apply room takes it under the same name."""
    return f"apply:{scope.uuid}"


def holder() -> str:
    """Who holds a lease, in words that help to find the process."""
    return f"{socket.gethostname()}:{os.getpid()}"
