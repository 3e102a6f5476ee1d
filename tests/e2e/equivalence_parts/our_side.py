"""What we say: `observe` and `diff` on the same world, over HTTP, with the real engine for the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.diff.authority import Entry
from reconciler.diff.context import Context
from reconciler.diff.properties import Comparison, blind, compare, same
from reconciler.model.finding import Finding, FindingKind, Verdict
from reconciler.model.inventory import Presence
from reconciler.model.state import KIND_OF_TYPE
from tests.e2e.product import STACK
from tests.e2e.rig import Rig

_KINDS = frozenset({FindingKind.MISSING, FindingKind.CHANGED})


@dataclass(frozen=True)
class OurDifference:
    """One property that differs. `blind`: why the engine's refresh would not see it, None where we say it does."""

    path: str
    blind: str | None


@dataclass(frozen=True)
class OurVerdict:
    """`kind`: `missing`, `changed` or `same`. `unlisted`: path -> reason, for what was not compared. `confirmed`: a GET
    by id stands behind it. `unknown`: why the list of its kind is not believed. `covered`: of a type that we read."""

    kind: str = "same"
    verdict: Verdict = Verdict.NONE
    differences: tuple[OurDifference, ...] = ()
    unlisted: Mapping[str, str] = field(default_factory=dict)
    confirmed: bool = False
    covered: bool = True
    unknown: str | None = None

    def __str__(self) -> str:
        paths = ", ".join(f"{one.path}{' (blind)' if one.blind else ''}" for one in self.differences)
        listed = ", ".join(f"{path} ({reason})" for path, reason in self.unlisted.items())
        return f"{self.kind} {self.verdict.value} [{paths}], not compared [{listed}], confirmed {self.confirmed}" + (
            f", unknown: {self.unknown}" if self.unknown else ""
        )


@dataclass(frozen=True)
class OurSide:
    verdicts: Mapping[str, OurVerdict]  # by URN
    other: Sequence[Finding]  # findings about a state entry that are neither missing nor changed
    calls: int
    shortcuts: Sequence[str] = ()  # URNs for which `same` and `compare` disagree


def ask_us(rig: Rig) -> OurSide:
    rig.simulator.traffic.reset()
    world, findings = rig.product.look()
    calls = rig.simulator.traffic.stats()["total"]
    context = Context(world)
    known = {entry.resource.urn: entry for entry in context.entries}
    about = [finding for finding in findings if finding.subjects[0].urn in known]
    by_urn = {finding.subjects[0].urn: finding for finding in about if finding.kind in _KINDS}
    verdicts, shortcuts = {}, []
    for resource in world.states[STACK].resources:
        entry = known.get(resource.urn)
        if entry is None:
            verdicts[resource.urn] = OurVerdict(covered=resource.type in KIND_OF_TYPE)
            continue
        verdicts[resource.urn] = _verdict(entry, by_urn.get(resource.urn), context)
        if _cut_short(entry, context):
            shortcuts.append(resource.urn)
    return OurSide(verdicts, [one for one in about if one.kind not in _KINDS], calls, shortcuts)


def _compared(entry: Entry, context: Context) -> Comparison | None:
    resource = context.index.get(entry.ref)
    if resource is None:
        return None
    return compare(entry.resource, resource, index=context.index, managed=context.held)


def _cut_short(entry: Entry, context: Context) -> bool:
    """Whether the quick look calls equal what the comparison does not."""
    resource, compared = context.index.get(entry.ref), _compared(entry, context)
    if resource is None or compared is None or not compared.differences:
        return False
    return same(entry.resource, resource, index=context.index)


def _verdict(entry: Entry, found: Finding | None, context: Context) -> OurVerdict:
    inventory = context.world.inventory
    resource, compared, probe = context.index.get(entry.ref), _compared(entry, context), inventory.probes.get(entry.ref)
    differences: list[OurDifference] = []
    if found is not None and resource is not None:
        differences = [OurDifference(one.path, blind(entry.resource, resource, one)) for one in found.differences]
    scan = inventory.scans.get((entry.kind, entry.zone))
    return OurVerdict(
        kind="same" if found is None else found.kind.value,
        verdict=Verdict.NONE if found is None else found.verdict,
        differences=tuple(differences),
        unlisted={one.path: one.reason for one in compared.not_compared} if compared is not None else {},
        confirmed=probe is not None and probe.presence is not Presence.UNKNOWN,
        unknown=scan.reason or "not read" if scan is not None and scan.offered and not scan.complete else None,
    )
