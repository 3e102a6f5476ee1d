"""The worlds can fail: each rule of the product broken in turn, and some world notices.

A mutant lives for one test, by monkeypatch; the copies of the tree that `make mutants` breaks are elsewhere. Most are
caught without any lie, by a finding that is not the truth or by a broken invariant.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from reconciler.apply import deciding, driving, guard
from reconciler.cloud import destroy, probing, proofs, scanning
from reconciler.diff import context, judge, ownership, recorded, usage
from reconciler.model.inventory import Presence, Probe, Right
from tests.worlds import Case, Recipe, build, calm, recipe, run, run_case
from tests.worlds.conditions import CALM, Condition
from tests.worlds.draft import MAIN
from tests.worlds.visitors import Visitor

Patch = pytest.MonkeyPatch
# `reconciler.diff` has functions of these names.
interrupted, leftovers, managed, row_findings = (
    import_module(f"reconciler.diff.{name}") for name in ("interrupted", "leftovers", "managed", "row_findings")
)


def _no_grace(patch: Patch) -> None:
    for room in (judge, deciding):
        patch.setattr(room, "grace_ends", lambda *_args, **_kwargs: 0)


def _one_proof(patch: Patch) -> None:
    patch.setattr(ownership, "_judge", lambda signals, **_: (bool(signals), "one is enough"))


def _copied_tags_of_another_scope(patch: Patch) -> None:
    for room in (ownership, guard, managed, interrupted):
        patch.setattr(room, "foreign_scope", lambda *_args, **_kwargs: None)


def _never_is_touched(patch: Patch) -> None:
    for room in (ownership, context, guard, interrupted):
        patch.setattr(room, "never_reason", lambda *_args, **_kwargs: None)


def _unread_stack(patch: Patch) -> None:
    patch.setattr(context.Context, "unread", None)


def _lock_ignored(patch: Patch) -> None:
    patch.setattr(context.Context, "live_anywhere", None)


def _pending_ignored(patch: Patch) -> None:
    patch.setattr(context.Context, "pending", ())


def _protected(patch: Patch) -> None:
    whole = judge.judge_server

    def bare(server: Any, claim: Any, **given: Any) -> Any:
        return whole(dataclasses.replace(server, protected=False), claim, **given)

    patch.setattr(leftovers, "judge_server", bare)


def _in_use(patch: Patch) -> None:
    patch.setattr(leftovers, "in_use", lambda _child: False)


def _ipam_ignored(patch: Patch) -> None:
    patch.setattr(usage.Usage, "user_of", lambda *_: None)


def _rescue(patch: Patch) -> None:
    patch.setattr(judge, "_part_of_a_machine", lambda *_: None)


def _takes_along(patch: Patch) -> None:
    patch.setattr(judge, "_takes_along", lambda *_: None)


def _wish_of_the_fleet(patch: Patch) -> None:
    patch.setattr(judge, "_asks", lambda *_: None)


def _elsewhere(patch: Patch) -> None:
    patch.setattr(judge, "_from_elsewhere", lambda *_: None)


def _rows_hold_nothing(patch: Patch) -> None:
    patch.setattr(recorded.Rows, "holders", lambda *_: iter(()))


def _create_never_late(patch: Patch) -> None:
    patch.setattr(row_findings, "create_ends_ms", lambda *_args, **_kwargs: 0)


def _cleared_too_early(patch: Patch) -> None:
    patch.setattr(interrupted, "_early", lambda *_: None)


def _tags_dropped(patch: Patch) -> None:
    restored = managed._with_tags_restored

    def only_ours(finding: Any, *given: Any) -> Any:
        made = restored(finding, *given)
        ours = tuple(tag for tag in made.tags_after or () if tag.startswith("reconciler"))
        return dataclasses.replace(made, tags_after=ours if made.tags_after else None)

    patch.setattr(managed, "_with_tags_restored", only_ours)
    from reconciler.cloud import tags

    patch.setattr(tags, "_refuse_loss", lambda *_: None)


def _worlds(*scenes: str, condition: Condition = CALM) -> Iterator[Recipe]:
    for seed in range(40):
        yield dataclasses.replace(calm(recipe(seed), *scenes), condition=condition)


@pytest.mark.parametrize(
    ("mutant", "worlds"),
    [
        (_no_grace, _worlds(*["leftover"] * 4)),
        (_one_proof, _worlds(*["leftover"] * 4)),
        (_copied_tags_of_another_scope, _worlds(*["looks like ours"] * 4)),
        (_never_is_touched, _worlds(*["looks like ours"] * 4)),
        (_unread_stack, _worlds("leftover", condition=Condition(unread=True))),
        (_lock_ignored, _worlds("leftover", condition=Condition(locked=MAIN))),
        (_pending_ignored, _worlds("leftover", "leftover", "interrupted update")),
        (_protected, _worlds(*["leftover"] * 9)),
        (_in_use, _worlds(*["used by somebody"] * 4)),
        (_ipam_ignored, _worlds(*["used by somebody"] * 4)),
        (_takes_along, _worlds("takes a stranger's local volume along")),
        (_wish_of_the_fleet, _worlds(*["leftover"] * 9)),
        (_elsewhere, _worlds(*["leftover"] * 9)),
        (_rows_hold_nothing, _worlds("worker at work", "worker at work")),
        (_create_never_late, _worlds("create that made nothing")),
        (_cleared_too_early, _worlds("interrupted create in ci/prod")),
    ],
)
def test_the_first_sweep_of_an_honest_world_notices(
    mutant: Callable[[Patch], None], worlds: Iterator[Recipe], monkeypatch: Patch
) -> None:
    mutant(monkeypatch)
    assert any(run(build(one), commands=("drift",), rounds=1).wrong for one in worlds)


@pytest.mark.parametrize(
    ("mutant", "worlds"), [(_rescue, _worlds("rescue")), (_tags_dropped, _worlds("declared tags lost"))]
)
def test_the_truth_of_an_honest_world_notices(
    mutant: Callable[[Patch], None], worlds: Iterator[Recipe], monkeypatch: Patch
) -> None:
    mutant(monkeypatch)
    assert any(run(build(one)).violations for one in worlds)


# -- mutants that only a visitor between plan and apply brings to light


def _owners_not_asked_again(patch: Patch) -> None:
    patch.setattr(deciding, "_owned", lambda *_: None)


def _not_looked_at_again(patch: Patch) -> None:
    for room in (deciding, driving):
        patch.setattr(room, "refusal", lambda *_args, **_kwargs: None)


@pytest.mark.parametrize("mutant", [_owners_not_asked_again, _not_looked_at_again])
def test_a_visited_world_notices(mutant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    mutant(monkeypatch)
    worlds = _worlds(*["leftover"] * 4)
    assert any(run(build(one), visitor=Visitor(one.seed)).violations for one in worlds)


# -- mutants that only a lie brings to light


def _forbidden_is_gone(patch: Patch) -> None:
    look = probing.look

    def believing(api: Any, ref: Any) -> probing.Sighting:
        seen = look(api, ref)
        if seen.probe.presence is not Presence.UNKNOWN or seen.probe.status not in (403, 429):
            return seen
        gone = Probe(ref=ref, presence=Presence.ABSENT, at_ms=seen.probe.at_ms, status=seen.probe.status)
        return dataclasses.replace(seen, probe=gone)

    patch.setattr(probing, "look", believing)  # everybody asks through the module


def _incomplete_list_is_believed(patch: Patch) -> None:
    scan = scanning.scan

    def believing(*given: Any, **named: Any) -> Any:
        return dataclasses.replace(scan(*given, **named), complete=True, right=Right.PROVED)

    patch.setattr(scanning, "scan", believing)
    patch.setattr(proofs, "scan", believing)


def _accepted_is_gone(patch: Patch) -> None:
    def finalise(self: Any) -> bool:
        lease = self.setting.lease
        refs = self.warrant.refs - set(self.struck)
        return bool(self.setting.store.finalise_deletion(self.warrant, proved_absent=refs, lease=lease))

    patch.setattr(driving._Drive, "_finalise", finalise)
    patch.setattr(driving._Drive, "_round", _sent_once(driving._Drive._round))


def _sent_once(whole: Callable[[Any], set[Any]]) -> Callable[[Any], set[Any]]:
    def round_(self: Any) -> set[Any]:
        whole(self)
        return set()

    return round_


def _bookings_not_read(patch: Patch) -> None:
    patch.setattr(judge, "_bookings_not_read", lambda *_: None)
    patch.setattr(destroy, "_booking_verdict", lambda *_: None)


def _lying(kind: str, scene: str, **given: Any) -> list[Case]:
    """Small worlds in which this lie is told to everybody as long as it may be."""
    from reconciler.simulator.lies import lie_from_json

    lie = lie_from_json({"lie": kind, **given})
    made = [calm(recipe(seed), *(scene,) * 3) for seed in range(6)]
    return [Case(recipe=one, lie=lie, from_round=0) for one in made]


@pytest.mark.parametrize(
    ("mutant", "cases"),
    [
        (_forbidden_is_gone, _lying("hiding_403", "fleet in order", reads="both", lists="empty")),
        (_incomplete_list_is_believed, _lying("empty_list", "interrupted create in ci/prod", kinds=["server"])),
        (_accepted_is_gone, _lying("delete_stays", "leftover")),
        (_bookings_not_read, _lying("empty_list", "used by somebody", kinds=["ipam_ip"])),
    ],
)
def test_a_lying_world_notices(mutant: Callable[[Patch], None], cases: list[Case], monkeypatch: Patch) -> None:
    assert all(run_case(one).ok for one in cases[:2])
    mutant(monkeypatch)
    assert any(run_case(one).violations for one in cases)
