"""Races of the deletion protocol: two connections, proved waiting, both winners, and controls that must fail."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from reconciler.kernel.errors import NotLeaderError, RefusedError
from reconciler.model.resources import Kind
from reconciler.model.warrant import Warrant
from reconciler.ports.store import Lease
from reconciler.store import SqlStore
from tests.store.place import OTHER_SCOPE, SCOPE, Place, decide, hold, lead, ref
from tests.store.racing import Gate, Job, race, wait_until_blocked

TARGET = ref(1)
CHILD = ref(2, Kind.VOLUME)


def deciding(lease: Lease, **changes: Any) -> Callable[[SqlStore], Warrant]:
    return lambda store: decide(store, lease, TARGET, CHILD, **changes)


def noted(store: SqlStore) -> None:
    """The rows of both resources exist, unheld: then the race is for a row's lock, not for its insertion."""
    for number, item in enumerate((TARGET, CHILD)):
        store.release_adoption(hold(store, item, urn=f"urn:{number}"))


@pytest.fixture(params=["rows exist", "rows are new"])
def raced(request: pytest.FixtureRequest, store: SqlStore) -> SqlStore:
    if request.param == "rows exist":
        noted(store)
    return store


@pytest.mark.parametrize("held", [TARGET, CHILD], ids=["target", "child"])
def test_a_decision_that_commits_first_refuses_the_hold_that_waited(place: Place, raced: SqlStore, held: Any) -> None:
    lease = lead(raced)
    decision, holding = race(
        place, (raced, deciding(lease)), lambda other: hold(other, held), stop_after="resources.doom"
    )
    assert decision.get().refs == {TARGET, CHILD}
    assert holding.code == "RC0623"
    assert isinstance(holding.error, RefusedError)
    assert place.count("adoptions", "resource_live = 1") == 0
    assert place.broken() == {}


@pytest.mark.parametrize("held", [TARGET, CHILD], ids=["target", "child"])
def test_a_hold_that_commits_first_refuses_the_decision_that_waited(place: Place, raced: SqlStore, held: Any) -> None:
    lease = lead(raced)
    holding, decision = race(
        place, (raced, lambda store: hold(store, held)), deciding(lease), stop_after="holds.insert"
    )
    assert holding.get()
    assert decision.code == "RC0621"
    assert place.count("deletion_claims") == 0
    assert place.count("provider_resources", "live IS NULL") == 0


def test_two_decisions_on_one_target_make_one_deletion(place: Place, raced: SqlStore) -> None:
    lease = lead(raced)
    first, second = race(place, (raced, deciding(lease)), deciding(lease), stop_after="resources.doom")
    assert first.get() == second.get()
    assert place.count("deletion_claims") == 1


@pytest.mark.parametrize("scope", [SCOPE, OTHER_SCOPE], ids=["same scope", "two scopes"])
def test_of_two_deletions_that_want_one_child_the_first_gets_it(place: Place, raced: SqlStore, scope: str) -> None:
    lease = lead(raced)
    rival = ref(9)
    first, second = race(
        place,
        (raced, deciding(lease)),
        lambda other: decide(other, lease, rival, CHILD, scope=scope),
        stop_after="resources.doom",
    )
    assert first.get().covers(CHILD)
    assert second.code == "RC0626"
    assert place.count("deletion_claims") == 1
    assert place.broken() == {}


def test_the_rate_rail_counts_a_decision_that_was_not_yet_committed_when_the_second_began(
    place: Place, store: SqlStore
) -> None:
    lease = lead(store)
    first, second = race(
        place,
        (store, deciding(lease, per_hour=1)),
        lambda other: decide(other, lease, ref(9), per_hour=1),
        stop_after="resources.doom",
    )
    assert first.get()
    assert second.code == "RC0622"
    assert place.count("deletion_claims") == 1


def test_a_decision_that_waits_for_a_finalisation_makes_a_deletion_of_its_own(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, CHILD)
    finalised, decision = race(
        place,
        (store, lambda s: s.finalise_deletion(warrant, proved_absent=warrant.refs, lease=lease)),
        deciding(lease),
        stop_after="finalise.rows",
    )
    assert finalised.get() is True
    assert decision.get().deletion_id != warrant.deletion_id
    assert place.broken() == {}


def test_a_finalisation_that_waits_for_a_repeated_decision_closes_that_very_deletion(
    place: Place, store: SqlStore
) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, CHILD)
    decision, finalised = race(
        place,
        (store, deciding(lease)),
        lambda other: other.finalise_deletion(warrant, proved_absent=warrant.refs, lease=lease),
        stop_after="lease.fence",
    )
    assert decision.get() == warrant
    assert finalised.get() is True
    assert place.count("provider_resources") == 0


