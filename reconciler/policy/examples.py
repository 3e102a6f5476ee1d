"""A user's own examples against a policy: `policy test FILE`.

An example is a resource in the words of a policy, and the ids of the rules that it must break, exactly those. So a
policy is tested like code, without a cloud, and before it blocks somebody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from reconciler.config.errors import Problem
from reconciler.config.lines import line_of
from reconciler.kernel.clock import parse_instant
from reconciler.kernel.errors import ConfigError
from reconciler.kernel.paths import at_home
from reconciler.kernel.text import visible
from reconciler.model.money import NANO
from reconciler.model.policy import POLICY_KINDS, Policy
from reconciler.model.resources import Kind
from reconciler.policy.decode import decode, load_policy, read, read_file
from reconciler.policy.document import Duration, Table, Text
from reconciler.policy.evaluate import evaluate
from reconciler.policy.item import UNKNOWN, Fact, Facts, Item, Unknown
from reconciler.policy.text import Read

_GB = 1_000_000_000


def _instant(value: object) -> object:
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1000)
    if isinstance(value, date):
        return int(datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp() * 1000)
    if isinstance(value, str):
        return parse_instant(value if "T" in value else f"{value}T00:00:00Z")
    raise ValueError("a time is like 2026-11-30 or 2026-11-30T12:00:00Z")


class ResourceTable(Table):
    """A resource as an example has it. What is left out is not told; `unknown` names what is not known yet."""

    kind: Text = "server"
    name: Text | None = None
    id: Text | None = None
    urn: Text | None = None
    fleet: Text | None = None
    zone: Text | None = None
    tags: list[str] | None = None
    type: Text | None = None
    size_gb: Annotated[float, Field(ge=0, le=1_000_000_000)] | None = None
    public_ip: bool | None = None
    protected: bool | None = None
    age: Duration | None = None
    image_age: Duration | None = None
    eur_hour: Annotated[float, Field(ge=0, le=1_000_000)] | None = None
    unknown: list[Literal["zone", "tags", "type", "size_gb", "public_ip", "protected"]] = Field(default_factory=list)


class CaseTable(Table):
    name: Text
    resource: ResourceTable
    violates: list[Text]
    advisory: list[Text] = Field(default_factory=list)  # of those, the ones that must not block
    adds: list[Text] | None = None

    @model_validator(mode="after")
    def _of_those(self) -> CaseTable:
        if set(self.advisory) - set(self.violates):
            raise ValueError("`advisory` has a rule that is not among `violates`")
        return self


class ExamplesTable(Table):
    policy: Text | dict[str, Any]
    now: Annotated[int, BeforeValidator(_instant)] = 1_790_000_000_000
    scope: Text | None = None
    revisions: dict[Text, Text] = Field(default_factory=dict)
    cases: Annotated[list[CaseTable], Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleResult:
    """`faults`: what came out otherwise than the example says; none where it holds."""

    name: str
    faults: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.faults


def run_examples(path: Path) -> tuple[ExampleResult, ...]:
    """Raises ConfigError RC0830 (a file cannot be read), RC0844 (it is no examples file) and InvalidPolicy."""
    text = read_file(path)
    return run_text(text, source=str(path), directory=path.parent, is_toml=path.suffix == ".toml")


def run_text(text: str, *, source: str, directory: Path, is_toml: bool = False) -> tuple[ExampleResult, ...]:
    """The same for a text; a policy file that it names is relative to `directory`."""
    given = read(text, source=source, is_toml=is_toml)
    try:
        table = ExamplesTable.model_validate(given.value)
    except ValidationError as error:
        raise _wrong(error, given, source) from None
    policy = _policy(table, given, directory=directory, source=source)
    facts = Facts(now_ms=table.now, scope=table.scope, revisions=table.revisions)
    return tuple(_run(case, policy, facts) for case in table.cases)


def _policy(table: ExamplesTable, given: Read, *, directory: Path, source: str) -> Policy:
    if isinstance(table.policy, str):
        return load_policy(directory / at_home(table.policy))
    lines = {path[1:]: line for path, line in given.lines.items() if path[:1] == ("policy",)}
    return decode(Read(value=table.policy, lines=lines), source=source)


def _wrong(error: ValidationError, given: Read, source: str) -> ConfigError:
    details = error.errors(include_url=False, include_input=False)[0]
    path = tuple(details["loc"])
    line = line_of(path, given.lines)
    place = visible(source) + (f":{line}" if line is not None else "")
    problem = Problem(code="RC0844", path=path, message=details["msg"], hint="", where=place)
    return ConfigError(str(problem), code="RC0844", hint="docs/policy.md shows such a file with every key.")


def _run(case: CaseTable, policy: Policy, facts: Facts) -> ExampleResult:
    found = evaluate(policy, (_item(case.resource, facts),), facts)
    return ExampleResult(name=case.name, faults=tuple(_faults(case, {v.rule.id: v for v in found.violations})))


def _faults(case: CaseTable, found: Mapping[str, Any]) -> Iterator[str]:
    for rule in case.violates:
        if rule not in found:
            yield f"{rule} is not violated"
    for rule, violation in found.items():
        if rule not in case.violates:
            yield f"{rule} is violated: {violation.message}"
        elif rule in case.advisory and violation.severity.blocks:
            yield f"{rule} is {violation.severity.value}"
        elif rule not in case.advisory and violation.doubtful:
            yield f"{rule} only advises: {violation.message}"
    if case.adds is not None:
        added = [tag for violation in found.values() for tag in violation.add]
        if sorted(added) != sorted(case.adds):
            yield f"it adds {added or 'nothing'}"


def _item(table: ResourceTable, facts: Facts) -> Item:
    if table.kind not in POLICY_KINDS:
        hint = f"One of: {', '.join(POLICY_KINDS)}."
        raise ConfigError(f"there is no kind {visible(repr(table.kind))}", code="RC0844", hint=hint)
    return Item(
        kind=Kind(table.kind),
        name=table.name,
        id=table.id,
        urn=table.urn,
        fleet=table.fleet,
        zone=_fact(table, "zone", table.zone),
        tags=tuple(table.tags) if table.tags is not None else (() if "tags" in table.unknown else None),
        tags_open="tags" in table.unknown,
        commercial_type=_fact(table, "type", table.type),
        size=_fact(table, "size_gb", round(table.size_gb * _GB) if table.size_gb is not None else None),
        public_ip=_fact(table, "public_ip", table.public_ip),
        protected=_fact(table, "protected", table.protected),
        created_ms=facts.now_ms - table.age * 1000 if table.age is not None else None,
        hour_nanos=round(table.eur_hour * NANO) if table.eur_hour is not None else None,
        image_created_ms=facts.now_ms - table.image_age * 1000 if table.image_age is not None else None,
    )


def _fact(table: ResourceTable, key: str, value: Any) -> Fact[Any]:
    unknown: Unknown = UNKNOWN
    return unknown if key in table.unknown else value
