"""The deletion protocol, one caller at a time."""

from __future__ import annotations

import dataclasses

import pytest

from reconciler.kernel.errors import NotLeaderError, RefusedError, StoreError
from reconciler.model.resources import Kind
from reconciler.model.warrant import DeletionStage
from reconciler.store import SqlStore
from tests.store.place import OTHER_SCOPE, PROJECT, SCOPE, Place, decide, hold, lead, ref

TARGET = ref(1)
VOLUME = ref(2, Kind.VOLUME)
IP = ref(3, Kind.IP)
FOUND = ref(4, Kind.NIC)


def test_a_warrant_names_what_was_decided(store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, VOLUME, IP)
    assert (warrant.scope, warrant.project, warrant.target) == (SCOPE, PROJECT, TARGET)
    assert warrant.refs == {TARGET, VOLUME, IP}
    assert warrant.fence_token == lease.token


def test_the_decision_is_on_disk_when_the_warrant_is_handed_out(place: Place, store: SqlStore) -> None:
    warrant = decide(store, lead(store), TARGET, VOLUME)
    (deletion,) = place.store().open_deletions(SCOPE)
    assert deletion.id == warrant.deletion_id
    assert set(deletion.refs) == warrant.refs
    assert place.count("provider_resources", "live IS NULL") == 2


def test_an_open_deletion_is_shown_with_why_and_since_when(place: Place, store: SqlStore) -> None:
    warrant = decide(store, lead(store), TARGET)
    deletion = store.deletion_of(warrant.deletion_id)
    assert deletion is not None
    assert (deletion.reason, deletion.finding_id, deletion.hour_nanos) == ("held by no ledger", "f" * 32, 1_000)
    assert (deletion.stage, deletion.attempts, deletion.last_error) == (DeletionStage.CLAIMED, 0, None)
    assert deletion.decided_ms == deletion.next_attempt_ms == place.clock.now_ms()


def test_an_unknown_deletion_is_none(store: SqlStore) -> None:
    assert store.deletion_of("no such id") is None