def test_a_hold_that_waits_for_a_finalisation_is_on_a_new_row(place: Place, store: SqlStore) -> None:
    """The doomed row goes away under the lock that the hold waits for; the hold notes the resource anew."""
    lease = lead(store)
    warrant = decide(store, lease, TARGET, CHILD)
    (before,) = place.rows("SELECT id FROM provider_resources WHERE kind = 'server'")
    finalised, holding = race(
        place,
        (store, lambda s: s.finalise_deletion(warrant, proved_absent=warrant.refs, lease=lease)),
        lambda other: hold(other, TARGET),
        stop_after="finalise.rows",
    )
    assert finalised.get() is True
    assert holding.get()
    (after,) = place.rows("SELECT id FROM provider_resources WHERE kind = 'server'")
    assert after.id != before.id
    assert place.broken() == {}


def test_a_finalisation_that_waits_for_a_refused_hold_goes_on(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, CHILD)
    holding, finalised = race(
        place,
        (store, lambda s: hold(s, TARGET)),
        lambda other: other.finalise_deletion(warrant, proved_absent=warrant.refs, lease=lease),
        stop_after="resources.lock",
    )
    assert holding.code == "RC0623"
    assert finalised.get() is True


def take_lease(store: SqlStore) -> Lease:
    return lead(store, "second")


def test_a_takeover_waits_for_the_decision_and_then_finds_it(place: Place, store: SqlStore) -> None:
    old = lead(store, ttl_seconds=0)
    decision, takeover = race(place, (store, deciding(old)), take_lease, stop_after="lease.fence")
    warrant, new = decision.get(), takeover.get()
    assert new.token == old.token + 1
    (found,) = store.open_deletions(SCOPE)
    assert found.id == warrant.deletion_id
    with pytest.raises(NotLeaderError):
        store.note_sent(warrant, lease=old)
    assert store.warrant_of(found, lease=new).fence_token == new.token


def test_a_decision_that_waits_for_a_takeover_is_refused(place: Place, store: SqlStore) -> None:
    old = lead(store, ttl_seconds=0)
    takeover, decision = race(place, (store, take_lease), deciding(old), stop_after="lease.set")
    assert takeover.get().token == old.token + 1
    assert decision.code == "RC0752"
    assert place.count("deletion_claims") == 0


def test_a_takeover_waits_for_the_finalisation(place: Place, store: SqlStore) -> None:
    old = lead(store, ttl_seconds=0)
    warrant = decide(store, old, TARGET, CHILD)
    finalised, takeover = race(
        place,
        (store, lambda s: s.finalise_deletion(warrant, proved_absent=warrant.refs, lease=old)),
        take_lease,
        stop_after="lease.fence",
    )
    assert finalised.get() is True
    assert takeover.get().token == old.token + 1


def test_a_finalisation_that_waits_for_a_takeover_is_refused(place: Place, store: SqlStore) -> None:
    old = lead(store, ttl_seconds=0)
    warrant = decide(store, old, TARGET, CHILD)
    takeover, finalised = race(
        place,
        (store, take_lease),
        lambda other: other.finalise_deletion(warrant, proved_absent=warrant.refs, lease=old),
        stop_after="lease.set",
    )
    assert takeover.get()
    assert finalised.code == "RC0752"
    assert place.count("provider_resources", "live IS NULL") == 2


def test_two_strikes_of_one_id_are_one(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, CHILD)

    def strike(other: SqlStore) -> Warrant:
        return other.strike(warrant, ref=CHILD, why="attached again", lease=lease)

    first, second = race(place, (store, strike), strike, stop_after="claims.lock")
    assert first.get() == second.get()
    assert place.count("deletion_refs", "struck_ms IS NOT NULL") == 1


@pytest.mark.postgres
def test_a_hold_does_not_wait_for_a_decision_that_has_not_come_to_its_resource(postgres_place: Place) -> None:
    """Else the two could wait for each other: the hold for the scope, the decision for the new resource."""
    store = postgres_place.store()
    lease = lead(store)
    hold(store, ref(9))  # the scope's row exists
    gate = Gate(store, "claims.open")
    decision = Job(lambda: deciding(lease)(store))
    assert gate.reached.wait(20)
    assert hold(postgres_place.store(), CHILD, urn="urn:b")
    gate.go.set()
    assert decision.join().code == "RC0621"


@pytest.mark.postgres
def test_a_hold_whose_row_is_finalised_away_before_it_is_locked_notes_the_resource_anew(postgres_place: Place) -> None:
    store, other = postgres_place.store(), postgres_place.store()
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    gate = Gate(other, "resources.lock", before=True)  # it has seen the row, so it inserted none
    holding = Job(lambda: hold(other, TARGET))
    assert gate.reached.wait(20)
    assert store.finalise_deletion(warrant, proved_absent=[TARGET], lease=lease)
    gate.go.set()
    assert holding.join().get()
    assert store.memory(SCOPE).held == {TARGET}


# -- controls: without one layer the other still holds; without both the race is lost, so the tests above can fail


