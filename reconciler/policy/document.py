"""The policy document as pydantic reads it: every key, its type, its default. Strict, like the configuration's.

One class per check, told apart by `check`. A check may name only kinds that it can be about: a size rule for servers
would look as if it guarded something.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, ClassVar, Literal, TypeVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from reconciler.config.durations import seconds
from reconciler.model.policy import POLICY_KINDS
from reconciler.policy.patterns import check_pattern

T = TypeVar("T")

_TAGGED = ("server", "ip", "volume", "instance_volume", "nic", "snapshot", "image")
_DISKS = ("volume", "instance_volume", "snapshot")
_BILLED = ("server", "ip", "volume", "instance_volume")
_AGED = ("server", "ip", "volume", "instance_volume", "snapshot", "image")


def _text(value: str) -> str:
    if value != value.strip() or not value.isprintable():
        raise ValueError("spaces at either end and control characters are not taken")
    return value


def _uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise ValueError("this is not a uuid") from None


def _day(value: object) -> object:
    """YAML and TOML have dates of their own; JSON, and what a stack exports, have text."""
    if isinstance(value, datetime):
        raise ValueError("an exception ends at the beginning of a day: give a date, as in 2027-01-31")
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise ValueError("a date is like 2027-01-31") from None
    return value


def _value_group(pattern: str) -> str:
    return check_pattern(pattern, groups=1)


def _template(text: str) -> str:
    if text.count("{value}") != 1:
        raise ValueError("it must hold `{value}` once, where the value is to be written")
    return text


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Text = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_text)]
Id = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$")]
Texts = Annotated[list[Text], BeforeValidator(_listed), Field(min_length=1)]
Pattern = Annotated[str, AfterValidator(check_pattern)]
Patterns = Annotated[list[Pattern], BeforeValidator(_listed)]
Duration = Annotated[int, BeforeValidator(seconds), Field(ge=1)]
Whole = Annotated[int, Field(ge=1)]


class Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)


class MappingTable(Table):
    key: Text
    pattern: Annotated[str, AfterValidator(_value_group)]
    write: Annotated[Text, AfterValidator(_template)] | None = None


class RuleTable(Table):
    """What every rule has. `about` are the kinds that the check can judge, `usual` those without `kinds`."""

    about: ClassVar[tuple[str, ...]] = POLICY_KINDS
    usual: ClassVar[tuple[str, ...]] = _TAGGED
    remediable: ClassVar[bool] = False

    id: Id
    severity: Literal["advisory", "mandatory", "remediate"] = "mandatory"
    kinds: Texts | None = None
    fleets: Texts | None = None
    message: Text | None = None
    hint: Text | None = None

    @model_validator(mode="after")
    def _kinds_fit(self) -> RuleTable:
        for kind in self.kinds or ():
            if kind not in self.about:
                raise KindError(kind, self.about)
        if self.severity == "remediate" and not self.can_add():
            raise SeverityError("this rule knows no tag that it could add, so it cannot be `remediate`")
        return self

    def can_add(self) -> bool:
        """Whether the rule can say which tags would settle it."""
        return self.remediable


class KindError(ValueError):
    """A kind that is none, or that this check cannot judge."""

    def __init__(self, kind: str, choices: tuple[str, ...]) -> None:
        super().__init__("this check is not about this kind" if kind in POLICY_KINDS else "there is no such kind")
        self.kind, self.choices = kind, choices


class SeverityError(ValueError):
    """`remediate` where nothing can be added."""


class RequiredTagsTable(RuleTable):
    remediable: ClassVar[bool] = True
    check: Literal["required-tags"]
    tags: Texts


class RequiredKeysTable(RuleTable):
    check: Literal["required-keys"]
    keys: Texts
    defaults: dict[Text, Text] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _defaults_of_keys(self) -> RequiredKeysTable:
        if set(self.defaults) - set(self.keys):
            raise ValueError("`defaults` has a key that is not among `keys`")
        return self

    def can_add(self) -> bool:
        return bool(self.defaults)


class AllowedValuesTable(RuleTable):
    check: Literal["allowed-values"]
    key: Text
    values: Annotated[list[Text], BeforeValidator(_listed)] = Field(default_factory=list)
    patterns: Patterns = Field(default_factory=list)

    @model_validator(mode="after")
    def _some(self) -> AllowedValuesTable:
        return _needs(self, self.values or self.patterns, "`values` or `patterns`")


class _TagsAndPatterns(RuleTable):
    tags: Annotated[list[Text], BeforeValidator(_listed)] = Field(default_factory=list)
    patterns: Patterns = Field(default_factory=list)


class AllowedTagsTable(_TagsAndPatterns):
    check: Literal["allowed-tags"]

    @model_validator(mode="after")
    def _some(self) -> AllowedTagsTable:
        return _needs(self, self.tags or self.patterns, "`tags` or `patterns`")


class ForbiddenTagsTable(_TagsAndPatterns):
    check: Literal["forbidden-tags"]

    @model_validator(mode="after")
    def _some(self) -> ForbiddenTagsTable:
        return _needs(self, self.tags or self.patterns, "`tags` or `patterns`")


class TagCaseTable(RuleTable):
    check: Literal["tag-case"]
    case: Literal["lower", "upper"] | None = None
    keys: Annotated[list[Text], BeforeValidator(_listed)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _some(self) -> TagCaseTable:
        return _needs(self, self.case or self.keys, "`case` or `keys`")


class TagFormTable(RuleTable):
    check: Literal["tag-form"]
    form: Literal["key-value", "bare"]


class TagLimitsTable(RuleTable):
    check: Literal["tag-limits"]
    count: Whole | None = None
    length: Whole | None = None
    repeats: bool = True

    @model_validator(mode="after")
    def _some(self) -> TagLimitsTable:
        return _needs(self, self.count or self.length or not self.repeats, "`count`, `length` or `repeats: false`")


class OwnershipTable(RuleTable):
    remediable: ClassVar[bool] = True
    check: Literal["ownership"]
    tags: Texts | None = None


class NoPublicIpTable(RuleTable):
    about: ClassVar[tuple[str, ...]] = ("server", "ip")
    usual: ClassVar[tuple[str, ...]] = ("server",)
    check: Literal["no-public-ip"]


class _OfServers(RuleTable):
    about: ClassVar[tuple[str, ...]] = ("server",)
    usual: ClassVar[tuple[str, ...]] = ("server",)


class AllowedTypesTable(_OfServers):
    check: Literal["allowed-types"]
    types: Texts


class AllowedZonesTable(RuleTable):
    check: Literal["allowed-zones"]
    zones: Texts


class MaxSizeTable(RuleTable):
    about: ClassVar[tuple[str, ...]] = _DISKS
    usual: ClassVar[tuple[str, ...]] = _DISKS
    check: Literal["max-size"]
    gb: Whole


class MaxPriceTable(RuleTable):
    about: ClassVar[tuple[str, ...]] = _BILLED
    usual: ClassVar[tuple[str, ...]] = ("server",)
    check: Literal["max-price"]
    eur_hour: Annotated[float, Field(ge=0, le=1_000_000)]


class MaxLifetimeTable(RuleTable):
    about: ClassVar[tuple[str, ...]] = _AGED
    usual: ClassVar[tuple[str, ...]] = ("server",)
    check: Literal["max-lifetime"]
    age: Duration


class DeletionProtectionTable(_OfServers):
    check: Literal["deletion-protection"]
    protected: bool = True


class MaxImageAgeTable(_OfServers):
    check: Literal["max-image-age"]
    age: Duration


class CurrentRevisionTable(RuleTable):
    usual: ClassVar[tuple[str, ...]] = ("server",)
    check: Literal["current-revision"]


AnyRule = Annotated[
    RequiredTagsTable
    | RequiredKeysTable
    | AllowedValuesTable
    | AllowedTagsTable
    | ForbiddenTagsTable
    | TagCaseTable
    | TagFormTable
    | TagLimitsTable
    | OwnershipTable
    | NoPublicIpTable
    | AllowedTypesTable
    | AllowedZonesTable
    | MaxSizeTable
    | MaxPriceTable
    | MaxLifetimeTable
    | DeletionProtectionTable
    | MaxImageAgeTable
    | CurrentRevisionTable,
    Field(discriminator="check"),
]


class ExceptionTable(Table):
    """All that is given must fit; nothing given would let everything through, so one selector is needed."""

    rules: Texts
    reason: Text
    owner: Text
    expires: Annotated[date, BeforeValidator(_day)]
    names: Texts | None = None
    ids: Texts | None = None
    urns: Texts | None = None
    tags: Texts | None = None
    fleets: Texts | None = None

    @model_validator(mode="after")
    def _some(self) -> ExceptionTable:
        chosen = self.names or self.ids or self.urns or self.tags or self.fleets
        return _needs(self, chosen, "one of `names`, `ids`, `urns`, `tags`, `fleets`")

    @property
    def expires_ms(self) -> int:
        """The beginning of the day, UTC."""
        return int(datetime(self.expires.year, self.expires.month, self.expires.day, tzinfo=UTC).timestamp() * 1000)


class PolicyDocument(Table):
    version: Literal[1]
    name: Text = "policy"
    scope: Annotated[str, AfterValidator(_uuid)] | None = None
    separator: Annotated[str, Field(min_length=1, max_length=5), AfterValidator(_text)] = "="
    mappings: list[MappingTable] = Field(default_factory=list)
    rules: list[AnyRule] = Field(default_factory=list)
    exceptions: list[ExceptionTable] = Field(default_factory=list)


def rule_tables() -> dict[str, type[RuleTable]]:
    """Name of a check -> its table."""
    found: dict[str, type[RuleTable]] = {}
    for table in _below(RuleTable):
        field = table.model_fields.get("check")
        if field is not None:
            found[field.annotation.__args__[0]] = table  # type: ignore[union-attr]  # a Literal with one value
    return found


def _below(table: type[RuleTable]) -> list[type[RuleTable]]:
    return [one for child in table.__subclasses__() for one in (child, *_below(child))]


def _needs(table: T, given: object, what: str) -> T:
    if not given:
        raise ValueError(f"{what} is needed")
    return table
