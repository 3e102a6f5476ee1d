"""Whose is it: signals, proofs, what is never touched, what a create made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reconciler.diff.ownership import (
    claim,
    foreign_scope,
    goes_with,
    grace_ends,
    has_owner_tags,
    in_use,
    inline,
    near_miss,
    never_reason,
    settled,
    stuck,
)
from reconciler.model.memory import NO_MEMORY, Memory
from reconciler.model.resources import Resource
from reconciler.model.scope import FleetMatch, Never, Ownership
from tests.builders import (
    GROUP,
    NOW,
    OTHER_PROJECT,
    OTHER_SCOPE,
    SCOPE,
    ip,
    lineage,
    local_volume,
    machine,
    nic,
    owner_tags,
    remembered,
    scope,
    server,
    volume,
    with_parts,
)

OWN = f"reconciler:scope={SCOPE}"
ONE = machine(0)


@pytest.mark.parametrize(
    ("tags", "ours"),
    [
        (("reconciler", OWN), True),
        ((OWN, "x", "reconciler"), True),
        (("reconciler",), False),
        ((OWN,), False),
        (("Reconciler", OWN), False),
        (("reconciler", OWN.upper()), False),
        (("reconciler", f"{OWN} "), False),
        (("reconciler", OWN, f"reconciler:scope={OTHER_SCOPE}"), False),
        ((), False),
    ],
)
def test_owner_tags_are_exact_and_of_one_scope(tags: tuple[str, ...], ours: bool) -> None:
    assert has_owner_tags(tags, scope=scope()) is ours


def test_another_scopes_tag_is_named() -> None:
    assert foreign_scope((OWN, f"reconciler:scope={OTHER_SCOPE}"), scope=scope()) == OTHER_SCOPE
    assert foreign_scope((OWN, "reconciler"), scope=scope()) is None


@pytest.mark.parametrize(
    ("tag", "close"),
    [
        ("Reconciler", True),
        ("reconciler ", True),
        ("RECONCILER:SCOPE=x", True),
        ("reconciler : slot = 1", True),
        ("reconciler:Fleet=linux", True),
        ("reconciler", False),
        ("reconciler:until=2026-11-30T01:02:03Z", False),
        ("reconciler:fleet=linux", False),
        ("reconciler:unknown=1", False),
        ("my-reconciler", False),
    ],
)
def test_near_misses_differ_from_an_owner_tag_in_case_or_spaces_alone(tag: str, close: bool) -> None:
    assert (near_miss((tag,)) is not None) is close


# -- proofs


@pytest.mark.parametrize("source", ["state", "attached"])
def test_one_hard_and_one_soft_signal_are_two_proofs(source: str) -> None:
    thing = volume(tags=owner_tags())
    judged = claim(thing, scope=scope(), memory=remembered(thing, source=source))
    assert (judged.proved, judged.fleet) == (True, "linux")


def test_a_mapping_is_the_second_proof_when_enough_of_it_holds() -> None:
    rule = FleetMatch(name="render", tags=("role=render",), names=("render-*",), security_groups=(GROUP,))
    memory = remembered(server("a"), server("b"))
    whole = claim(
        server("a", name="render-1", tags=("role=render",), security_group_id=None),
        scope=scope(fleets=(rule,)),
        memory=memory,
    )
    part = claim(server("b", name="render-1", security_group_id=None), scope=scope(fleets=(rule,)), memory=memory)
    assert (whole.proved, part.proved, part.ours) == (True, False, True)


def test_two_soft_signals_are_no_proof() -> None:
    rule = FleetMatch(name="linux", names=("linux-*",), require=1)
    judged = claim(server(tags=owner_tags()), scope=scope(fleets=(rule,)), memory=Memory())
    assert {one.name for one in judged.signals} == {"tags", "mapping"}
    assert not judged.proved


def test_a_mapping_by_urn_alone_repeats_what_the_memory_says() -> None:
    thing = volume(tags=())
    rule = FleetMatch(name="linux", urns=("urn:*",), require=1)
    judged = claim(thing, scope=scope(fleets=(rule,)), memory=remembered(thing))
    assert (judged.ours, judged.proved) == (True, False)


def test_a_urn_and_a_tag_make_a_mapping_of_two() -> None:
    thing = volume(tags=("role=ci",))
    rule = FleetMatch(name="ci", urns=("urn:*::was",), tags=("role=ci",), require=2)
    memory = Memory(lineage=lineage(thing, fleet=None))
    judged = claim(thing, scope=scope(fleets=(rule,)), memory=memory)
    assert (judged.proved, judged.fleet) == (True, "ci")


@pytest.mark.parametrize("known", [False, True], ids=["with tags", "with a line in the memory"])
def test_our_own_decision_is_no_proof(known: bool) -> None:
    thing = volume(tags=() if known else owner_tags())
    memory = replace(remembered(thing) if known else Memory(), doomed=frozenset({thing.ref}))
    judged = claim(thing, scope=scope(), memory=memory)
    assert (judged.ours, judged.proved) == (True, False)


def test_what_is_another_projects_is_not_ours_whatever_it_carries() -> None:
    thing = volume(tags=owner_tags(), project=OTHER_PROJECT)
    judged = claim(thing, scope=scope(ownership=Ownership.TAGS), memory=remembered(thing))
    assert (judged.ours, judged.proved) == (False, False)


def test_what_carries_another_scopes_tag_is_not_ours_whatever_we_remember() -> None:
    thing = volume(tags=owner_tags(scope=OTHER_SCOPE))
    judged = claim(thing, scope=scope(ownership=Ownership.TAGS), memory=remembered(thing))
    assert (judged.ours, judged.proved) == (False, False)


def test_tags_prove_only_where_the_scope_says_so() -> None:
    thing = volume(tags=owner_tags())
    assert claim(thing, scope=scope(ownership=Ownership.TAGS), memory=NO_MEMORY).proved
    assert not claim(thing, scope=scope(), memory=NO_MEMORY).proved


# -- never


@pytest.mark.parametrize(
    "thing",
    [
        server("node", tags=("kapsule=b9c08ebb-1",)),
        server("node", tags=("kapsule",)),
        server("scw-k8s-prod-1"),
        volume("v", name="pvc-1"),
        volume("v", name="prod_pvc-1"),
        volume("v", tags=("noprefix=managed-by=scaleway-csi",)),
    ],
)
def test_a_managed_clusters_things_are_never_touched(thing: Resource) -> None:
    assert never_reason(thing, scope=scope()) is not None


def test_an_id_in_the_never_list_may_be_written_as_pulumi_writes_it() -> None:
    thing = server()
    for listed in (thing.id, f"fr-par-1/{thing.id}", thing.id.upper()):
        assert never_reason(thing, scope=scope(never=Never(ids=(listed,)))) is not None
    assert never_reason(thing, scope=scope(never=Never(ids=(thing.id[:-1],)))) is None


# -- what a create made


def test_a_root_and_local_storage_are_inline_and_nothing_else_is() -> None:
    disk, data = local_volume("disk", server_id=ONE.server.id), volume("data", server_id=ONE.server.id)
    owner = with_parts(ONE.server, ONE.root, disk, data, ONE.ip)
    assert inline(ONE.root, owner)
    assert inline(disk, owner)
    assert not inline(data, owner)
    assert not inline(ONE.ip, owner)


@pytest.mark.parametrize(("after", "made"), [(0, True), (600, True), (60_000, True), (60_001, False), (-1, False)])
def test_a_volume_is_inline_only_when_it_follows_its_server_at_once(after: int, made: bool) -> None:
    root = replace(ONE.root, created_ms=(ONE.server.created_ms or 0) + after)
    assert inline(root, ONE.server) is made


def test_a_volume_that_the_server_does_not_list_is_not_inline() -> None:
    assert not inline(ONE.root, with_parts(ONE.server))


def test_what_goes_with_a_server_is_its_own_or_proved_ours() -> None:
    card = nic("card", server_id=ONE.server.id)
    address, data = ip("x", server_id=ONE.server.id), volume("data", server_id=ONE.server.id, tags=owner_tags())
    owner = with_parts(ONE.server, ONE.root, data, address, card)

    def goes(child: Resource, memory: Memory = NO_MEMORY) -> bool:
        return goes_with(child, owner, scope=scope(), memory=memory)

    assert goes(ONE.root)
    assert goes(card)
    assert not goes(address)
    assert not goes(data)
    assert goes(data, remembered(data))
    assert not goes(replace(card, project=OTHER_PROJECT))
    assert not goes(replace(ONE.root, server_id="another"))
    assert not goes(ONE.root, Memory(held=frozenset({ONE.root.ref})))


# -- states


@pytest.mark.parametrize(
    ("thing", "used", "calm", "ends"),
    [
        (ip("a"), False, True, True),
        (ip("a", state="pending"), False, False, True),
        (ip("a", state="error"), False, False, False),
        (ip("a", server_id="s"), True, False, True),
        (volume("v"), False, True, True),
        (volume("v", status="in_use"), True, False, True),
        (volume("v", reference_ids=("s",)), True, True, True),
        (volume("v", status="locked"), False, False, False),
        (server(), False, True, True),
        (server(state="stopped in place"), False, True, True),
        (server(state="stopping"), False, False, True),
        (server(state="locked"), False, False, False),
        (nic("n", server_id="s"), False, True, True),
    ],
)
def test_use_rest_and_dead_ends(thing: Resource, used: bool, calm: bool, ends: bool) -> None:
    assert (in_use(thing), settled(thing), not stuck(thing)) == (used, calm, ends)


def test_grace_is_the_latest_of_all_that_is_known_plus_its_length() -> None:
    thing = volume(created_ms=NOW - 100, last_detached_ms=NOW - 50)

    def due(memory: Memory, of: Resource = thing) -> int:
        return grace_ends(of, scope=scope(grace_seconds=10), memory=memory, now_ms=NOW)

    assert due(remembered(thing, since=NOW - 70)) == NOW - 50 + 10_000
    assert due(remembered(thing, since=NOW - 20)) == NOW - 20 + 10_000
    assert due(Memory()) == NOW + 10_000
    assert due(NO_MEMORY) == NOW - 50 + 10_000
    assert due(NO_MEMORY, replace(thing, created_ms=None, last_detached_ms=None)) == NOW + 10_000
