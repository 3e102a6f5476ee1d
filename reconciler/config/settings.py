"""The settings of a run as frozen values, free of pydantic, which every later room may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from reconciler.kernel.errors import ConfigError
from reconciler.model.scope import Limits, Scope

KeyPath: TypeAlias = tuple[str | int, ...]


class Layer(StrEnum):
    """Where a value came from; a later one wins."""

    DEFAULT = "default"
    USER = "user"  # $XDG_CONFIG_HOME/reconciler/config.toml
    FILE = "file"  # reconciler.toml, or [tool.reconciler] in pyproject.toml
    ENVIRONMENT = "env"
    FLAG = "flag"


@dataclass(frozen=True, slots=True)
class Origin:
    """`where`: `reconciler.toml:12`, `RECONCILER_LIMITS__SHRINK_PERCENT`, `command line`; empty for a default."""

    layer: Layer
    where: str = ""

    def __str__(self) -> str:
        return self.where or self.layer.value


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSettings:
    """Where Pulumi's state is. `stacks` are patterns `project/stack` of every possible owner.

    `backend_url` None: whatever `pulumi login` chose. `projects`: Pulumi project -> the folder of its Pulumi.yaml,
    for those that are not in `work_dir`. All paths are absolute.
    """

    stacks: tuple[str, ...]
    work_dir: Path
    backend_url: str | None = field(default=None, repr=False)  # a backend's URL may hold a password
    projects: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PulumiSettings:
    """How the Pulumi CLI is run: the command, and deadlines in seconds."""

    command: str = "pulumi"
    export_seconds: int = 120
    preview_seconds: int = 600
    refresh_seconds: int = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """The policy file and its baseline, as absolute paths; None where there is none."""

    file: Path | None = None
    baseline: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSettings:
    """What reports look like where no flag says otherwise. `color`: auto, always, never."""

    format: str = "console"
    color: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that a run is told. `source`: the configuration file, None where there is none. `database_url`: None
    where there is no place for one, which is an error for those who need it only."""

    scopes: tuple[Scope, ...]
    state: StateSettings
    pulumi: PulumiSettings
    output: OutputSettings
    limits: Limits
    database_url: str | None = field(repr=False)
    records_adapter: str = "none"
    policy: PolicySettings = PolicySettings()
    source: Path | None = None

    @property
    def database(self) -> str:
        """The URL. Raises ConfigError RC0127 where there is none."""
        if self.database_url is None:
            raise ConfigError(
                "there is no place for a database: neither HOME nor XDG_STATE_HOME is set",
                code="RC0127",
                hint="Set RECONCILER_DATABASE_URL.",
            )
        return self.database_url
