"""Whatever the cloud says that is not so, nothing that is used is destroyed, and nothing that exists is proved absent.

Every kind of lie is told to the whole product, in a world with five leftovers of ours and one machine that a stranger
killed. While it is told the product may do less than it should; when it is over, the leftovers go.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.kernel.errors import ReconcilerError
from reconciler.kernel.randomness import SeededRandomness
from reconciler.model.finding import FindingKind, Verdict
from reconciler.model.inventory import Presence
from reconciler.model.plan import Mode
from reconciler.model.resources import Kind, Ref
from reconciler.model.scope import Ownership
from reconciler.simulator import LIES, ZONE, lie_from_json, lie_to_json, sample_lie
from tests.apply.rig import STACK, Rig
from tests.apply.test_deletions import leak, leaked_ip, leaked_volume

HOUR = 3600


class Estate:
    """Three machines in the state, one of them killed by a stranger, and leftovers in no ledger."""

    def __init__(self, folder: Path) -> None:
        self.rig = Rig(folder=folder, url=f"sqlite:///{folder / 'memory.db'}", ownership=Ownership.TAGS)
        self.rig.apply(mode=Mode.REPAIR)
        made = leak(self.rig)
        self.leftovers = {made["server"], made["ip"], made["volume"], leaked_ip(self.rig), leaked_volume(self.rig)}
        dead = self.rig.workers[1]
        self.rig.stranger("kill_server", server=dead.server)
        # What hung on the dead machine is nobody's now, and the state's entry for it is stale.
        self.may_go = {*self.leftovers, dead.ip, dead.root}

    def used(self) -> Iterator[Ref]:
        for worker in self.rig.workers:
            for kind, one in ((Kind.SERVER, worker.server), (Kind.IP, worker.ip), (Kind.VOLUME, worker.root)):
                if one is not None and self.rig.exists(one):
                    yield Ref(kind, ZONE, one)

    def held(self) -> set[str]:
        """The entries of the state whose objects exist."""
        entries = self.rig.engine.states[STACK].resources
        return {entry.urn for entry in entries if entry.ref is not None and self.rig.exists(entry.ref.id)}

    def run(self) -> None:
        """Plan and apply; what existed and was used is neither destroyed, nor proved absent, nor forgotten."""
        used, held = list(self.used()), self.held()
        self.rig.cloud = self.rig.new_cloud()  # each run is a process of its own, which counts its own errors
        try:
            self.rig.apply()
        except ReconcilerError:
            pass  # to refuse is always right here
        else:
            probes = self.rig.sweep_world.inventory.probes
            wrong = [ref for ref in used if ref in probes and probes[ref].presence is Presence.ABSENT]
            assert wrong == []
        assert [ref for ref in used if not self.rig.exists(ref.id) and ref.id not in self.may_go] == []
        left = {entry.urn for entry in self.rig.engine.states[STACK].resources}
        assert {urn for urn in held - left if not urn.endswith("linux-1")} == set()
        assert self.rig.simulator.crashes == []


def told(kind: str, seed: int, **keys: Any) -> dict[str, Any]:
    """A random lie of the kind, with no more than a megabyte in it."""
    lie = {**lie_to_json(sample_lie(kind, SeededRandomness(seed))), **keys}
    return {**lie, "megabytes": 1} if kind == "big_body" else lie


def survives(folder: Path, lie: dict[str, Any], *, forgets: bool = False) -> None:
    """`forgets`: an untagged volume may be left (see the last test)."""
    estate = Estate(folder)
    estate.rig.simulator.lies.add(lie_from_json(lie))
    for _ in range(2):
        estate.run()
        estate.rig.clock.advance(HOUR)
    estate.rig.simulator.lies.clear()
    # Two quiet sweeps: one finds, and one after the grace of what was only seen now may act.
    for _ in range(3):
        estate.rig.clock.advance(2 * HOUR)
        estate.run()
    left = {one for one in estate.leftovers if estate.rig.exists(one)}
    assert {one for one in left if not (forgets and untagged(estate, one))} == set()
    assert estate.rig.store.open_deletions(estate.rig.scope.uuid) == ()


@pytest.mark.parametrize("kind", sorted(LIES))
def test_under_a_lie_nothing_used_is_lost_and_after_it_the_leftovers_go(tmp_path: Path, kind: str) -> None:
    """A server that is stopping for ever, and a volume that it holds for ever, are left, so these lies end here."""
    ends = {"for_ms": 60_000} if kind in {"terminate_sticks", "volume_clings"} else {}
    survives(
        tmp_path, told(kind, 3, probability=1.0, times=0, until_ms=10**10, **ends), forgets=kind == "delete_undone"
    )


@pytest.mark.parametrize("kind", ["ip", "block_volume", "server"])
@pytest.mark.parametrize("lists", ["empty", "refused"])
def test_a_denied_right_to_one_kind_is_not_absence(tmp_path: Path, kind: str, lists: str) -> None:
    survives(tmp_path, {"lie": "hiding_403", "kinds": [kind], "lists": lists})


@pytest.mark.parametrize("kind", ["ip", "block_volume", "server"])
def test_half_a_list_whose_totals_agree_is_not_absence(tmp_path: Path, kind: str) -> None:
    survives(tmp_path, {"lie": "shrunk_list", "kinds": [kind], "share": 0.5})


@pytest.mark.parametrize("how", ["object", "id"])
def test_an_answer_about_another_object_proves_nothing(tmp_path: Path, how: str) -> None:
    survives(tmp_path, {"lie": "other_resource", "how": how})


@pytest.mark.parametrize("for_ms", [0, 600_000])
def test_an_accepted_deletion_that_stays_is_not_believed(tmp_path: Path, for_ms: int) -> None:
    estate = Estate(tmp_path)
    estate.rig.simulator.lies.add(lie_from_json({"lie": "delete_stays", "for_ms": for_ms}))
    estate.run()
    waiting = {one.target.id for one in estate.rig.store.open_deletions(estate.rig.scope.uuid)}
    assert waiting
    if not for_ms:
        assert all(estate.rig.exists(one) for one in estate.leftovers)
    estate.rig.simulator.lies.clear()
    estate.rig.clock.advance(HOUR)
    estate.run()
    assert not any(estate.rig.exists(one) for one in estate.leftovers)
    assert estate.rig.store.open_deletions(estate.rig.scope.uuid) == ()


def test_an_untagged_root_that_comes_back_after_its_deletion_is_shown_and_left_alone(tmp_path: Path) -> None:
    """Its lineage went with the deletion that proved it absent, so nothing says any more whose it was."""
    estate = Estate(tmp_path)
    (root,) = (one for one in estate.leftovers if untagged(estate, one))
    estate.rig.simulator.lies.add(lie_from_json({"lie": "delete_undone", "back_ms": 10_000}))
    for _ in range(5):
        estate.run()
        estate.rig.clock.advance(2 * HOUR)
        if not estate.rig.exists(root):
            estate.rig.simulator.lies.clear()
    assert estate.rig.exists(root)
    _, findings = estate.rig.sweep()
    about = [one for one in findings if root in {subject.id for subject in one.subjects}]
    assert [(one.kind, one.verdict) for one in about] == [(FindingKind.UNMANAGED, Verdict.NONE)]


def untagged(estate: Estate, record_id: str) -> bool:
    with estate.rig.simulator.editing() as world:
        return not getattr(world.find(record_id), "tags", ())
