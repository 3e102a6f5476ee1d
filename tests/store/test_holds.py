"""Adoptions as holds."""

from __future__ import annotations

import pytest

from reconciler.kernel.errors import RefusedError
from reconciler.store import SqlStore
from tests.store.place import OTHER_SCOPE, SCOPE, Place, decide, hold, lead, ref


def test_a_held_resource_is_remembered_as_held(store: SqlStore) -> None:
    hold(store, ref(1))
    assert store.memory(SCOPE).held == {ref(1)}


def test_holding_again_for_the_same_urn_is_the_same_hold(place: Place, store: SqlStore) -> None:
    assert hold(store, ref(1)) == hold(store, ref(1))
    assert place.count("adoptions") == 1


def test_a_resource_is_held_for_one_urn(store: SqlStore) -> None:
    hold(store, ref(1), urn="urn:a")
    with pytest.raises(RefusedError) as refused:
        hold(store, ref(1), urn="urn:b")
    assert refused.value.code == "RC0624"


def test_a_urn_holds_one_resource(store: SqlStore) -> None:
    hold(store, ref(1), urn="urn:a")
    with pytest.raises(RefusedError) as refused:
        hold(store, ref(2), urn="urn:a")
    assert refused.value.code == "RC0625"


def test_a_doomed_resource_cannot_be_held(store: SqlStore) -> None:
    decide(store, lead(store), ref(1))
    with pytest.raises(RefusedError) as refused:
        hold(store, ref(1))
    assert refused.value.code == "RC0623"


def test_a_hold_of_one_scope_binds_every_scope(store: SqlStore) -> None:
    hold(store, ref(1), scope=OTHER_SCOPE)
    assert store.memory(SCOPE).held == {ref(1)}
    with pytest.raises(RefusedError):
        decide(store, lead(store), ref(1))


def test_a_released_hold_forbids_nothing_and_stays_as_history(place: Place, store: SqlStore) -> None:
    adoption = hold(store, ref(1))
    store.release_adoption(adoption)
    released = place.rows("SELECT released_ms FROM adoptions")
    place.clock.advance(5)
    store.release_adoption(adoption)
    assert store.memory(SCOPE).held == frozenset()
    assert place.rows("SELECT released_ms FROM adoptions") == released != [(None,)]
    assert hold(store, ref(1)) != adoption


def test_releasing_an_unknown_hold_does_nothing(store: SqlStore) -> None:
    store.release_adoption("no such id")
