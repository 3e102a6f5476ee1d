"""docs/findings.md shows each finding as the product makes it: the examples there are made here."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.model.finding import Finding, FindingKind, Verdict
from reconciler.model.memory import Memory
from reconciler.model.records import WorkerState
from reconciler.model.resources import Kind
from reconciler.model.state import Lock
from reconciler.model.world import World
from tests.builders import (
    NOW,
    absent,
    fleet,
    found,
    machine,
    owner_tags,
    pending,
    policies,
    remembered,
    server,
    state,
    unanswered,
    volume,
    with_parts,
    world,
)
from tests.records.rows import doomed, old_memory, row, with_records, worker_machine

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
ONE, LEFT = machine(0), machine(9)
ORPHAN = with_parts(LEFT.server, LEFT.root)
FREE = volume("left", name="linux-3-data", tags=owner_tags(3))
LOCKED = (Lock(created_by="ann@ci-7", pid=4711),)
WORKED, WITNESS = worker_machine(), server("witness")
FAILED = row(WORKED, state=WorkerState.FAILED, failure="out of memory")
ROLE_OF_SERVERS = policies({"id": "role", "check": "required-tags", "tags": ["role=ci"], "kinds": ["server"]})
ROLE_OF_VOLUMES = policies({"id": "role", "check": "required-tags", "tags": ["role=ci"], "kinds": ["volume"]})
TYPES = policies({"id": "types", "check": "allowed-types", "types": ["PRO2-*"], "severity": "advisory"})
RENAMED = replace(ONE.server, name="by-hand")

EXAMPLES: dict[str, World] = {
    "missing": world(ONE.root, ONE.ip, states=[state(*ONE.entries)], probes=[absent(ONE.server)]),
    "missing, hidden": world(ONE.root, ONE.ip, states=[state(*ONE.entries)], probes=[unanswered(ONE.server)]),
    "missing, locked": world(ONE.root, ONE.ip, states=[state(*ONE.entries, locks=LOCKED)], probes=[absent(ONE.server)]),
    "vacant": world(fleets=[fleet(1)]),
    "changed": world(RENAMED, ONE.root, ONE.ip, states=[state(*ONE.entries)]),
    "changed, tags": world(replace(ONE.server, tags=()), ONE.root, ONE.ip, states=[state(*ONE.entries)]),
    "changed, blind": world(ONE.server, replace(ONE.root, name="by-hand"), ONE.ip, states=[state(*ONE.entries)]),
    "orphan": world(ORPHAN, LEFT.root, memory=remembered(ORPHAN)),
    "orphan, young": world(ORPHAN, LEFT.root, memory=remembered(ORPHAN, since=NOW - 60_000)),
    "orphan, one proof": world(
        ORPHAN, LEFT.root, memory=Memory(unowned_since={ORPHAN.ref: NOW - 3_600_000}, first_complete_ms=0)
    ),
    "detached": world(FREE, memory=remembered(FREE)),
    "detached, in doubt": world(FREE, memory=remembered(FREE), broken={Kind.SERVER: "HTTP 503"}),
    "untagged-child": world(ONE.server, replace(ONE.root, tags=()), ONE.ip, states=[state(*ONE.entries)]),
    "missing, of a row": with_records(rows=[row(WORKED)], probes=[absent(WORKED.server)]),
    "undeclared": with_records(fleets=[]),
    "unrecorded": with_records(*WORKED.cloud, memory=old_memory(WORKED.server)),
    "unresolved-create, early": with_records(WITNESS, rows=[row(create_sent_ms=NOW)]),
    "unresolved-create": with_records(WITNESS, rows=[row()]),
    "stale-row": with_records(*WORKED.cloud, rows=[FAILED]),
    "stale-row, left": with_records(rows=[doomed(FAILED, finished=True)]),
    "duplicate": world(*ONE.cloud, machine(0, name="linux-0-again").server, states=[state(*ONE.entries)]),
    "interrupted": world(states=[state(pending=(pending(),))]),
    "policy": world(*ONE.cloud, states=[state(*ONE.entries)], policies=ROLE_OF_SERVERS),
    "policy, child": world(*ONE.cloud, states=[state(*ONE.entries)], policies=ROLE_OF_VOLUMES),
    "policy, advisory": world(*ONE.cloud, states=[state(*ONE.entries)], policies=TYPES),
    "unmanaged": world(server("bastion")),
    "incomplete": world(broken={Kind.IP: "HTTP 403: insufficient permissions"}),
}


def line_of(finding: Finding) -> str:
    """One example line: verdict, kind, what it is about, EUR a month where there are any, the reason."""
    first = finding.subjects[0]
    about = f"{first.kind} {first.worker or first.name or first.zone or first.urn}"
    price = f"{finding.cost.month:.2f} EUR/month, " if finding.cost.hour_nanos else ""
    return f"{finding.verdict.value} {finding.kind.value} {about}: {price}{finding.reason}"


def test_every_kind_and_every_verdict_has_a_section_or_a_row() -> None:
    assert [kind.value for kind in FindingKind if f"### `{kind.value}`" not in PAGE] == []
    assert [verdict.value for verdict in Verdict if f"| `{verdict.value}` |" not in PAGE] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_is_a_line_that_the_product_makes(name: str) -> None:
    kind = FindingKind(name.split(",")[0])
    (finding,) = found(EXAMPLES[name], kind)
    assert line_of(finding) in PAGE


def test_every_example_on_the_page_is_held_against_the_product() -> None:
    shown = {line for block in re.findall(r"```text\n(.*?)```", PAGE, flags=re.S) for line in block.splitlines()}
    made = {line_of(one) for name, given in EXAMPLES.items() for one in found(given, FindingKind(name.split(",")[0]))}
    assert shown == made
