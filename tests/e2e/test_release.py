"""Released with the real engine, provider and store: the machine runs on, and no sweep takes it for a leftover.

The scope trusts its owner tags, so everything here would be destroyed if the release did not stand against it; the
control beside it takes the same entries out of the state by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.apply.releasing import Proposal, Released, propose, release, rows
from reconciler.kernel.errors import RefusedError
from reconciler.model.finding import Finding, FindingKind, Verdict
from reconciler.model.plan import Mode
from reconciler.model.resources import Kind
from reconciler.store import SqlStore
from tests.e2e.broken_fleet import fleet, root_of
from tests.e2e.product import SCOPE_UUID, STACK, scope
from tests.e2e.rig import Rig, missing_tool

pytestmark = pytest.mark.engine


@dataclass(frozen=True)
class Estate:
    """One machine with its address, deployed, its root tagged, and remembered."""

    rig: Rig
    store: SqlStore

    def proposal(self, *names: str) -> Proposal:
        product = self.rig.product
        state = product.engine().read(STACK)
        targets = [(STACK, entry) for entry in state.resources if entry.name in names]
        with product.cloud() as cloud:
            return propose(
                scope=scope(),
                cloud=cloud,
                states={STACK: state},
                memory=self.store.memory(SCOPE_UUID),
                targets=targets,
                unfinished=[ref for ref, one in self.store.memory(SCOPE_UUID).released.items() if one.done_ms is None],
                with_dependants=True,
                force=False,
            )

    def release(self, proposal: Proposal) -> Released:
        product = self.rig.product
        with product.cloud() as cloud:
            return release(
                proposal,
                cloud=cloud,
                engine=product.engine(),
                store=self.store,
                holder="tests:1",
                reason="moved",
                force=False,
                on_child=lambda _: None,
            )

    def later(self) -> tuple[Finding, ...]:
        """A sweep after the grace, with everything remembered."""
        self.rig.product.sweep(self.store)
        self.rig.clock.advance(7200)
        return self.rig.product.sweep(self.store)[1]


@pytest.fixture
def estate(tmp_path: Path) -> Iterator[Estate]:
    tool = missing_tool()
    if tool is not None:
        pytest.skip(f"no {tool} on PATH: `make test` brings one")
    with Rig(tmp_path) as rig:
        rig.up(fleet(range(1)))
        store = rig.product.store()
        with rig.product.cloud() as cloud:
            rig.product.applier(store, cloud).apply(rig.product.plan(store, mode=Mode.REPAIR))
        rig.product.sweep(store)
        yield Estate(rig, store)
        store.close()
        assert rig.strays() == []


def require_let_go(estate: Estate) -> None:
    findings = estate.later()
    assert {(one.kind, one.verdict) for one in findings} == {(FindingKind.UNMANAGED, Verdict.NONE)}
    assert estate.rig.product.plan(estate.store).actions == ()
    assert estate.rig.product.engine().read(STACK).by_ref == {}


def test_what_is_released_runs_on_and_is_nobodys_leftover(estate: Estate) -> None:
    rig, before = estate.rig, estate.rig.mutating_calls()
    root = root_of(rig, rig.provider_ids()["linux-0-server"])
    proposal = estate.proposal("linux-0")
    assert {one.ref.kind for one in rows(proposal)} == {Kind.SERVER, Kind.IP, Kind.VOLUME}
    released = estate.release(proposal)
    assert (len(released.entries), len(released.untagged), released.failed) == (2, 3, {})
    assert {call.partition(" ")[0] for call in rig.mutating_calls()[len(before) :]} == {"PATCH"}
    assert any(root in call for call in rig.mutating_calls()[len(before) :])
    require_let_go(estate)


def test_a_release_that_was_killed_before_its_tags_is_as_good_and_can_be_finished(estate: Estate) -> None:
    proposal = estate.proposal("linux-0")
    estate.store.begin_release(SCOPE_UUID, rows(proposal), by="tests:0", reason="")
    engine = estate.rig.product.engine()
    urns, serial = proposal.urns(STACK), proposal.serials[STACK]
    engine.release(STACK, urns, serial=serial, force=False, on_child=lambda _: None)
    require_let_go(estate)
    finished = estate.release(estate.proposal())
    assert (finished.entries, len(finished.untagged)) == ((), 3)
    assert all(one.done_ms is not None for one in estate.store.memory(SCOPE_UUID).released.values())


def test_a_release_that_the_engine_refuses_leaves_everything_managed(estate: Estate) -> None:
    proposal = estate.proposal("linux-0")
    estate.rig.pulumi("state", "protect", proposal.urns(STACK)[0], "--yes", "--stack", f"organization/{STACK}")
    with pytest.raises(RefusedError):
        estate.release(proposal)
    assert estate.store.memory(SCOPE_UUID).released == {}
    assert estate.later() == ()


def test_without_the_note_it_would_be_destroyed(estate: Estate) -> None:
    """The control: the same entries taken out by `pulumi state delete` alone."""
    urns = estate.proposal("linux-0").urns(STACK)
    estate.rig.pulumi("state", "delete", *urns, "--yes", "--stack", f"organization/{STACK}")
    assert [(one.kind, one.verdict) for one in estate.later()] == [(FindingKind.ORPHAN, Verdict.ACT)]
