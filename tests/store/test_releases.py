"""Releases: what a person took out of our hands cannot be doomed, and what is doomed cannot be released."""

from __future__ import annotations

import pytest

from reconciler.kernel.errors import RefusedError
from reconciler.model.memory import Release
from reconciler.store.check import check
from tests.store.place import SCOPE, Place, decide, hold, lead, ref
from tests.store.test_sweeps import record


def release(number: int, *, with_: int | None = None) -> Release:
    owner = ref(with_ if with_ is not None else number)
    return Release(ref=ref(number), with_id=owner.id, stack="ci/prod", urn=f"urn:{number}")


def begin(place: Place, *items: Release) -> None:
    place.store().begin_release(SCOPE, items, by="eva", reason="moved")


def test_a_released_resource_cannot_be_doomed(place: Place) -> None:
    store = place.store()
    lease = lead(store)
    begin(place, release(1))
    with pytest.raises(RefusedError) as caught:
        decide(store, lease, ref(1))
    assert caught.value.code == "RC0621"


def test_a_child_that_was_released_cannot_be_doomed_with_its_server(place: Place) -> None:
    store = place.store()
    lease = lead(store)
    begin(place, release(2))
    with pytest.raises(RefusedError):
        decide(store, lease, ref(1), ref(2))


def test_a_doomed_resource_cannot_be_released_and_none_beside_it(place: Place) -> None:
    store = place.store()
    decide(store, lead(store), ref(1))
    with pytest.raises(RefusedError) as caught:
        begin(place, release(2), release(1))
    assert caught.value.code == "RC0686"
    assert store.memory(SCOPE).released == {}


def test_what_an_adoption_holds_cannot_be_released(place: Place) -> None:
    hold(place.store(), ref(1))
    with pytest.raises(RefusedError) as caught:
        begin(place, release(1))
    assert caught.value.code == "RC0687"


def test_a_release_is_remembered_and_is_no_adoption(place: Place) -> None:
    begin(place, release(1), release(2, with_=1))
    memory = place.store().memory(SCOPE)
    assert {one: (found.with_id, found.done_ms) for one, found in memory.released.items()} == {
        ref(1): (ref(1).id, None),
        ref(2): (ref(1).id, None),
    }
    assert memory.held == frozenset()


def test_releasing_twice_is_once(place: Place) -> None:
    begin(place, release(1))
    before = place.rows("SELECT * FROM releases")
    begin(place, release(1))
    assert place.rows("SELECT * FROM releases") == before


def test_a_finished_release_is_done(place: Place) -> None:
    begin(place, release(1), release(2))
    place.store().finish_release(SCOPE, [ref(1)])
    found = place.store().memory(SCOPE).released
    assert (found[ref(1)].done_ms is not None, found[ref(2)].done_ms) == (True, None)


def test_a_database_with_releases_passes_every_check(place: Place) -> None:
    begin(place, release(1))
    assert all(line.ok for line in check(place.url))


def test_a_state_that_holds_it_again_ends_a_finished_release_and_frees_it(place: Place) -> None:
    store = place.store()
    begin(place, release(1), release(2))
    store.finish_release(SCOPE, [ref(1)])
    written = store.record_sweep(record(1, managed_again=(ref(1), ref(2))))
    assert (set(store.memory(SCOPE).released), written.updated) == ({ref(2)}, 1)
    decide(store, lead(store), ref(1))


def test_it_can_be_released_again_after_that(place: Place) -> None:
    store = place.store()
    begin(place, release(1))
    store.finish_release(SCOPE, [ref(1)])
    store.record_sweep(record(1, managed_again=(ref(1),)))
    begin(place, release(1))
    assert (set(store.memory(SCOPE).released), place.count("releases")) == ({ref(1)}, 2)
