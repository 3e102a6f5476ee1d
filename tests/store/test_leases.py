"""The lease: one holder, tokens that only rise, expiry by one clock."""

from __future__ import annotations

import pytest

from reconciler.kernel.errors import NotLeaderError
from reconciler.store import SqlStore
from tests.store.place import Place, lead
from tests.store.racing import race


def test_the_first_holder_gets_token_one(store: SqlStore) -> None:
    assert lead(store).token == 1


def test_a_held_lease_is_refused_with_the_holder_and_the_time_left(store: SqlStore) -> None:
    lead(store, "host-a 4711", ttl_seconds=60)
    with pytest.raises(NotLeaderError) as refused:
        lead(store, "host-b 1")
    assert refused.value.code == "RC0750"
    assert "host-a 4711" in refused.value.message
    assert "60 s" in refused.value.message


def test_the_same_holder_is_refused_too(store: SqlStore) -> None:
    lead(store, "same")
    with pytest.raises(NotLeaderError):
        lead(store, "same")


def test_an_expired_lease_is_taken_over_with_the_next_token(store: SqlStore) -> None:
    first = lead(store, ttl_seconds=0)
    assert lead(store, "second").token == first.token + 1


def test_a_released_lease_is_free_at_once(store: SqlStore) -> None:
    first = lead(store)
    store.release_lease(first)
    assert lead(store, "second").token == first.token + 1


def test_a_renewed_lease_keeps_its_token_and_lives_longer(store: SqlStore) -> None:
    first = lead(store, ttl_seconds=10)
    renewed = store.renew_lease(first, ttl_seconds=1_000)
    assert renewed.token == first.token
    assert renewed.expires_ms > first.expires_ms


def test_an_expired_lease_that_nobody_took_can_be_renewed(store: SqlStore) -> None:
    assert store.renew_lease(lead(store, ttl_seconds=0), ttl_seconds=60).token == 1
    with pytest.raises(NotLeaderError):
        lead(store, "second")


@pytest.mark.parametrize("how", ["taken over", "released"])
def test_a_lease_that_is_no_longer_ours_cannot_be_renewed(store: SqlStore, how: str) -> None:
    first = lead(store, ttl_seconds=0)
    if how == "released":
        store.release_lease(first)
    else:
        lead(store, "second")
    with pytest.raises(NotLeaderError) as refused:
        store.renew_lease(first, ttl_seconds=60)
    assert refused.value.code == "RC0751"


def test_releasing_an_old_lease_does_not_free_the_new_one(store: SqlStore) -> None:
    first = lead(store, ttl_seconds=0)
    lead(store, "second")
    store.release_lease(first)
    with pytest.raises(NotLeaderError):
        lead(store, "third")


def test_leases_of_different_names_do_not_meet(store: SqlStore) -> None:
    assert store.acquire_lease("a", holder="x", ttl_seconds=60).token == 1
    assert store.acquire_lease("b", holder="y", ttl_seconds=60).token == 1


@pytest.mark.parametrize("known", [True, False], ids=["expired row", "first ever"])
def test_of_two_that_ask_at_once_one_gets_it(place: Place, store: SqlStore, known: bool) -> None:
    if known:
        lead(store, "before", ttl_seconds=0)
    first, second = race(
        place, (store, lambda s: lead(s, "first")), lambda other: lead(other, "second"), stop_after="lease.set"
    )
    assert first.get().holder == "first"
    assert second.code == "RC0750"


def test_on_sqlite_expiry_is_by_the_injected_clock(sqlite_place: Place) -> None:
    store = sqlite_place.store()
    lease = lead(store, ttl_seconds=15)
    assert lease.expires_ms == sqlite_place.clock.now_ms() + 15_000
    sqlite_place.clock.advance(14.999)
    with pytest.raises(NotLeaderError):
        lead(store, "second")
    sqlite_place.clock.advance(0.001)
    assert lead(store, "second").token == 2


@pytest.mark.postgres
def test_on_postgresql_expiry_is_by_the_clock_of_the_database(postgres_place: Place) -> None:
    store = postgres_place.store()
    lease = lead(store, ttl_seconds=600)
    postgres_place.clock.advance(1_000_000)
    with pytest.raises(NotLeaderError):
        lead(store, "second")
    (now,) = postgres_place.rows("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)")[0]
    assert 0 <= now + 600_000 - lease.expires_ms < 60_000
