"""What a rule may ask about a resource, whichever ledger it comes from.

Three answers are kept apart. A value is judged. `UNKNOWN` is a value that is not there yet, as in a preview: what rests
on it is advisory. None is what this ledger does not tell: the rule is not evaluated, and the report says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from reconciler.kernel.ids import fingerprint
from reconciler.model.resources import Kind


class Unknown:
    """Not known before the resource is there."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()

T = TypeVar("T")
Fact: TypeAlias = T | Unknown | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """`tags` None: not told. `tags_open`: some of the tags are not known yet. Times are epoch ms, sizes bytes."""

    kind: Kind
    name: str | None = None
    id: str | None = None
    urn: str | None = None
    stack: str | None = None
    fleet: str | None = None  # where something better than its own tags says it
    zone: Fact[str] = None
    tags: tuple[str, ...] | None = None
    tags_open: bool = False
    commercial_type: Fact[str] = None
    size: Fact[int] = None
    public_ip: Fact[bool] = None
    protected: Fact[bool] = None
    created_ms: Fact[int] = None
    hour_nanos: Fact[int] = None
    image_created_ms: Fact[int] = None

    @property
    def identity(self) -> str:
        """The URN where there is one, since an id changes with a replacement; a part of a machine adds its kind."""
        if self.urn is not None:
            return f"{self.kind.value} {self.urn}"
        zone = self.zone if isinstance(self.zone, str) else ""
        return f"{self.kind.value} {zone}/{self.id or self.name or ''}"

    @property
    def label(self) -> str:
        """How a report names it."""
        shown = self.name or (self.urn.rsplit("::", 1)[-1] if self.urn else None) or self.id or "?"
        return f"{self.kind.value} {shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What every ledger is judged by: the time, the scope's uuid, the revision that each fleet declares now."""

    now_ms: int
    scope: str | None = None
    revisions: Mapping[str, str] = field(default_factory=dict)


def violation_fingerprint(rule: str, item: Item) -> str:
    """The same for the same rule and resource, in whichever ledger and however often it is seen."""
    return fingerprint("policy", rule, item.identity)
