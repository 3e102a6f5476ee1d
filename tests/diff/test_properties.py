"""The comparison of a state entry with what it stands for, and what refresh would not see of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.diff.index import Index
from reconciler.diff.properties import BLIND_SPOTS, blind, compare, same
from reconciler.model.inventory import Inventory
from reconciler.model.resources import Kind, Other, Resource, Server
from reconciler.model.state import SECRET, StateResource
from tests.builders import (
    GB,
    PROJECT,
    ZONE,
    booking,
    entry_of,
    ip,
    local_volume,
    machine,
    nic,
    owner_tags,
    scans,
    uid,
    volume,
    with_parts,
)

ONE = machine(0)
ENTRY = ONE.entries[0]


def index_of(*resources: Resource, **changes: Any) -> Index:
    return Index(Inventory(scans=scans(resources, **changes)))


def paths(entry: StateResource, resource: Resource, *others: Resource, **changes: Any) -> list[str]:
    index = index_of(resource, *others)
    return [one.path for one in compare(entry, resource, index=index, **changes).differences]


def with_outputs(entry: StateResource, **changes: Any) -> StateResource:
    return replace(entry, outputs={**entry.outputs, **changes})


def test_what_is_as_its_state_says_differs_in_nothing() -> None:
    assert paths(ENTRY, ONE.server, ONE.root, ONE.ip) == []
    assert same(ENTRY, ONE.server, index=index_of(*ONE.cloud))


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"name": "x"}, "name"),
        ({"commercial_type": "GP1-S"}, "type"),
        ({"tags": ("x",)}, "tags"),
        ({"state": "stopped"}, "state"),
        ({"state": "stopped in place"}, "state"),
        ({"boot_type": "rescue"}, "bootType"),
        ({"dynamic_ip_required": True}, "enableDynamicIp"),
        ({"protected": True}, "protected"),
        ({"security_group_id": uid("g")}, "securityGroupId"),
        ({"placement_group_id": uid("p")}, "placementGroupId"),
        ({"ip_ids": ()}, "ipId"),
        ({"ip_ids": (ONE.ip.id, uid("more"))}, "publicIps[+]"),
        ({"volumes": ()}, "rootVolume.volumeId"),
        (
            {"volumes": (*ONE.server.volumes, replace(ONE.server.volumes[0], key="1", id=uid("d")))},
            "additionalVolumeIds",
        ),
    ],
)
def test_each_property_of_a_server_is_compared(changes: dict[str, Any], path: str) -> None:
    cloud = replace(ONE.server, **changes)
    assert paths(ENTRY, cloud, ONE.root, ONE.ip) == [path]
    assert not same(ENTRY, cloud, index=index_of(cloud, ONE.root, ONE.ip))


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"size": 30 * GB}, "rootVolume.sizeInGb"),
        ({"name": "x"}, "rootVolume.name"),
        ({"iops": 15000}, "rootVolume.sbsIops"),
    ],
)
def test_each_property_of_a_root_volume_is_compared(changes: dict[str, Any], path: str) -> None:
    root = replace(ONE.root, **changes)
    assert paths(ENTRY, ONE.server, root, ONE.ip) == [path]
    assert not same(ENTRY, ONE.server, index=index_of(ONE.server, root, ONE.ip))


DATA, DISK, CARD = volume("data"), local_volume("disk"), nic("card", server_id=ONE.server.id)


@pytest.mark.parametrize(
    ("resource", "changes", "path"),
    [
        (ONE.ip, {"tags": ("x",)}, "tags"),
        (ONE.ip, {"type": "routed_ipv6"}, "type"),
        (DATA, {"name": "x"}, "name"),
        (DATA, {"tags": ("x",)}, "tags"),
        (DATA, {"size": 30 * GB}, "sizeInGb"),
        (DATA, {"iops": 15000}, "iops"),
        (DISK, {"name": "x"}, "name"),
        (DISK, {"size": 30 * GB}, "sizeInGb"),
        (DISK, {"volume_type": "scratch"}, "type"),
        (DISK, {"tags": ("x",)}, "tags"),
        (CARD, {"private_network_id": uid("n2")}, "privateNetworkId"),
        (CARD, {"server_id": uid("s2")}, "serverId"),
        (CARD, {"tags": ("x",)}, "tags"),
        (booking(ONE.ip), {"tags": ("x",)}, "tags"),
    ],
)
def test_each_property_of_the_others_is_compared(resource: Any, changes: dict[str, Any], path: str) -> None:
    entry = entry_of(resource)
    assert paths(entry, resource) == []
    assert paths(entry, replace(resource, **changes)) == [path]


def test_what_only_a_targeted_read_shows_is_compared_by_name_and_tags() -> None:
    group = Other(kind=Kind.SECURITY_GROUP, id=uid("g"), zone=ZONE, project=PROJECT, name="web", tags=("a",))
    entry = with_outputs(entry_of(group), name="web")
    assert paths(entry, group) == []
    assert paths(entry, replace(group, name="x", tags=())) == ["tags", "name"]


def test_a_server_on_its_way_somewhere_is_in_no_state_to_compare() -> None:
    assert paths(ENTRY, replace(ONE.server, state="starting"), ONE.root, ONE.ip) == []


def test_an_image_is_compared_where_the_program_names_it_by_id() -> None:
    cloud = replace(ONE.server, image_id=uid("other"))
    assert paths(with_outputs(ENTRY, image="ubuntu_noble"), cloud, ONE.root, ONE.ip) == []
    assert paths(with_outputs(ENTRY, image=f"{ZONE}/{uid('image')}"), cloud, ONE.root, ONE.ip) == ["image"]
    assert paths(with_outputs(ENTRY, image=f"{ZONE}/{uid('other')}"), cloud, ONE.root, ONE.ip) == []


def test_a_provider_s_default_that_state_holds_too_is_no_drift() -> None:
    """Report R173: the volume was declared without IOPS, and both sides hold what the provider chose."""
    assert paths(replace(entry_of(DATA), inputs={}), DATA) == []


# -- tags


@pytest.mark.parametrize("cloud", [("b", "a"), ("a", "b", "a")])
def test_order_and_repeats_of_tags_are_nobodys_change(cloud: tuple[str, ...]) -> None:
    """Report R099."""
    thing = ip("x", tags=("a", "b"))
    comparison = compare(entry_of(thing), replace(thing, tags=cloud), index=index_of(thing))
    assert comparison.differences == ()
    assert [one.path for one in comparison.not_compared if one.path == "tags"] == ["tags"]


@pytest.mark.parametrize("ignored", ["tags", "*"])
def test_what_the_program_ignores_is_not_compared(ignored: str) -> None:
    thing = ip("x", tags=("a",))
    entry = entry_of(thing, ignore_changes=(ignored,))
    comparison = compare(entry, replace(thing, tags=()), index=index_of(thing))
    assert comparison.differences == ()
    assert "tags" in [one.path for one in comparison.not_compared]


def test_an_ignored_part_of_a_whole_leaves_the_rest_compared() -> None:
    entry = replace(ENTRY, ignore_changes=("rootVolume.name",))
    root = replace(ONE.root, name="x", size=30 * GB)
    assert paths(entry, ONE.server, root, ONE.ip) == ["rootVolume.sizeInGb"]


# -- NICs


def test_a_declared_network_without_its_nic_is_a_difference() -> None:
    """Report R175: what is gone is left out of the list, and that is the difference."""
    card = nic("card", server_id=ONE.server.id)
    entry = entry_of(ONE.server, ONE.root, ONE.ip, card)
    owner = with_parts(ONE.server, ONE.root, ONE.ip, card)
    assert paths(entry, owner, ONE.root, ONE.ip, card) == []
    assert paths(entry, ONE.server, ONE.root, ONE.ip) == ["privateNetworks"]


def test_a_nic_that_nothing_declares_is_one_difference() -> None:
    """Report R177."""
    card = nic("card", server_id=ONE.server.id)
    assert paths(ENTRY, ONE.server, ONE.root, ONE.ip, card) == ["privateNetworks[+]"]


def test_a_nic_with_an_entry_of_its_own_is_no_difference_of_its_server() -> None:
    card = nic("card", server_id=ONE.server.id)
    assert paths(ENTRY, ONE.server, ONE.root, ONE.ip, card, managed={card.id}) == []


def test_nics_that_were_not_read_whole_are_not_compared() -> None:
    card = nic("card", server_id=ONE.server.id)
    entry = entry_of(ONE.server, ONE.root, ONE.ip, card)
    index = index_of(*ONE.cloud, broken={Kind.NIC: "HTTP 403"})
    assert compare(entry, ONE.server, index=index).differences == ()


# -- secrets


SECRETS: list[dict[str, Any]] = [
    {"name": SECRET},
    {"tags": SECRET},
    {"tags": ["a", SECRET]},
    {"protected": SECRET},
    {"enableDynamicIp": SECRET},
    {"publicIps": SECRET},
    {"publicIps": [SECRET]},
    {"publicIps": [{"id": SECRET, "dynamic": False}]},
    {"additionalVolumeIds": SECRET},
    {"additionalVolumeIds": [SECRET]},
    {"privateNetworks": SECRET},
    {"privateNetworks": [{"pnId": SECRET}]},
    {"rootVolume": SECRET},
    {"rootVolume": {"volumeId": SECRET, "sizeInGb": SECRET, "name": SECRET, "sbsIops": SECRET}},
    {"image": SECRET},
    {"ipId": SECRET},
    {"securityGroupId": SECRET},
]


@pytest.mark.parametrize("changes", SECRETS, ids=str)
def test_a_secret_is_neither_compared_nor_shown(changes: dict[str, Any]) -> None:
    entry = with_outputs(replace(ENTRY, inputs={}), **changes)
    cloud = replace(ONE.server, protected=True, dynamic_ip_required=True)
    comparison = compare(entry, cloud, index=index_of(cloud, ONE.root, ONE.ip))
    shown = {one.path for one in comparison.differences}
    assert shown <= {"protected", "enableDynamicIp", "ipIds"} - set(changes)
    assert "[secret]" not in str(comparison.differences)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["id", "pnId", "volumeId"]), inner),
    max_leaves=3,
)
KEYS = (*ENTRY.outputs, "ipIds", "privateNetworks", "placementGroupId")


@settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=6), st.dictionaries(st.sampled_from(KEYS), JUNK, max_size=4)
)
def test_nothing_that_a_state_may_hold_breaks_the_comparison(outputs: dict[str, Any], inputs: dict[str, Any]) -> None:
    entry = replace(ENTRY, outputs={**ENTRY.outputs, **outputs}, inputs={**ENTRY.inputs, **inputs})
    comparison = compare(entry, ONE.server, index=index_of(*ONE.cloud))
    for one in comparison.differences:
        assert one.state is not SECRET
        blind(entry, ONE.server, one)


PROPERTIES: dict[str, list[Any]] = {
    "name": ["linux-0", "x", "", None],
    "type": ["DEV1-S", "GP1-S"],
    "tags": [list(owner_tags(0)), list(reversed(owner_tags(0))), [], None, ["x"], [SECRET]],
    "state": ["started", "stopped", None],
    "image": ["ubuntu_noble", f"{ZONE}/{uid('image')}", None],
    "bootType": ["local", "rescue"],
    "enableDynamicIp": [False, True, None],
    "protected": [False, True, SECRET],
    "securityGroupId": [ENTRY.outputs["securityGroupId"], f"{ZONE}/{uid('g')}", None],
    "placementGroupId": [None, "", f"{ZONE}/{uid('p')}"],
    "publicIps": [ENTRY.outputs["publicIps"], [], None, [*ENTRY.outputs["publicIps"], {"id": "x", "dynamic": True}]],
    "ipId": [ENTRY.outputs["ipId"], "", None, f"{ZONE}/{uid('y')}"],
    "privateNetworks": [[], None, [{"pnId": f"fr-par/{uid('net')}"}]],
    "additionalVolumeIds": [[], None, [f"{ZONE}/{uid('d')}"]],
    "rootVolume": [ENTRY.outputs["rootVolume"], None, {**ENTRY.outputs["rootVolume"], "name": "x"}],
}
CLOUDS: dict[str, list[Any]] = {
    "name": ["linux-0", "x"],
    "tags": [owner_tags(0), (), ("x",)],
    "state": ["running", "stopped", "starting"],
    "protected": [False, True],
    "placement_group_id": [None, uid("p")],
    "security_group_id": [ONE.server.security_group_id, None],
    "ip_ids": [ONE.server.ip_ids, ()],
    "image_id": [ONE.server.image_id, uid("image"), None],
}


@settings(deadline=None)
@given(
    st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in PROPERTIES.items()}),
    st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in CLOUDS.items()}),
    st.booleans(),
    st.sampled_from([ONE.root, replace(ONE.root, size=30 * GB), replace(ONE.root, iops=None), None]),
)
def test_what_looks_the_same_at_first_sight_is_the_same(
    outputs: dict[str, Any], changes: dict[str, Any], with_nic: bool, root: Any
) -> None:
    """The quick way may only say less than the comparison, never more."""
    entry = with_outputs(ENTRY, **outputs)
    cloud: Server = replace(ONE.server, **changes)
    parts = [part for part in (root, nic("card", server_id=cloud.id) if with_nic else None) if part is not None]
    index = index_of(cloud, ONE.ip, *parts)
    if same(entry, cloud, index=index):
        assert compare(entry, cloud, index=index).differences == ()


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["routed_ipv4", None]),
            "tags": st.sampled_from([["a", "b"], ["b", "a"], [], None, [SECRET]]),
            "reverse": st.sampled_from(["", None, "x.example"]),
        },
    )
)
def test_an_address_that_looks_the_same_is_the_same(outputs: dict[str, Any]) -> None:
    thing = ip("x", tags=("a", "b"))
    entry = with_outputs(entry_of(thing), **outputs)
    if same(entry, thing, index=index_of(thing)):
        assert compare(entry, thing, index=index_of(thing)).differences == ()


# -- blind spots


def test_a_difference_that_refresh_sees_is_not_blind() -> None:
    comparison = compare(ENTRY, replace(ONE.server, name="x", state="stopped"), index=index_of(*ONE.cloud))
    assert [blind(ENTRY, ONE.server, one) for one in comparison.differences] == [None, None]


@pytest.mark.parametrize(
    ("entry", "resource", "others"),
    [
        (ENTRY, replace(ONE.server, tags=()), (ONE.root, ONE.ip)),
        (replace(ENTRY, inputs={}), replace(ONE.server, state="stopped", ip_ids=ONE.server.ip_ids), (ONE.root, ONE.ip)),
        (ENTRY, ONE.server, (replace(ONE.root, name="x"), ONE.ip)),
        (ENTRY, ONE.server, (ONE.root, ONE.ip, nic("card", server_id=ONE.server.id))),
        (entry_of(ONE.ip), replace(ONE.ip, tags=()), ()),
    ],
    ids=["all tags gone", "state not declared", "root renamed", "a NIC more", "all tags of an address gone"],
)
def test_what_refresh_does_not_see_is_in_the_table(
    entry: StateResource, resource: Resource, others: tuple[Resource, ...]
) -> None:
    comparison = compare(entry, resource, index=index_of(resource, *others))
    assert comparison.differences
    assert all(blind(entry, resource, one) in BLIND_SPOTS.values() for one in comparison.differences)