def test_the_composite_key_refuses_the_decision_when_the_view_knows_nothing_of_the_hold(
    place: Place, store: SqlStore
) -> None:
    place.without_eligibility()
    lease = lead(store)
    hold(store, CHILD)
    with pytest.raises(RefusedError) as refused:
        decide(store, lease, TARGET, CHILD)
    assert refused.value.code == "RC0621"
    assert place.count("provider_resources", "live IS NULL") == 0


def test_the_composite_key_refuses_an_extension_when_the_view_knows_nothing_of_the_hold(
    place: Place, store: SqlStore
) -> None:
    place.without_eligibility()
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    hold(store, CHILD)
    with pytest.raises(RefusedError) as refused:
        store.extend_deletion(warrant, found=[CHILD], lease=lease)
    assert refused.value.code == "RC0621"
    assert place.count("deletion_refs") == 1


def test_the_composite_key_refuses_a_hold_that_nobody_checked(place: Place, store: SqlStore) -> None:
    decide(store, lead(store), TARGET)
    (row,) = place.rows("SELECT id FROM provider_resources")
    raw = text("INSERT INTO adoptions (id, resource_id, stack, urn, held_ms) VALUES ('a', :resource, 's', 'u', 0)")
    with store.database.engine.connect() as connection, connection.begin() as transaction:
        with pytest.raises(Exception, match=r"(?i)foreign key"):
            connection.execute(raw, {"resource": row.id})
        transaction.rollback()


@pytest.mark.postgres
def test_the_second_statement_alone_is_enough_where_the_composite_key_is_gone(postgres_place: Place) -> None:
    postgres_place.without_composite_key()
    store = postgres_place.store()
    noted(store)
    lease = lead(store)
    holding, decision = race(
        postgres_place, (store, lambda s: hold(s, CHILD)), deciding(lease), stop_after="holds.insert"
    )
    assert holding.get()
    assert decision.code == "RC0621"


@pytest.mark.postgres
def test_reading_live_under_the_lock_alone_refuses_the_hold_where_the_composite_key_is_gone(
    postgres_place: Place,
) -> None:
    postgres_place.without_composite_key()
    store = postgres_place.store()
    lease = lead(store)
    decision, holding = race(
        postgres_place, (store, deciding(lease)), lambda other: hold(other, CHILD), stop_after="resources.doom"
    )
    assert decision.get()
    assert holding.code == "RC0623"


@pytest.mark.postgres
def test_the_decision_waits_for_a_hold_that_somebody_inserts_without_a_lock(postgres_place: Place) -> None:
    """The row is locked FOR UPDATE, which an uncommitted reference is in the way of; a weaker lock would not wait."""
    store = postgres_place.store()
    noted(store)
    lease = lead(store)
    raw = text(
        "INSERT INTO adoptions (id, resource_id, stack, urn, held_ms) "
        "SELECT 'a', id, 's', 'urn:careless', 0 FROM provider_resources WHERE kind = 'volume'"
    )
    with postgres_place.engine.connect() as connection:
        connection.execute(raw)
        decision = Job(lambda: deciding(lease)(store))
        wait_until_blocked(postgres_place)
        connection.commit()
    ended = decision.join()
    assert ended.code == "RC0621"
    assert "urn:careless" in str(ended.error)  # the view saw it, not only the composite key


@pytest.mark.postgres
def test_checking_and_dooming_in_one_statement_dooms_a_held_resource(postgres_place: Place) -> None:
    """The control: PostgreSQL answers the sub-select from the snapshot of before the wait."""
    place = postgres_place
    place.without_composite_key()
    store = place.store()
    noted(store)
    lease = lead(store)
    decide(store, lease, ref(9))  # gives the careless writer a deletion to point to
    gate = Gate(store, "holds.insert")
    holding = Job(lambda: hold(store, CHILD))
    assert gate.reached.wait(20)
    careless = Job(
        lambda: place.sql(
            "UPDATE provider_resources SET live = NULL, deletion_id = (SELECT id FROM deletion_claims) "
            "WHERE kind = 'volume' AND id IN (SELECT id FROM orphan_resources)"
        )
    )
    wait_until_blocked(place)
    gate.go.set()
    assert holding.join().get()
    assert careless.join().get() == 1
    assert "no hold is on a doomed resource" in place.broken()


def test_pythons_default_transactions_on_sqlite_doom_a_held_resource(sqlite_place: Place) -> None:
    """The control for BEGIN IMMEDIATE and foreign_keys: the driver's defaults lose the race without an error."""
    store = sqlite_place.store()
    noted(store)
    decide(store, lead(store), ref(9))
    path = sqlite_place.url.removeprefix("sqlite:///")
    careless = sqlite3.connect(path)
    (resource,) = careless.execute("SELECT id FROM orphan_resources WHERE kind = 'volume'").fetchone()
    hold(store, CHILD)
    careless.execute(
        "UPDATE provider_resources SET live = NULL, deletion_id = (SELECT id FROM deletion_claims) WHERE id = ?",
        (resource,),
    )
    careless.commit()
    careless.close()
    assert "no hold is on a doomed resource" in sqlite_place.broken()
