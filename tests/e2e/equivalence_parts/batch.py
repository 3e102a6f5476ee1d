"""Runs worlds: one stack for many of them, one fault after the other, and then both sides on what is left.

Each world keeps to resources of its own, so that its verdicts are those that it would get alone; they are found by the
URNs of its resources. The engine is asked twice: past everything of ours, and through our gate, which must not change
what it says but for what the API forbids to read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reconciler.model.state import KIND_OF_TYPE
from reconciler.simulator import World as CloudWorld
from reconciler.simulator import WorldOptions
from tests.e2e.equivalence_parts.engine_side import EngineSide, EngineVerdict, ask_engine
from tests.e2e.equivalence_parts.our_side import OurSide, OurVerdict, ask_us
from tests.e2e.equivalence_parts.relation import judge
from tests.e2e.equivalence_parts.steps import Steps
from tests.e2e.equivalence_parts.worlds import WorldCase
from tests.e2e.product import STACK
from tests.e2e.rig import Rig


@dataclass(frozen=True)
class Judged:
    """One resource of one world, with both verdicts and what is wrong with them. `kind`: ours, of the resource."""

    urn: str
    kind: str
    engine: EngineVerdict
    ours: OurVerdict
    broken: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """One world, judged."""

    case: WorldCase
    judged: Sequence[Judged]
    broken: Sequence[str] = ()  # what is wrong with the world as a whole

    @property
    def mismatches(self) -> int:
        return len(self.broken) + sum(len(one.broken) for one in self.judged)

    def text(self) -> str:
        """The whole world: program, fault, verdicts, what is wrong."""
        lines = [f"MISMATCH in {self.case.cell}", "  program:"]
        lines += [f"    {json.dumps(resource)}" for resource in self.case.resources]
        lines += ["  fault:", *(f"    {json.dumps(step)}" for step in self.case.steps)]
        for one in self.judged:
            lines += [f"  {one.urn.rsplit('::', 2)[-2]} {one.urn.rsplit('::', 1)[-1]}"]
            lines += [f"    engine: {one.engine}", f"    ours:   {one.ours}"]
            lines += [f"    WRONG:  {text}" for text in one.broken]
        lines += [f"  WRONG:  {text}" for text in self.broken]
        return "\n".join(lines)


@dataclass
class Batch:
    """What a number of worlds came to."""

    results: list[Result] = field(default_factory=list)
    engine_calls: int = 0
    our_calls: int = 0

    def add(self, other: Batch) -> None:
        self.results += other.results
        self.engine_calls += other.engine_calls
        self.our_calls += other.our_calls


def run_batch(cases: Sequence[WorldCase], *, directory: Path) -> Batch:
    """Deploy all of them in one stack under `directory`, let the faults happen, ask both sides, judge."""
    with Rig(directory, world=CloudWorld(options=WorldOptions(**cases[0].options))) as rig:
        rig.up([resource for case in cases for resource in case.resources])
        steps = Steps(rig.simulator, rig.provider_ids())
        for case in cases:
            for step in case.steps:
                steps.carry_out(step)
        engine, ours = ask_engine(rig), ask_us(rig)
        gated = rig.product.engine().preview_refresh(STACK, list(engine.verdicts))
        crashed = rig.simulator.crashes
        assert not crashed, crashed[0]
        assert not rig.simulator.traffic.unknown(), rig.simulator.traffic.unknown()
    batch = Batch(engine_calls=engine.calls, our_calls=ours.calls)
    batch.results += [_result(case, engine, ours, gated.operations) for case in cases]
    return batch


def _result(case: WorldCase, engine: EngineSide, ours: OurSide, gated: Mapping[str, str]) -> Result:
    mine = [urn for urn in ours.verdicts if urn.rsplit("::", 1)[-1].startswith(f"{case.prefix}-")]
    forbidden = case.options.get("deleted_ip_status") == 403
    judged = []
    for urn in mine:
        theirs, own = engine.verdicts.get(urn, EngineVerdict("failed")), ours.verdicts[urn]
        through = gated.get(urn, "failed")
        broken = (*judge(theirs, own), *_gate_differs(theirs, through, forbidden=forbidden))
        judged.append(Judged(urn, _kind_of(urn), theirs, own, broken))
    wrong = [
        f"a finding that no fault of this table makes: {finding.kind.value} {finding.subjects[0].name}"
        for finding in ours.other
        if finding.subjects[0].urn in mine
    ]
    wrong += [f"`same` overlooks what `compare` finds: {urn}" for urn in ours.shortcuts if urn in mine]
    if len(mine) != len(case.resources):
        wrong.append(f"the state holds {len(mine)} of its {len(case.resources)} resources")
    return Result(case, judged, wrong)


def _gate_differs(engine: EngineVerdict, gated: str, *, forbidden: bool) -> Iterator[str]:
    """The gate makes a failed read of what the provider takes for gone although the API only forbids it (403)."""
    if gated != engine.operation and not (forbidden and engine.operation == "delete" and gated == "failed"):
        yield f"through our gate the engine says {gated}"


def _kind_of(urn: str) -> str:
    kind = KIND_OF_TYPE.get(urn.split("::")[2])
    return kind.value if kind is not None else "not covered"
