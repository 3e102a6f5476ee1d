"""What a run is responsible for: a provider project, zones, ownership rules, stacks, limits.

These are the frozen values that `config/` makes from `reconciler.toml` and that every later room takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

# Scaleway's zones with Instances, in the order in which its documentation lists the regions.
KNOWN_ZONES: Final = (
    "fr-par-1", "fr-par-2", "fr-par-3",
    "nl-ams-1", "nl-ams-2", "nl-ams-3",
    "pl-waw-1", "pl-waw-2", "pl-waw-3",
    "it-mil-1",
)  # fmt: skip


class Ownership(StrEnum):
    """How a leftover that no ledger holds is proved ours before it may be destroyed."""

    TWO_PROOFS = "two-proofs"
    TAGS = "tags"  # a project dedicated to the fleet: the exact owner tags alone are proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Never:
    """What is never touched, by exact tag, by name glob, by id."""

    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


# Managed Kubernetes makes servers, volumes and IPs in the same project; they are somebody else's for ever.
BUILT_IN_NEVER = Never(
    tags=("kapsule", "kosmos", "k8s.scaleway.com", "noprefix=managed-by=scaleway-csi"),
    names=("pvc-*", "scw-k8s-*", "*_pvc-*", "k8s-*"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetMatch:
    """How an existing estate's resources are recognised. Signals count one each; `require` of them make a match."""

    name: str
    controller: str = "external"
    urns: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    require: int = 2
    max_create_seconds: int = 1500
    actions: tuple[tuple[str, str], ...] = ()  # (finding kind or kind_resource, action)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rail:
    """A limit before the first action. `percent` applies from 20 objects of a kind on."""

    count: int
    percent: float
    eur_month: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    reconcile: Rail = Rail(count=20, percent=10.0, eur_month=300.0)
    per_hour: int = 400
    shrink_percent: float = 30.0  # an inventory that fell by more than this is not believed
    error_percent: float = 20.0  # share of failed calls that freezes the run
    unknown_percent: float = 20.0  # share of scans not complete that freezes the run
    clock_skew_seconds: float = 60.0
    plan_ttl_seconds: int = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One project and what may own something in it. `uuid` is the owner tag's value; `grace_seconds` > any create."""

    name: str
    uuid: str
    project: str
    zones: tuple[str, ...]
    stacks: tuple[str, ...] = ()
    ownership: Ownership = Ownership.TWO_PROOFS
    never: Never = Never()
    fleets: tuple[FleetMatch, ...] = ()
    grace_seconds: int = 900
    create_seconds: int = 600
    limits: Limits = field(default_factory=Limits)
    ip_hour_eur: float = 0.004
    sbs_gb_hour_eur: float = 0.000118
