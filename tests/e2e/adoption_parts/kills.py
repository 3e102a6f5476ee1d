"""An adoption killed at every point, and the second one after it: the same end, and nobody left running."""

from __future__ import annotations

import copy
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reconciler.engine import processes
from reconciler.engine.adoption.verdict import same_entry
from reconciler.model.resources import Ref
from reconciler.model.state import StateResource
from reconciler.ports.engine import ChildProcess
from reconciler.simulator import World
from tests.e2e.adoption_parts.rows import killed_deploy
from tests.e2e.adoption_parts.shapes import SHAPES, VARIANTS
from tests.e2e.adoption_parts.site import Site
from tests.e2e.rig import ROOT

# Children: 1 plan; 2 up, 3 drop of the pending entry, 4 refresh and 5 plan, all on the copy; 6 up and 7 drop in
# earnest. Changing calls of each up: the server, its root's IOPS, its user data.
POINTS: Final = (
    *(f"child:{number}" for number in range(1, 8)),
    "call:2",
    *(f"{what}:{number}" for number in (4, 5, 6) for what in ("call", "answered")),
    "after:6",
    "after:7",
)
_SHAPE: Final = next(shape for shape in SHAPES if shape.name == "extra volumes")
_END_SECONDS: Final = 90


@dataclass
class Killed:
    """`faults`: point -> what did not hold after it."""

    points: list[str] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Start:
    """A stack with an interrupted create, to begin from again and again."""

    checkpoint: bytes
    world: World
    targets: Mapping[str, Ref]

    def restore(self, site: Site) -> None:
        site.checkpoint_file.write_bytes(self.checkpoint)
        site.simulator.replace_world(copy.deepcopy(self.world))


def run(points: Iterable[str] = POINTS) -> Killed:
    found = Killed()
    with tempfile.TemporaryDirectory(prefix="adoption-") as directory, Site(Path(directory)) as site:
        start = _begin(site)
        site.adopt(start.targets)
        expected = _entries(site, start)
        for point in points:
            start.restore(site)
            found.points.append(point)
            try:
                _die_and_adopt(site, start, point, expected)
            except Exception as error:  # the other points have their own say
                found.faults[point] = f"{type(error).__name__}: {str(error)[:1500]}"
        site.require_quiet()
    return found


def _begin(site: Site) -> _Start:
    site.describe(_SHAPE.worker(VARIANTS[1]))
    site.begin()
    targets = killed_deploy(site, 1)
    with site.simulator.editing() as world:
        return _Start(site.checkpoint(), copy.deepcopy(world), targets)


def _entries(site: Site, start: _Start) -> dict[str, StateResource]:
    return {item.urn: item for item in site.state().resources if item.urn in start.targets}


def _die_and_adopt(site: Site, start: _Start, point: str, expected: Mapping[str, StateResource]) -> None:
    calls = len(site.mutating_calls())
    journal = site.root / f"journal-{point.replace(':', '-')}.jsonl"
    _kill(site, start, point, journal)
    engine = site.engine()
    for child in _read(journal):
        assert engine.await_child(child), f"{child.argv} does not end"
    site.adopt(start.targets)
    found = _entries(site, start)
    wrong = [urn for urn, item in expected.items() if urn not in found or not same_entry(item, found[urn])]
    assert not wrong, f"another entry: {wrong}"
    assert site.state().pending == (), "a pending operation stays"
    assert site.mutating_calls()[calls:] == [], "a call reached the cloud"
    assert site.lock_files() == [], "a lock stays"
    assert processes.wait_until(lambda: not site.strays(), seconds=_END_SECONDS, clock=site.clock), site.strays()


def _kill(site: Site, start: _Start, point: str, journal: Path) -> None:
    orders = site.root / "orders.json"
    targets = {urn: (ref.kind.value, ref.zone, ref.id) for urn, ref in start.targets.items()}
    order = {"point": point, "targets": targets, "journal": str(journal), "project": str(site.project)}
    orders.write_text(json.dumps(order))
    module = "tests.e2e.adoption_parts.victim"
    child = site.start([sys.executable, "-m", module, str(orders)], cwd=ROOT)
    text, _ = child.communicate(timeout=120)
    assert child.returncode == -9, f"the adoption was not killed but ended with {child.returncode}: {text[-1500:]}"


def _read(journal: Path) -> list[ChildProcess]:
    lines = journal.read_text().splitlines() if journal.exists() else []
    return [ChildProcess(**{**item, "argv": tuple(item["argv"])}) for item in map(json.loads, lines)]
