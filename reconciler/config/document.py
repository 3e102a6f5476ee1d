"""The configuration document as pydantic reads it: every key, its type, its default.

Strict, because leniency would hide a mistake where it hurts: `count = true` is no 1, `percent = nan` is no limit, a
misspelt key is not a comment. Errors never repeat a value, since any of them may be a secret in the wrong place. What
takes two keys to see (a grace shorter than a create, a fleet of no scope) is in checks.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from reconciler.config.durations import seconds
from reconciler.model.finding import FindingKind
from reconciler.model.resources import Kind
from reconciler.model.scope import KNOWN_ZONES, FleetMatch, Limits, Scope

# The defaults are the model's; repeated here they would drift apart.
_LIMITS: Final = Limits()
_SCOPE: Final[dict[str, Any]] = {field.name: field.default for field in fields(Scope)}
_FLEET: Final[dict[str, Any]] = {field.name: field.default for field in fields(FleetMatch)}
_STACK: Final = re.compile(r"[^/\s]+(/[^/\s]+){1,2}")

# What may be chosen for a finding beside `ask` and `none`. Destruction is a choice only where something is left over.
_CHOICES: Final = {
    FindingKind.MISSING: ("refresh",),
    FindingKind.CHANGED: ("refresh", "tag"),
    FindingKind.ORPHAN: ("adopt", "destroy"),
    FindingKind.DETACHED: ("destroy",),
    FindingKind.DUPLICATE: ("destroy",),
    FindingKind.UNTAGGED_CHILD: ("tag",),
    FindingKind.INTERRUPTED: ("adopt",),
    FindingKind.STALE_ROW: ("destroy",),
}


class UnknownZoneError(ValueError):
    """Zones that are none; they are no secret, and may be named."""

    def __init__(self, zones: list[str]) -> None:
        super().__init__("unknown zone")
        self.zones = zones


class AdapterUnavailableError(ValueError):
    """A records adapter of another version."""


class ActionError(ValueError):
    """A wrong entry of `actions`. `choices`: what it may be; empty when the key itself is unknown."""

    def __init__(self, message: str, *, key: str, choices: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.key, self.choices = key, choices


def action_choices() -> dict[str, tuple[str, ...]]:
    """Key of `actions` -> what it may be: a finding kind, or a kind with the resource it is about."""
    found: dict[str, tuple[str, ...]] = {}
    for kind, choices in _CHOICES.items():
        name = kind.value.replace("-", "_")
        for key in (name, *(f"{name}_{resource.value}" for resource in Kind)):
            found[key] = ("ask", "none", *choices)
    return found


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _zones(value: object) -> object:
    return list(KNOWN_ZONES) if value == "all" else value


def _known_zones(zones: list[str]) -> list[str]:
    unknown = [zone for zone in zones if zone not in KNOWN_ZONES]
    if unknown:
        raise UnknownZoneError(unknown)
    return list(dict.fromkeys(zones))


def _uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise ValueError("this is not a uuid") from None


def _stack(pattern: str) -> str:
    if not _STACK.fullmatch(pattern):
        raise ValueError("a stack is `project/stack` or `organization/project/stack`; `*` matches within a part")
    return pattern


def _url(text: str) -> str:
    if "://" not in text:
        raise ValueError("a URL has a scheme, as in `file:///var/lib/pulumi` or `s3://bucket`")
    return text


def _adapter(name: str) -> str:
    if name in ("sql", "garm"):
        raise AdapterUnavailableError("this records adapter is not available in this version")
    if name not in ("native", "none"):
        raise ValueError("the records adapter is `native` or `none`")
    return name


def _controller(name: str) -> str:
    if name == "elastic":
        raise ValueError("an elastic fleet is declared by a program (`WorkerFleet` with `min` and `max`), not here")
    if name not in ("external", "static"):
        raise ValueError("a fleet that is declared here is `external` or `static`")
    return name


def _actions(actions: dict[str, str]) -> dict[str, str]:
    choices = action_choices()
    for key, action in actions.items():
        if key not in choices:
            raise ActionError("unknown finding", key=key)
        if action not in choices[key]:
            raise ActionError("no action for this finding", key=key, choices=choices[key])
    return actions


def _text(value: str) -> str:
    if value != value.strip() or not value.isprintable():
        raise ValueError("spaces at either end and control characters are not taken")
    return value


Text = Annotated[str, Field(min_length=1), AfterValidator(_text)]
Name = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_text)]
Uuid = Annotated[str, AfterValidator(_uuid)]
Duration = Annotated[int, BeforeValidator(seconds, json_schema_input_type=int | str)]
Count = Annotated[int, Field(ge=0)]
Percent = Annotated[float, Field(ge=0, le=100)]
Money = Annotated[float, Field(ge=0)]
Texts = Annotated[list[Text], BeforeValidator(_listed, json_schema_input_type=str | list[str])]

Zones = Annotated[
    list[Text],
    BeforeValidator(_zones, json_schema_input_type=Literal["all"] | list[str]),
    Field(min_length=1),
    AfterValidator(_known_zones),
]


class Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)


class StateTable(Table):
    stacks: list[Annotated[Text, AfterValidator(_stack)]] = Field(default_factory=list)
    backend_url: Annotated[Text, AfterValidator(_url)] | None = None
    work_dir: Text = "."
    projects: dict[Text, Text] = Field(default_factory=dict)


class NeverTable(Table):
    tags: list[Text] = Field(default_factory=list)
    names: list[Text] = Field(default_factory=list)
    ids: list[Text] = Field(default_factory=list)


class ScopeTable(Table):
    name: Name
    uuid: Uuid
    project: Uuid
    zones: Zones = Field(default_factory=lambda: list(KNOWN_ZONES))
    ownership: Literal["two-proofs", "tags"] = "two-proofs"
    never: NeverTable = Field(default_factory=NeverTable)
    grace: Duration = _SCOPE["grace_seconds"]
    create_deadline: Duration = _SCOPE["create_seconds"]


class MatchTable(Table):
    urn: Texts = Field(default_factory=list)
    tags: Texts = Field(default_factory=list)
    name: Texts = Field(default_factory=list)
    security_group: Texts = Field(default_factory=list)
    require: Annotated[int, Field(ge=1, le=4)] = _FLEET["require"]


class FleetTable(Table):
    name: Name
    scope: Name | None = None
    controller: Annotated[str, AfterValidator(_controller)] = "external"
    match: MatchTable
    max_create: Duration = _FLEET["max_create_seconds"]
    actions: Annotated[dict[str, str], AfterValidator(_actions)] = Field(default_factory=dict)


class RecordsTable(Table):
    adapter: Annotated[str, AfterValidator(_adapter)] = "none"


class PolicyTable(Table):
    file: Text | None = None
    baseline: Text | None = None


class ReconcileTable(Table):
    count: Count = _LIMITS.reconcile.count
    percent: Percent = _LIMITS.reconcile.percent
    eur_month: Money = _LIMITS.reconcile.eur_month


class LifecycleTable(Table):
    per_hour: Count = _LIMITS.per_hour


class LimitsTable(Table):
    reconcile: ReconcileTable = Field(default_factory=ReconcileTable)
    lifecycle: LifecycleTable = Field(default_factory=LifecycleTable)
    shrink_percent: Percent = _LIMITS.shrink_percent
    error_percent: Percent = _LIMITS.error_percent
    unknown_percent: Percent = _LIMITS.unknown_percent
    clock_skew: Duration = int(_LIMITS.clock_skew_seconds)
    plan_ttl: Duration = _LIMITS.plan_ttl_seconds


class PricesTable(Table):
    ip_hour: Money = _SCOPE["ip_hour_eur"]
    sbs_gb_hour: Money = _SCOPE["sbs_gb_hour_eur"]


class DeadlinesTable(Table):
    export: Annotated[Duration, Field(ge=1)] = 120
    preview: Annotated[Duration, Field(ge=1)] = 600
    refresh: Annotated[Duration, Field(ge=1)] = 1800


class PulumiTable(Table):
    command: Text = "pulumi"
    deadlines: DeadlinesTable = Field(default_factory=DeadlinesTable)


class OutputTable(Table):
    format: Text = "console"
    color: Literal["auto", "always", "never"] = "auto"


class Document(Table):
    """The whole document. Lists of tables have singular names, as TOML writes them: `[[scope]]`, `[[fleet]]`."""

    database_url: Text | None = None
    database_url_file: Text | None = None
    state: StateTable = Field(default_factory=StateTable)
    scope: list[ScopeTable] = Field(default_factory=list)
    fleet: list[FleetTable] = Field(default_factory=list)
    records: RecordsTable = Field(default_factory=RecordsTable)
    policy: PolicyTable = Field(default_factory=PolicyTable)
    limits: LimitsTable = Field(default_factory=LimitsTable)
    prices: PricesTable = Field(default_factory=PricesTable)
    pulumi: PulumiTable = Field(default_factory=PulumiTable)
    output: OutputTable = Field(default_factory=OutputTable)


def table_at(names: Iterable[str]) -> type[Table] | None:
    """The table that these keys lead to, lists of tables included; None where they lead to none."""
    table: type[Table] | None = Document
    for name in names:
        if table is None or name not in table.model_fields:
            return None
        table = _inner(table.model_fields[name].annotation)
    return table


def is_text(names: tuple[str, ...]) -> bool:
    """Whether the key takes text, so that `123` in the environment is text and not a number."""
    table = table_at(names[:-1])
    field = table.model_fields.get(names[-1]) if table else None
    return field is not None and _takes_text(field.annotation)


def _takes_text(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, UnionType, Annotated):
        return any(_takes_text(one) for one in get_args(annotation))
    return annotation is str


def _inner(annotation: Any) -> type[Table] | None:
    for candidate in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(candidate, type) and issubclass(candidate, Table):
            return candidate
    return None
