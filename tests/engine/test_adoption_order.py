"""Which creates run together, what comes along, and what refuses an adoption before anything is tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.engine.adoption import order
from reconciler.engine.adoption.digest import Plan, Planned
from reconciler.engine.checkpoint import Checkpoint
from reconciler.engine.shapes import RawSecretsProvider
from reconciler.kernel.errors import RefusedError
from reconciler.model.resources import Kind, Ref
from reconciler.model.state import SECRET, StateResource
from reconciler.ports.engine import UNKNOWN, PlannedCreate
from tests.engine.fakes import uuid_of

SERVER, IP = "scaleway:instance/server:Server", "scaleway:instance/ip:Ip"
KINDS = {SERVER: Kind.SERVER, IP: Kind.IP}


def planned(
    urn: str,
    kind: str = IP,
    *,
    needs: Sequence[str] = (),
    custom: bool = True,
    auto_named: bool = False,
    by_property: dict[str, tuple[str, ...]] | None = None,
    **inputs: Any,
) -> Planned:
    create = PlannedCreate(
        urn=urn, type=kind, name=urn, parent=None, inputs=inputs, dependencies=tuple(needs), custom=custom
    )
    return Planned(create=create, property_dependencies=by_property or {}, auto_named=auto_named, provider=None)


def plan(*creates: Planned, **operations: str) -> Plan:
    found = {item.create.urn: item for item in creates}
    return Plan(operations={**dict.fromkeys(found, "create"), **operations}, creates=found, changes={})


def state(*urns: str) -> Checkpoint:
    resources = tuple(StateResource(urn=urn, type=IP, id="x", custom=True) for urn in urns)
    return Checkpoint(serial="", resources=resources, pending=(), outputs={}, secrets=RawSecretsProvider())


def targets(found: Plan, *urns: str) -> dict[str, Ref]:
    kinds = [KINDS.get(found.creates[urn].create.type, Kind.IP) if urn in found.creates else Kind.IP for urn in urns]
    return {urn: Ref(kind, "fr-par-1", uuid_of(n)) for n, (urn, kind) in enumerate(zip(urns, kinds, strict=True))}


def runs(found: Plan, *urns: str, known: Checkpoint | None = None) -> list[set[str]]:
    return [set(batch.targets) for batch in order.batches(found, targets(found, *urns), known or state())]


def refused(found: Plan, *urns: str) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        order.batches(found, targets(found, *urns), state())
    return caught.value


def test_a_server_and_its_ip_go_in_one_run() -> None:
    found = plan(planned("ip", tags=["a"]), planned("w", SERVER, needs=["ip"], name="w"))
    assert runs(found, "ip", "w") == [{"ip", "w"}]


def test_two_ips_with_the_same_tags_go_in_two_runs() -> None:
    assert runs(plan(planned("a", tags=["t"]), planned("b", tags=["t"])), "a", "b") == [{"a"}, {"b"}]


def test_two_ips_with_different_tags_go_in_one_run() -> None:
    assert runs(plan(planned("a", tags=["t"]), planned("b", tags=["u"])), "a", "b") == [{"a", "b"}]


@pytest.mark.parametrize("tags", [[SECRET], [UNKNOWN], ["t", SECRET]])
def test_tags_that_are_not_known_could_be_any(tags: list[Any]) -> None:
    assert len(runs(plan(planned("a", tags=["t"]), planned("b", tags=tags)), "a", "b")) == 2


def test_nics_of_two_servers_that_are_not_there_yet_are_told_apart_by_what_they_need() -> None:
    kind = "scaleway:instance/privateNic:PrivateNic"
    nics = [
        planned(f"n{n}", kind, serverId=UNKNOWN, privateNetworkId="x", by_property={"serverId": (f"w{n}",)})
        for n in range(2)
    ]
    found = plan(*nics)
    wanted = {item.create.urn: Ref(Kind.NIC, "fr-par-1", uuid_of(n)) for n, item in enumerate(nics)}
    assert [set(batch.targets) for batch in order.batches(found, wanted, state())] == [{"n0", "n1"}]


def test_two_names_that_pulumi_makes_up_go_in_two_runs() -> None:
    """There is one setting per type to tell it a name."""
    servers = [planned(f"w{n}", SERVER, name=f"w{n}-{n}", auto_named=True) for n in range(2)]
    assert len(runs(plan(*servers), "w0", "w1")) == 2


def test_a_server_without_a_name_could_be_any() -> None:
    assert len(runs(plan(planned("a", SERVER, tags=["t"]), planned("b", SERVER, name="b", tags=["t"])), "a", "b")) == 2


def test_what_a_target_needs_is_never_in_a_later_run() -> None:
    ips = [planned(f"ip{n}", tags=["t"]) for n in range(3)]
    servers = [planned(f"w{n}", SERVER, name=f"w{n}", needs=[f"ip{n}"]) for n in range(3)]
    found = runs(plan(*ips, *servers), *(item.create.urn for item in (*ips, *servers)))
    place = {urn: index for index, run in enumerate(found) for urn in run}
    assert all(place[f"ip{n}"] <= place[f"w{n}"] for n in range(3))


@given(data=st.data(), count=st.integers(1, 8))
def test_every_target_runs_once_after_its_needs_and_beside_nothing_like_it(data: st.DataObject, count: int) -> None:
    creates = []
    for number in range(count):
        needs = data.draw(st.sets(st.sampled_from([f"r{n}" for n in range(number)]))) if number else set()
        tags = data.draw(st.sampled_from([["a"], ["b"], [SECRET]]))
        creates.append(planned(f"r{number}", data.draw(st.sampled_from([IP, SERVER])), needs=sorted(needs), tags=tags))
    found = plan(*creates)
    batches = runs(found, *found.creates)
    assert sorted(urn for run in batches for urn in run) == sorted(found.creates)
    place = {urn: index for index, run in enumerate(batches) for urn in run}
    for item in creates:
        assert all(place[need] <= place[item.create.urn] for need in item.create.dependencies)
    for run in batches:
        for one in run:
            others = run - {one}
            assert not any(order._confusable(found.creates[one], found.creates[other]) for other in others)


class TestWhatComesAlong:
    def test_a_component_that_is_not_in_the_state_comes_along_once(self) -> None:
        component = planned("c", "my:mod:C", custom=False)
        found = plan(component, planned("a", needs=["c"], tags=["t"]), planned("b", needs=["c"], tags=["t"]))
        batches = order.batches(found, targets(found, "a", "b"), state())
        assert [batch.along for batch in batches] == [("c",), ()]
        assert order.along(batches) == {"c"}

    def test_the_parents_of_a_component_come_along_too(self) -> None:
        inner, outer = planned("i", "my:mod:I", custom=False, needs=["o"]), planned("o", "my:mod:O", custom=False)
        found = plan(inner, outer, planned("a", needs=["i"]))
        assert order.batches(found, targets(found, "a"), state())[0].along == ("i", "o")

    def test_a_stash_comes_along_and_a_provider_comes_by_itself(self) -> None:
        stash = planned("s", "pulumi:index:Stash")
        provider = planned("p", "pulumi:providers:scaleway")
        found = plan(stash, provider, planned("a", needs=["s", "p"]))
        assert order.batches(found, targets(found, "a"), state())[0].along == ("s",)

    def test_what_the_state_has_does_not_come_along(self) -> None:
        found = plan(planned("c", "my:mod:C", custom=False), planned("a", needs=["c"]))
        assert order.batches(found, targets(found, "a"), state("c"))[0].along == ()

    def test_what_would_have_to_be_created_in_earnest_refuses(self) -> None:
        error = refused(plan(planned("ip"), planned("w", SERVER, needs=["ip"])), "w")
        assert (error.code, "ip" in error.message) == ("RC0642", True)

    def test_a_need_behind_a_component_refuses_too(self) -> None:
        component = planned("c", "my:mod:C", custom=False, needs=["ip"])
        assert refused(plan(planned("ip"), component, planned("w", SERVER, needs=["c"])), "w").code == "RC0642"


class TestRefusals:
    def test_what_the_program_does_not_declare(self) -> None:
        assert "does not declare" in refused(plan(), "a").message

    @pytest.mark.parametrize("operation", ["update", "replace", "delete", "same"])
    def test_what_is_no_create(self, operation: str) -> None:
        error = refused(plan(a=operation), "a")
        assert (error.code, f"would {operation} it" in error.message) == ("RC0641", True)

    def test_a_type_without_a_proof(self) -> None:
        error = refused(plan(planned("a", "scaleway:instance/securityGroup:SecurityGroup")), "a")
        assert "no proof covers this type" in error.message

    def test_an_object_of_another_kind(self) -> None:
        found = plan(planned("w", SERVER))
        with pytest.raises(RefusedError) as caught:
            order.batches(found, {"w": Ref(Kind.IP, "fr-par-1", uuid_of(1))}, state())
        assert "it is no ip" in caught.value.message
