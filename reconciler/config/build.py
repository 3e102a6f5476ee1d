"""From a checked document to the frozen values that the other rooms take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from reconciler.config.discover import state_folder
from reconciler.config.document import Document, FleetTable, LimitsTable, ScopeTable
from reconciler.config.layers import Layers
from reconciler.config.settings import Layer, OutputSettings, PolicySettings, PulumiSettings, Settings, StateSettings
from reconciler.kernel.errors import ConfigError
from reconciler.kernel.paths import at_home
from reconciler.kernel.text import visible
from reconciler.model.scope import FleetMatch, Limits, Never, Ownership, Rail, Scope

_SQLITE: Final = "sqlite:///"


def build(
    document: Document, layers: Layers, *, source: Path | None, start: Path, environ: Mapping[str, str]
) -> Settings:
    """The settings. Relative paths are relative to the configuration file's folder, or to `start` without a file.

    Raises ConfigError RC0127 when the database URL cannot be found out.
    """
    base = (source.parent if source else start).resolve()
    limits = _limits(document.limits)
    state = document.state
    return Settings(
        scopes=tuple(_scope(document, scope, limits) for scope in document.scope),
        state=StateSettings(
            stacks=tuple(state.stacks),
            work_dir=_path(base, state.work_dir),
            backend_url=state.backend_url,
            projects={name: _path(base, folder) for name, folder in state.projects.items()},
        ),
        pulumi=PulumiSettings(
            command=document.pulumi.command,
            export_seconds=document.pulumi.deadlines.export,
            preview_seconds=document.pulumi.deadlines.preview,
            refresh_seconds=document.pulumi.deadlines.refresh,
        ),
        output=OutputSettings(format=document.output.format, color=document.output.color),
        limits=limits,
        database_url=_database_url(document, layers, base=base, environ=environ),
        records_adapter=document.records.adapter,
        policy=PolicySettings(
            file=_path(base, document.policy.file) if document.policy.file is not None else None,
            baseline=_path(base, document.policy.baseline) if document.policy.baseline is not None else None,
        ),
        source=source,
    )


def _scope(document: Document, table: ScopeTable, limits: Limits) -> Scope:
    only = len(document.scope) == 1
    fleets = [fleet for fleet in document.fleet if fleet.scope == table.name or (only and fleet.scope is None)]
    return Scope(
        name=table.name,
        uuid=table.uuid,
        project=table.project,
        zones=tuple(table.zones),
        stacks=tuple(document.state.stacks),
        ownership=Ownership(table.ownership),
        never=Never(tags=tuple(table.never.tags), names=tuple(table.never.names), ids=tuple(table.never.ids)),
        fleets=tuple(_fleet(fleet) for fleet in fleets),
        grace_seconds=table.grace,
        create_seconds=table.create_deadline,
        limits=limits,
        ip_hour_eur=document.prices.ip_hour,
        sbs_gb_hour_eur=document.prices.sbs_gb_hour,
    )


def _fleet(table: FleetTable) -> FleetMatch:
    return FleetMatch(
        name=table.name,
        controller=table.controller,
        urns=tuple(table.match.urn),
        tags=tuple(table.match.tags),
        names=tuple(table.match.name),
        security_groups=tuple(table.match.security_group),
        require=table.match.require,
        max_create_seconds=table.max_create,
        actions=tuple(sorted(table.actions.items())),
    )


def _limits(table: LimitsTable) -> Limits:
    rail = table.reconcile
    return Limits(
        reconcile=Rail(count=rail.count, percent=rail.percent, eur_month=rail.eur_month),
        per_hour=table.lifecycle.per_hour,
        shrink_percent=table.shrink_percent,
        error_percent=table.error_percent,
        unknown_percent=table.unknown_percent,
        clock_skew_seconds=float(table.clock_skew),
        plan_ttl_seconds=table.plan_ttl,
    )


def _path(base: Path, text: str) -> Path:
    return (base / at_home(text)).resolve()


def _database_url(document: Document, layers: Layers, *, base: Path, environ: Mapping[str, str]) -> str | None:
    ranks = list(Layer)
    url, file = document.database_url, document.database_url_file
    if url and file:  # set in different layers, the higher one wins
        by_file = ranks.index(layers.origin(("database_url_file",)).layer)
        url = url if ranks.index(layers.origin(("database_url",)).layer) > by_file else None
    if url:
        return _anchored(url, base) if layers.origin(("database_url",)).layer in (Layer.FILE, Layer.USER) else url
    if file:
        return _anchored(_from_file(_path(base, file)), base)
    folder = state_folder(environ)
    return f"{_SQLITE}{folder / 'reconciler.db'}" if folder is not None else None


def _from_file(path: Path) -> str:
    try:
        url = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        url, problem = "", f"cannot be read: {reason}"
    else:
        problem = "is empty"
    if url:
        return url
    raise ConfigError(
        f"database_url_file {visible(str(path))} {problem}", code="RC0127", hint="The file holds the URL and no more."
    )


def _anchored(url: str, base: Path) -> str:
    """A relative SQLite path in a file means the file's folder, wherever the command is run."""
    path = url.removeprefix(_SQLITE)
    relative = url.startswith(_SQLITE) and path and not path.startswith(("/", ":", "file:"))
    return f"{_SQLITE}{base / path}" if relative else url
