"""`Pulumi.<stack>.yaml`, checked before anything is registered.

All keys are under `reconciler:`. Every mistake is named by its key path (`reconciler:fleets[0].root.size_gb`), all of
them in one error, and the program stops before it has registered a resource: a half-declared stack would look to
Pulumi like a wish to delete the other half. Values are never repeated in an error, because a fleet may hold a secret.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import pulumi
from pulumi.runtime import is_config_secret
from pulumi.runtime.config import CONFIG, get_config_env
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from reconciler_fleet.policy import mistakes_in, plain
from reconciler_fleet.spec import ExtraVolume, NewPrivateNetwork, RootVolume, WorkerFleetArgs, check_bounds
from reconciler_fleet.vocabulary import check_iops, check_name, check_scope, check_size, check_tag, check_zone

NAMESPACE: Final = "reconciler"
_OBJECTS: Final = {"fleets": "a list of fleets", "policy": "a policy"}


class FleetConfigError(pulumi.RunError):
    """The stack's configuration is wrong; the message has one line per mistake, each with its key path."""


def _no_bool(value: object) -> object:
    # `replicas: yes` is a mistake and not one machine; without this, true counts as 1.
    if isinstance(value, bool):
        raise ValueError("a number, not true or false")
    return value


_Whole = Annotated[int, BeforeValidator(_no_bool)]
_Name = Annotated[str, AfterValidator(check_name)]
_Iops = Annotated[_Whole, AfterValidator(check_iops)]
_Size = Annotated[_Whole, AfterValidator(check_size)]
_Text = Annotated[str, Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class RootTable(_Table):
    size_gb: _Size = 20
    iops: _Iops | None = None


class VolumeTable(_Table):
    name: _Name
    size_gb: _Size
    iops: _Iops = 5000


class FleetTable(_Table):
    """One entry of `reconciler:fleets`."""

    name: _Name
    zone: Annotated[str, AfterValidator(check_zone)]
    type: _Text
    image: _Text
    replicas: _Whole | None = None
    min: _Whole | None = None
    max: _Whole | None = None
    root: RootTable = Field(default_factory=RootTable)
    volumes: list[VolumeTable] = Field(default_factory=list)
    public_ip: Literal["flexible", "none"] = "flexible"
    private_network: _Text | None = None
    security_group_id: _Text | None = None
    placement_group_id: _Text | None = None
    cloud_init: _Text | None = None
    cloud_init_file: _Text | None = None
    tags: list[Annotated[str, AfterValidator(check_tag)]] = Field(default_factory=list)
    protect: bool = False
    protected: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> FleetTable:
        check_bounds(replicas=self.replicas, minimum=self.min, maximum=self.max)
        if self.cloud_init is not None and self.cloud_init_file is not None:
            raise ValueError("`cloud_init` and `cloud_init_file` exclude each other")
        names = [volume.name for volume in self.volumes]
        if len(set(names)) != len(names):
            raise ValueError("two extra volumes have the same name")
        return self


class StackConfig(_Table):
    """Everything under `reconciler:`. `scope` is needed as soon as there is a fleet."""

    scope: Annotated[str, AfterValidator(check_scope)] | None = None
    fleets: list[FleetTable] = Field(default_factory=list)
    policy: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _scoped(self) -> StackConfig:
        if (self.fleets or self.policy is not None) and self.scope is None:
            raise ValueError("`reconciler:scope` is missing; `reconciler config init` writes one")
        names = [fleet.name for fleet in self.fleets]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"two fleets have the same name: {', '.join(repeated)}")
        return self


def load(root: Path) -> tuple[StackConfig, list[tuple[str, WorkerFleetArgs]]]:
    """The stack's configuration and its fleets as (name, arguments). `root` is the folder of Pulumi.yaml.

    Raises FleetConfigError.
    """
    config = parse(_raw())
    if config.policy is not None and is_config_secret(f"{NAMESPACE}:policy"):
        raise FleetConfigError(f"{NAMESPACE}:policy: it is a secret, and a policy is in an output that is none")
    secret = is_config_secret(f"{NAMESPACE}:fleets")
    indexed = enumerate(config.fleets)
    return config, [(fleet.name, to_args(config, index, root=root, secret=secret)) for index, fleet in indexed]


