"""Join the ledgers and name every difference. Pure: the same world gives the same findings, in the same order.

One difference is one finding, and the more specific kind wins: a child without tags is `untagged-child` and not
`changed`, and what either of them settles is no `policy`; a slot whose machine is `missing` is not `vacant` as well,
because state still holds it.
"""

from __future__ import annotations

from reconciler.diff.context import Context
from reconciler.diff.fleet_rows import undeclared_fleets
from reconciler.diff.incomplete import incomplete
from reconciler.diff.leftovers import leftovers
from reconciler.diff.managed import managed
from reconciler.diff.pending_findings import interrupted, without_doubles
from reconciler.diff.policy import with_policy
from reconciler.diff.program import with_programs
from reconciler.diff.row_findings import row_findings
from reconciler.kernel.collector import no_search_for_cycles
from reconciler.model.finding import Finding, FindingKind
from reconciler.model.world import World

__all__ = ["diff"]

_ORDER = {kind: place for place, kind in enumerate(FindingKind)}


def diff(world: World) -> tuple[Finding, ...]:
    """All findings of one sweep, by kind and then by subject."""
    context = Context(world)
    with no_search_for_cycles():
        settled = without_doubles([*managed(context), *leftovers(context)], made=interrupted(context))
        rows = (*row_findings(context), *undeclared_fleets(context))
        found = with_policy(with_programs([*settled, *rows, *incomplete(context)], context), context)
    return tuple(sorted(found, key=_key))


def _key(finding: Finding) -> tuple[int, str, str, tuple[str, ...]]:
    """A total order, so that the order in which anything was read is nowhere to be seen."""
    first = finding.subjects[0]
    names = tuple(text or "" for text in (first.id, first.urn, first.kind, first.zone, first.name))
    return _ORDER[finding.kind], finding.stack or "", first.worker or "", names
