"""The exit status of a sweep: 7 for what could not be read, 2 for `act` and `ask` (5: of a policy), 0 for in sync.

`unmanaged` and `wait` never count as drift; a live lock makes the sweep incomplete, if nothing worse is found.
"""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.kernel.errors import EXIT_DRIFT, EXIT_INCOMPLETE, EXIT_OK, EXIT_POLICY, worst_exit
from reconciler.model.finding import Finding, FindingKind, Verdict
from reconciler.model.world import World


def sweep_exit(world: World, findings: Iterable[Finding]) -> int:
    statuses = [EXIT_OK]
    for finding in findings:
        if finding.counts_as_drift:
            statuses.append(EXIT_POLICY if finding.kind is FindingKind.POLICY else EXIT_DRIFT)
        elif finding.verdict is Verdict.UNKNOWN:
            statuses.append(EXIT_INCOMPLETE)
    if world.live_stacks or world.unread or world.unread_records or not world.memory.present:
        statuses.append(EXIT_INCOMPLETE)
    return worst_exit(*statuses)