def parse(raw: Mapping[str, Any]) -> StackConfig:
    """`raw`: key without the namespace -> value. Raises FleetConfigError that names every wrong key."""
    lines: list[str] = []
    try:
        config = StackConfig.model_validate(dict(raw))
    except ValidationError as error:
        lines = [_explain(problem) for problem in error.errors(include_url=False, include_input=False)]
    if raw.get("policy") is not None:
        lines += [f"{key_path(('policy',))}.{text}" for text in mistakes_in(plain(raw["policy"]))]
    if lines:
        raise FleetConfigError("\n  ".join(["the configuration of this stack is wrong:", *lines])) from None
    return config


def to_args(config: StackConfig, index: int, *, root: Path, secret: bool) -> WorkerFleetArgs:
    """The arguments of one fleet. `secret`: some value of the fleets is a secret; Pulumi does not say which, so every
    inline cloud-init is treated as one."""
    table = config.fleets[index]
    text: pulumi.Input[str] | None = table.cloud_init
    if table.cloud_init_file is not None:
        text = _read(root / table.cloud_init_file, key=f"{NAMESPACE}:fleets[{index}].cloud_init_file")
    elif table.cloud_init is not None and secret:
        text = pulumi.Output.secret(table.cloud_init)
    return WorkerFleetArgs(
        scope=config.scope or "",
        zone=table.zone,
        type=table.type,
        image=table.image,
        replicas=table.replicas,
        minimum=table.min,
        maximum=table.max,
        root=RootVolume(size_gb=table.root.size_gb, iops=table.root.iops),
        volumes=tuple(ExtraVolume(name=v.name, size_gb=v.size_gb, iops=v.iops) for v in table.volumes),
        public_ip=table.public_ip == "flexible",
        private_network=NewPrivateNetwork() if table.private_network == "create" else table.private_network,
        security_group_id=table.security_group_id,
        placement_group_id=table.placement_group_id,
        cloud_init=text,
        tags=tuple(table.tags),
        protect=table.protect,
        protected=table.protected,
    )


def _raw() -> dict[str, Any]:
    """Every key under the namespace, so that a misspelt one is an error and not a fleet that silently is not there."""
    config = pulumi.Config(NAMESPACE)
    names = {key.partition(":")[2] for key in {**get_config_env(), **CONFIG.get()} if key.startswith(f"{NAMESPACE}:")}
    raw: dict[str, Any] = {}
    for name in sorted(names):
        try:
            raw[name] = config.get_object(name) if name in _OBJECTS else config.get(name)
        except pulumi.ConfigTypeError:
            # Pulumi's own error repeats the value, which may be a secret.
            raise FleetConfigError(f"{NAMESPACE}:{name}: this is not {_OBJECTS[name]}") from None
    return raw


def _read(path: Path, *, key: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FleetConfigError(f"{key}: cannot read {path}: {reason}") from None


def _explain(problem: Mapping[str, Any]) -> str:
    where = key_path(problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{where}: unknown key{_closest(problem['loc'])}"
    if problem["type"] == "missing":
        return f"{where}: this key is missing"
    return f"{where}: {problem['msg'].removeprefix('Value error, ')}"


def key_path(location: Sequence[int | str]) -> str:
    """`reconciler:fleets[0].root.size_gb`."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return f"{NAMESPACE}:{path.lstrip('.')}" if path else NAMESPACE


def _closest(location: Sequence[int | str]) -> str:
    tables: dict[tuple[str, ...], type[_Table]] = {
        (): StackConfig,
        ("fleets",): FleetTable,
        ("fleets", "root"): RootTable,
        ("fleets", "volumes"): VolumeTable,
    }
    names = [part for part in location if isinstance(part, str)]
    table = tables.get(tuple(names[:-1]))
    close = difflib.get_close_matches(names[-1], list(table.model_fields), n=1) if table else []
    return f"; did you mean `{close[0]}`?" if close else ""
