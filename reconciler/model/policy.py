"""A policy as frozen values: rules, how a user's own tag scheme is read, and exceptions that end.

`reconciler/policy` makes these from text and evaluates them; here are only the values, because a stack's output, a
sweep's world and a report all carry them. A rule has exactly one check, and a check is one class.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from reconciler.model.resources import Kind

# What a rule may be about, in the order of reports. The names are those of the inventory.
POLICY_KINDS: Final = tuple(kind.value for kind in Kind)


class Severity(StrEnum):
    """As in CrossGuard. `remediate`: mandatory, and a preview adds the missing tags to the program's by itself."""

    ADVISORY = "advisory"
    MANDATORY = "mandatory"
    REMEDIATE = "remediate"

    @property
    def blocks(self) -> bool:
        return self is not Severity.ADVISORY


@dataclass(frozen=True, slots=True, kw_only=True)
class TagMapping:
    """How the values of a key are written in tags. `pattern` is RE2 with one group, the value; `write` is the tag for a
    value, with `{value}` in it, or None where a value is only read."""

    key: str
    pattern: str
    write: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredTags:
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredKeys:
    """Keys that must have a value; `defaults` are the values that a repair may write."""

    keys: tuple[str, ...]
    defaults: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedValues:
    """Each value of `key` is one of `values` or matches one of `patterns`, whole. A key without a value is allowed."""

    key: str
    values: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTags:
    """Nothing but these; our own tags always."""

    tags: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForbiddenTags:
    tags: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCase:
    """`case` of all of a tag's letters (`lower`, `upper`), and the exact spelling of certain keys."""

    case: str | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TagForm:
    """`key-value` or `bare`; our own tags and mapped ones are left out."""

    form: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TagLimits:
    count: int | None = None
    length: int | None = None
    repeats: bool = True  # whether the same tag may be there twice


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """The exact owner tags of the scope (`reconciler`, `reconciler:scope=…`, `reconciler:fleet=…`), or a user's own."""

    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPublicIp:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTypes:
    types: tuple[str, ...]  # globs of commercial types


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedZones:
    zones: tuple[str, ...]  # globs


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxSize:
    gb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxPrice:
    hour_nanos: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxLifetime:
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionProtection:
    """Scaleway's `protected` of a server, as it must be."""

    protected: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxImageAge:
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentRevision:
    """The revision tag is the one that the fleet declares now."""


Check: TypeAlias = (
    RequiredTags
    | RequiredKeys
    | AllowedValues
    | AllowedTags
    | ForbiddenTags
    | TagCase
    | TagForm
    | TagLimits
    | Ownership
    | NoPublicIp
    | AllowedTypes
    | AllowedZones
    | MaxSize
    | MaxPrice
    | MaxLifetime
    | DeletionProtection
    | MaxImageAge
    | CurrentRevision
)

# The names in a policy file.
CHECK_NAMES: Final[dict[type, str]] = {
    RequiredTags: "required-tags",
    RequiredKeys: "required-keys",
    AllowedValues: "allowed-values",
    AllowedTags: "allowed-tags",
    ForbiddenTags: "forbidden-tags",
    TagCase: "tag-case",
    TagForm: "tag-form",
    TagLimits: "tag-limits",
    Ownership: "ownership",
    NoPublicIp: "no-public-ip",
    AllowedTypes: "allowed-types",
    AllowedZones: "allowed-zones",
    MaxSize: "max-size",
    MaxPrice: "max-price",
    MaxLifetime: "max-lifetime",
    DeletionProtection: "deletion-protection",
    MaxImageAge: "max-image-age",
    CurrentRevision: "current-revision",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`kinds` and `fleets` (globs) say what it is about; an empty `fleets` is every resource, of a fleet or of none."""

    id: str
    check: Check
    severity: Severity
    kinds: tuple[str, ...]
    fleets: tuple[str, ...] = ()
    message: str | None = None
    hint: str | None = None

    @property
    def check_name(self) -> str:
        return CHECK_NAMES[type(self.check)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyException:
    """What is let through, why, who answers for it, and until when: `expires_ms` is the first moment at which it no
    longer counts. Everything that is given (globs) must fit; `rules` are globs of rule ids."""

    rules: tuple[str, ...]
    reason: str
    owner: str
    expires_ms: int
    names: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    urns: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    fleets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """`scope`: the owner tag's uuid, where the policy says it itself. `source`: the file or the stack it comes from."""

    name: str
    source: str
    rules: tuple[Rule, ...]
    mappings: tuple[TagMapping, ...] = ()
    exceptions: tuple[PolicyException, ...] = ()
    separator: str = "="
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """All that count in one sweep: the configured one for everything, and what each stack declares for its own.

    `baseline`: fingerprints of violations that were there before, with the moment at which that is over.
    """

    configured: Policy | None = None
    declared: tuple[tuple[str, Policy], ...] = ()  # (stack, policy)
    baseline: tuple[tuple[str, int], ...] = ()

    def __bool__(self) -> bool:
        return self.configured is not None or bool(self.declared)