def test_deciding_again_gives_the_open_deletion_and_writes_nothing(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    first = decide(store, lease, TARGET, VOLUME)
    place.clock.advance(60)
    assert decide(store, lease, TARGET, VOLUME, per_hour=1) == first
    assert place.count("deletion_claims") == 1


def test_children_of_a_repeated_decision_do_not_widen_it(store: SqlStore) -> None:
    lease = lead(store)
    first = decide(store, lease, TARGET)
    assert decide(store, lease, TARGET, VOLUME).refs == first.refs == {TARGET}


@pytest.mark.parametrize("held", [TARGET, VOLUME], ids=["target", "child"])
def test_what_is_held_is_not_doomed_nor_anything_with_it(place: Place, store: SqlStore, held: object) -> None:
    lease = lead(store)
    adoption = hold(store, held)  # type: ignore[arg-type]
    with pytest.raises(RefusedError) as refused:
        decide(store, lease, TARGET, VOLUME)
    assert refused.value.code == "RC0621"
    assert "urn:a" in refused.value.message
    assert place.count("provider_resources", "live IS NULL") == place.count("deletion_claims") == 0
    store.release_adoption(adoption)
    assert decide(store, lease, TARGET, VOLUME).covers(VOLUME)


def test_what_is_doomed_already_is_not_part_of_a_second_deletion(store: SqlStore) -> None:
    lease = lead(store)
    decide(store, lease, TARGET, VOLUME)
    with pytest.raises(RefusedError) as refused:
        decide(store, lease, VOLUME)
    assert refused.value.code == "RC0626"


def test_an_open_deletion_of_another_scope_is_not_handed_out(store: SqlStore) -> None:
    lease = lead(store)
    decide(store, lease, TARGET)
    with pytest.raises(RefusedError) as refused:
        decide(store, lease, TARGET, scope=OTHER_SCOPE)
    assert refused.value.code == "RC0626"


def test_a_resource_without_an_id_is_refused_by_the_database(store: SqlStore) -> None:
    nameless = dataclasses.replace(TARGET, id="")
    with pytest.raises(StoreError) as refused:
        decide(store, lead(store), TARGET, nameless)
    assert refused.value.code == "RC0215"


def test_the_rate_rail_counts_one_hour_of_decisions(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    decide(store, lease, ref(1), per_hour=2)
    place.clock.advance(1_800)
    decide(store, lease, ref(2), per_hour=2)
    with pytest.raises(RefusedError) as refused:
        decide(store, lease, ref(3), per_hour=2)
    assert refused.value.code == "RC0622"
    place.clock.advance(1_800)  # the first is an hour old now
    assert decide(store, lease, ref(3), per_hour=2)


def test_the_rate_rail_counts_finished_deletions_too(store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, ref(1), per_hour=1)
    assert store.finalise_deletion(warrant, proved_absent=[ref(1)], lease=lease)
    with pytest.raises(RefusedError):
        decide(store, lease, ref(2), per_hour=1)


def test_the_rate_rail_of_one_scope_does_not_bind_another(store: SqlStore) -> None:
    lease = lead(store)
    decide(store, lease, ref(1), per_hour=1)
    assert decide(store, lease, ref(2), per_hour=1, scope=OTHER_SCOPE)


# -- extend


def test_an_id_found_later_gets_a_new_warrant_and_is_doomed(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    first = decide(store, lease, TARGET)
    second = store.extend_deletion(first, found=[FOUND], lease=lease)
    assert not first.covers(FOUND)
    assert second.refs == {TARGET, FOUND}
    assert place.broken() == {}


def test_extending_twice_is_once(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    first = decide(store, lease, TARGET)
    second = store.extend_deletion(first, found=[FOUND, TARGET], lease=lease)
    assert store.extend_deletion(first, found=[FOUND], lease=lease) == second
    assert place.count("deletion_refs") == 2


def test_a_held_id_that_is_found_later_is_kept_as_struck_and_the_rest_goes_on(store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    hold(store, VOLUME)
    extended = store.extend_deletion(warrant, found=[VOLUME, FOUND], lease=lease)
    assert extended.refs == {TARGET, FOUND}
    deletion = store.deletion_of(warrant.deletion_id)
    assert deletion is not None
    assert deletion.struck == (VOLUME,)
    assert store.memory(SCOPE).held == {VOLUME}


def test_an_id_of_another_deletion_that_is_found_later_stays_with_that_one(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    decide(store, lease, ref(9), VOLUME)
    warrant = decide(store, lease, TARGET)
    assert not store.extend_deletion(warrant, found=[VOLUME], lease=lease).covers(VOLUME)
    assert place.broken() == {}


def test_a_struck_id_is_not_taken_back_by_finding_it_again(store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, VOLUME)
    struck = store.strike(warrant, ref=VOLUME, why="attached again", lease=lease)
    assert store.extend_deletion(struck, found=[VOLUME], lease=lease).refs == {TARGET}


# -- strike


def test_a_struck_id_leaves_the_warrant_and_its_row_goes_away(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, VOLUME)
    assert store.strike(warrant, ref=VOLUME, why="protected", lease=lease).refs == {TARGET}
    assert place.rows("SELECT why FROM deletion_refs WHERE struck_ms IS NOT NULL") == [("protected",)]
    assert place.count("provider_resources") == 1
    assert place.broken() == {}


def test_a_struck_resource_can_be_held_and_decided_again_under_a_new_id(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, VOLUME)
    (before,) = place.rows("SELECT id FROM provider_resources WHERE kind = 'volume'")
    store.strike(warrant, ref=VOLUME, why="attached again", lease=lease)
    store.release_adoption(hold(store, VOLUME))
    (after,) = place.rows("SELECT id FROM provider_resources WHERE kind = 'volume'")
    assert after.id != before.id
    assert decide(store, lease, VOLUME).deletion_id != warrant.deletion_id


def test_an_id_that_was_never_captured_cannot_be_struck(store: SqlStore) -> None:
    lease = lead(store)
    with pytest.raises(StoreError) as refused:
        store.strike(decide(store, lease, TARGET), ref=FOUND, why="?", lease=lease)
    assert refused.value.code == "RC0217"


def test_the_rest_of_a_deletion_finalises_when_its_target_was_struck(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, VOLUME)
    warrant = store.strike(warrant, ref=TARGET, why="protected", lease=lease)
    assert store.finalise_deletion(warrant, proved_absent=[VOLUME], lease=lease)
    assert place.rows("SELECT outcome FROM deletion_claims") == [("partly_struck",)]


def test_a_deletion_with_every_id_struck_finalises_without_a_proof(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = store.strike(decide(store, lease, TARGET), ref=TARGET, why="protected", lease=lease)
    assert store.finalise_deletion(warrant, proved_absent=[], lease=lease)
    assert place.rows("SELECT outcome FROM deletion_claims") == [("struck",)]


# -- attempts


def test_a_sent_delete_and_its_error_are_one_attempt(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    for attempt in (1, 2):
        place.clock.advance(10)
        store.note_sent(warrant, lease=lease)
        store.note_error(warrant, error="500: try later", retry_seconds=30, lease=lease)
        deletion = store.deletion_of(warrant.deletion_id)
        assert deletion is not None
        assert deletion.attempts == attempt
        assert deletion.stage is DeletionStage.DELETE_SENT
        assert deletion.last_error == "500: try later"
        assert deletion.next_attempt_ms == place.clock.now_ms() + 30_000


def test_an_error_before_anything_was_sent_is_an_attempt(store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    store.note_error(warrant, error="GET timed out", retry_seconds=1, lease=lease)
    store.note_error(warrant, error="GET timed out", retry_seconds=2, lease=lease)
    deletion = store.deletion_of(warrant.deletion_id)
    assert deletion is not None
    assert (deletion.attempts, deletion.stage) == (2, DeletionStage.CLAIMED)


def test_an_error_text_that_no_database_takes_is_stored_readable_and_short(store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    store.note_error(warrant, error="bad\0 \ud800" + "x" * 5_000, retry_seconds=1, lease=lease)
    deletion = store.deletion_of(warrant.deletion_id)
    assert deletion is not None
    assert deletion.last_error is not None
    assert deletion.last_error.startswith("bad\N{REPLACEMENT CHARACTER} \N{REPLACEMENT CHARACTER}x")
    assert len(deletion.last_error) == 2_000


# -- finalise


def test_one_id_not_proved_absent_keeps_the_deletion_open_and_writes_nothing(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, VOLUME)
    assert store.finalise_deletion(warrant, proved_absent=[TARGET], lease=lease) is False
    assert place.count("provider_resources", "live IS NULL") == 2
    assert place.count("deletion_refs", "absent_ms IS NULL") == 2


def test_the_proof_of_an_old_warrant_is_not_enough_for_an_extended_deletion(store: SqlStore) -> None:
    lease = lead(store)
    first = decide(store, lease, TARGET)
    store.extend_deletion(first, found=[FOUND], lease=lease)
    assert store.finalise_deletion(first, proved_absent=first.refs, lease=lease) is False


def test_a_finalised_deletion_leaves_no_resource_row_and_keeps_its_history(place: Place, store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET, VOLUME)
    assert store.finalise_deletion(warrant, proved_absent=[TARGET, VOLUME, IP], lease=lease) is True
    assert store.open_deletions(SCOPE) == ()
    assert place.count("provider_resources") == 0
    deletion = store.deletion_of(warrant.deletion_id)
    assert deletion is not None
    assert (deletion.stage, set(deletion.refs)) == (DeletionStage.FINALIZED, {TARGET, VOLUME})
    assert place.rows("SELECT outcome FROM deletion_claims") == [("gone",)]


def test_finalising_what_is_finished_is_done(store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    assert store.finalise_deletion(warrant, proved_absent=[TARGET], lease=lease)
    assert store.finalise_deletion(warrant, proved_absent=[], lease=lease) is True


def test_a_finished_deletion_takes_no_further_step(store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    store.finalise_deletion(warrant, proved_absent=[TARGET], lease=lease)
    deletion = store.deletion_of(warrant.deletion_id)
    assert deletion is not None
    for step in (
        lambda: store.note_sent(warrant, lease=lease),
        lambda: store.note_error(warrant, error="", retry_seconds=1, lease=lease),
        lambda: store.extend_deletion(warrant, found=[FOUND], lease=lease),
        lambda: store.strike(warrant, ref=TARGET, why="", lease=lease),
        lambda: store.warrant_of(deletion, lease=lease),
    ):
        with pytest.raises(RefusedError) as refused:
            step()
        assert refused.value.code == "RC0627"


def test_the_same_target_can_be_decided_anew_after_it_was_finalised(store: SqlStore) -> None:
    lease = lead(store)
    first = decide(store, lease, TARGET)
    store.finalise_deletion(first, proved_absent=[TARGET], lease=lease)
    second = decide(store, lease, TARGET)
    assert second.deletion_id != first.deletion_id
    with pytest.raises(RefusedError):
        store.note_sent(first, lease=lease)


def test_a_warrant_for_a_deletion_that_is_not_there_is_an_error(store: SqlStore) -> None:
    lease = lead(store)
    warrant = dataclasses.replace(decide(store, lease, TARGET), deletion_id="no such id")
    with pytest.raises(StoreError) as refused:
        store.note_sent(warrant, lease=lease)
    assert refused.value.code == "RC0218"


# -- fencing


def test_a_stale_token_is_refused_by_every_step(place: Place, store: SqlStore) -> None:
    old = lead(store, ttl_seconds=0)
    warrant = decide(store, old, TARGET, VOLUME)
    deletion = store.deletion_of(warrant.deletion_id)
    assert deletion is not None
    lead(store, "second")
    before = place.rows("SELECT * FROM deletion_claims")
    for step in (
        lambda: decide(store, old, TARGET, VOLUME),
        lambda: decide(store, old, ref(9)),
        lambda: store.extend_deletion(warrant, found=[FOUND], lease=old),
        lambda: store.strike(warrant, ref=VOLUME, why="", lease=old),
        lambda: store.note_sent(warrant, lease=old),
        lambda: store.note_error(warrant, error="", retry_seconds=1, lease=old),
        lambda: store.finalise_deletion(warrant, proved_absent=warrant.refs, lease=old),
        lambda: store.warrant_of(deletion, lease=old),
    ):
        with pytest.raises(NotLeaderError) as refused:
            step()
        assert refused.value.code == "RC0752"
    assert place.rows("SELECT * FROM deletion_claims") == before
    assert place.count("provider_resources", "live IS NULL") == 2


def test_an_old_warrant_is_refused_even_beside_the_new_lease(store: SqlStore) -> None:
    old = lead(store, ttl_seconds=0)
    warrant = decide(store, old, TARGET)
    new = lead(store, "second")
    (deletion,) = store.open_deletions(SCOPE)
    with pytest.raises(NotLeaderError) as refused:
        store.note_sent(warrant, lease=new)
    assert refused.value.code == "RC0753"
    store.note_sent(store.warrant_of(deletion, lease=new), lease=new)


def test_a_takeover_reads_the_ids_anew(store: SqlStore) -> None:
    lease = lead(store)
    warrant = decide(store, lease, TARGET)
    (stale,) = store.open_deletions(SCOPE)
    store.extend_deletion(warrant, found=[FOUND], lease=lease)
    assert store.warrant_of(stale, lease=lease).refs == {TARGET, FOUND}


def test_a_decision_repeated_by_a_new_leader_takes_the_deletion_over(store: SqlStore) -> None:
    first = decide(store, lead(store, ttl_seconds=0), TARGET)
    new = lead(store, "second")
    again = decide(store, new, TARGET)
    assert (again.deletion_id, again.fence_token) == (first.deletion_id, new.token)


def test_a_lower_token_of_another_lease_does_not_take_a_deletion(store: SqlStore) -> None:
    lead(store, ttl_seconds=0)
    high = lead(store, "second")
    warrant = decide(store, high, TARGET)
    (deletion,) = store.open_deletions(SCOPE)
    low = store.acquire_lease("another name", holder="third", ttl_seconds=60)
    assert low.token < high.token
    for step in (
        lambda: store.warrant_of(deletion, lease=low),
        lambda: decide(store, low, TARGET),
        lambda: store.note_sent(warrant, lease=low),
    ):
        with pytest.raises(NotLeaderError) as refused:
            step()
        assert refused.value.code == "RC0753"
