"""What `WorkerFleet` registers."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from reconciler_fleet import ExtraVolume, NewPrivateNetwork, RootVolume, WorkerFleet, WorkerFleetArgs
from tests.stacks.engine import FLEET, IP, NETWORK, SERVER, STASH, VOLUME, Ran, run

SCOPE = "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c11"
TAGGED = (IP, NETWORK, SERVER, VOLUME)


def args(**changes: Any) -> WorkerFleetArgs:
    values: dict[str, Any] = {
        "scope": SCOPE,
        "zone": "fr-par-1",
        "type": "DEV1-S",
        "image": "ubuntu_noble",
        "replicas": 2,
        **changes,
    }
    if values["replicas"] is None:
        del values["replicas"]
    return WorkerFleetArgs(**values)


def fleet(**changes: Any) -> Ran:
    return run(lambda: WorkerFleet("linux", args(**changes)))


def revision(**changes: Any) -> str:
    found: list[str] = []
    run(lambda: WorkerFleet("linux", args(**changes)).revision.apply(found.append))
    return found[0]


def test_a_static_fleet_has_one_server_per_slot_counted_from_zero() -> None:
    assert [server.name for server in fleet(replicas=3).of(SERVER)] == ["linux-0", "linux-1", "linux-2"]


def test_the_component_has_the_published_type_token() -> None:
    assert [component.name for component in fleet().of(FLEET)] == ["linux"]


def test_every_resource_of_a_slot_carries_exactly_the_owner_tags_and_then_the_users_own() -> None:
    ran = fleet(replicas=2, volumes=(ExtraVolume(name="cache", size_gb=10),), tags=("role=ci", "profile=small"))
    digits = revision(replicas=2, volumes=(ExtraVolume(name="cache", size_gb=10),))
    for kind in (SERVER, IP, VOLUME):
        for slot, resource in enumerate(ran.of(kind)):
            assert resource.inputs["tags"] == [
                "reconciler",
                f"reconciler:scope={SCOPE}",
                "reconciler:fleet=linux",
                f"reconciler:slot={slot}",
                f"reconciler:revision={digits}",
                "role=ci",
                "profile=small",
            ]


def test_a_created_private_network_carries_the_owner_tags_without_a_slot() -> None:
    (network,) = fleet(private_network=NewPrivateNetwork()).of(NETWORK)
    assert not [tag for tag in network.inputs["tags"] if tag.startswith("reconciler:slot=")]
    assert {"reconciler", f"reconciler:scope={SCOPE}", "reconciler:fleet=linux"} <= set(network.inputs["tags"])


def test_a_created_private_network_lies_in_the_region_of_the_zone() -> None:
    (network,) = fleet(zone="nl-ams-2", private_network=NewPrivateNetwork()).of(NETWORK)
    assert network.inputs["region"] == "nl-ams"


def test_a_repeated_tag_of_the_users_is_sent_once() -> None:
    (server,) = fleet(replicas=1, tags=("a", "b", "a")).of(SERVER)
    assert server.inputs["tags"][-2:] == ["a", "b"]


def test_every_server_is_declared_started() -> None:
    assert {server.inputs["state"] for server in fleet().of(SERVER)} == {"started"}


def test_cloud_init_never_goes_through_user_data() -> None:
    for server in fleet(cloud_init="#cloud-config\n").of(SERVER):
        assert server.inputs["cloudInit"] == "#cloud-config\n"
        assert "userData" not in server.inputs


def test_the_root_is_an_sbs_volume_that_goes_with_its_server() -> None:
    (server,) = fleet(replicas=1, root=RootVolume(size_gb=40, iops=15000)).of(SERVER)
    assert server.inputs["rootVolume"] == {
        "volumeType": "sbs_volume",
        "sizeInGb": 40,
        "sbsIops": 15000,
        "deleteOnTermination": True,
    }


def test_a_server_has_its_own_flexible_ip() -> None:
    ran = fleet(replicas=2)
    assert [server.inputs["ipIds"] for server in ran.of(SERVER)] == [["fr-par-1/linux-0-ip"], ["fr-par-1/linux-1-ip"]]


def test_the_ip_is_attached_by_the_property_that_survives_a_refused_deletion() -> None:
    assert all("ipId" not in server.inputs for server in fleet().of(SERVER))


def test_a_slot_is_emptied_before_it_is_filled_again() -> None:
    assert all(server.delete_before_replace for server in fleet().of(SERVER))


def test_a_fleet_without_public_ip_declares_none() -> None:
    ran = fleet(public_ip=False)
    assert ran.of(IP) == []
    assert all("ipIds" not in server.inputs for server in ran.of(SERVER))


def test_extra_volumes_are_attached_to_their_own_server() -> None:
    ran = fleet(replicas=2, volumes=(ExtraVolume(name="cache", size_gb=50, iops=15000),))
    assert [(v.name, v.inputs["sizeInGb"], v.inputs["iops"]) for v in ran.of(VOLUME)] == [
        ("linux-0-cache", 50, 15000),
        ("linux-1-cache", 50, 15000),
    ]
    assert [s.inputs["additionalVolumeIds"] for s in ran.of(SERVER)] == [
        ["fr-par-1/linux-0-cache"],
        ["fr-par-1/linux-1-cache"],
    ]


def test_an_existing_private_network_is_used_and_not_created() -> None:
    ran = fleet(replicas=1, private_network="fr-par/aaaa")
    assert ran.of(NETWORK) == []
    assert ran.of(SERVER)[0].inputs["privateNetworks"] == [{"pnId": "fr-par/aaaa"}]


def test_groups_are_passed_on() -> None:
    (server,) = fleet(replicas=1, security_group_id="sg", placement_group_id="pg").of(SERVER)
    assert (server.inputs["securityGroupId"], server.inputs["placementGroupId"]) == ("sg", "pg")


def test_protect_reaches_every_machine_with_its_children() -> None:
    ran = fleet(protect=True, volumes=(ExtraVolume(name="cache", size_gb=10),), private_network=NewPrivateNetwork())
    assert all(one.protect for one in ran.resources if one.type in TAGGED)


def test_nothing_is_protected_unless_asked() -> None:
    assert not any(one.protect for one in fleet(private_network=NewPrivateNetwork()).resources)


def test_protected_sets_scaleways_own_protection_and_not_pulumis() -> None:
    (server,) = fleet(replicas=1, protected=True).of(SERVER)
    assert (server.inputs["protected"], server.protect) == (True, False)


def test_an_elastic_fleet_declares_no_machine() -> None:
    ran = fleet(replicas=None, minimum=0, maximum=9, volumes=(ExtraVolume(name="cache", size_gb=10),))
    assert [one for one in ran.resources if one.type in TAGGED] == []


def test_an_elastic_fleet_still_has_its_private_network() -> None:
    assert len(fleet(replicas=None, minimum=0, maximum=9, private_network=NewPrivateNetwork()).of(NETWORK)) == 1


def test_the_uid_is_kept_by_a_stash_whose_input_is_ignored() -> None:
    (stash,) = fleet().of(STASH)
    assert (stash.name, stash.ignore_changes) == ("linux-uid", ("input",))
    assert stash.parent.endswith(f"{FLEET}::linux")


def test_everything_is_a_child_of_the_component() -> None:
    ran = fleet(private_network=NewPrivateNetwork(), volumes=(ExtraVolume(name="cache", size_gb=10),))
    assert all(one.parent.endswith(f"{FLEET}::linux") for one in ran.resources if one.type != FLEET)


def test_the_revision_has_12_hex_digits_and_repeats_itself() -> None:
    first = revision()
    assert first == revision()
    assert len(first) == 12
    assert int(first, 16) >= 0


@pytest.mark.parametrize(
    "changes",
    [
        {"replicas": 7},
        {"replicas": None, "minimum": 0, "maximum": 4},
        {"tags": ("role=ci",)},
        {"public_ip": False},
        {"private_network": "fr-par/aaaa"},
        {"security_group_id": "sg"},
        {"placement_group_id": "pg"},
        {"volumes": (ExtraVolume(name="cache", size_gb=10),)},
        {"protect": True},
        {"protected": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_the_revision_is_unaffected_by_what_a_living_machine_can_change(changes: dict[str, Any]) -> None:
    assert revision(**changes) == revision()


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "DEV1-M"},
        {"image": "ubuntu_jammy"},
        {"zone": "fr-par-2"},
        {"root": RootVolume(size_gb=21)},
        {"root": RootVolume(iops=15000)},
        {"cloud_init": "#cloud-config\n"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_the_revision_changes_with_what_a_machine_is_made_from(changes: dict[str, Any]) -> None:
    assert revision(**changes) != revision()


def test_a_plain_cloud_init_needs_no_key() -> None:
    assert [stash.name for stash in fleet(cloud_init="x").of(STASH)] == ["linux-uid"]


def test_the_key_of_a_secret_cloud_init_is_a_secret_that_is_kept() -> None:
    ran = fleet(cloud_init=pulumi.Output.secret("hunter2"))
    key = next(stash for stash in ran.of(STASH) if stash.name == "linux-key")
    assert key.ignore_changes == ("input",)
    assert "4dabf18193072939515e22adb298388d" in key.inputs["input"]  # Pulumi's signature of a secret value


def test_the_digest_of_a_secret_depends_on_the_fleets_key() -> None:
    secret = pulumi.Output.secret
    assert revision(cloud_init=secret("hunter2")) != revision(cloud_init=secret("hunter2"))  # two fleets, two keys


def test_the_tags_of_a_fleet_with_a_secret_cloud_init_are_no_secret() -> None:
    for server in fleet(cloud_init=pulumi.Output.secret("hunter2")).of(SERVER):
        assert all(isinstance(tag, str) for tag in server.inputs["tags"])


def test_the_cloud_init_of_a_server_stays_secret() -> None:
    (server,) = fleet(replicas=1, cloud_init=pulumi.Output.secret("hunter2")).of(SERVER)
    assert server.inputs["cloudInit"]["value"] == "hunter2"
    assert "4dabf18193072939515e22adb298388d" in server.inputs["cloudInit"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"scope": "ci"}, "uuid"),
        ({"zone": "fr-par-9"}, "known are fr-par-1"),
        ({"minimum": 1, "maximum": 2}, "either"),
        ({"replicas": None}, "either"),
        ({"replicas": None, "minimum": 3, "maximum": 2}, "min <= max"),
        ({"replicas": None, "minimum": 3}, "both"),
        ({"replicas": -1}, "0 to 1000"),
        ({"tags": ("reconciler:slot=4",)}, "set by the fleet"),
        ({"tags": ("Reconciler",)}, "set by the fleet"),
        ({"tags": ("a,b",)}, "comma"),
        ({"tags": ("a\u202eb",)}, "control"),
        ({"tags": ("",)}, "1 to 128"),
        ({"volumes": (ExtraVolume(name="a", size_gb=1), ExtraVolume(name="a", size_gb=2))}, "same name"),
    ],
)
def test_arguments_that_make_no_fleet_are_refused_with_a_reason(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        args(**changes)


@pytest.mark.parametrize("iops", [0, 4999, 10000])
def test_iops_that_scaleway_does_not_sell_are_refused(iops: int) -> None:
    with pytest.raises(ValueError, match="5000, 15000"):
        RootVolume(iops=iops)


@pytest.mark.parametrize("name", ["", "Linux", "-linux", "linux-", "a" * 41, "a_b", "a.b"])
def test_a_name_that_cannot_begin_a_host_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="lower-case"):
        run(lambda: WorkerFleet(name, args()))


def test_a_scope_in_another_spelling_is_brought_into_the_canonical_one() -> None:
    assert args(scope=SCOPE.upper()).scope == SCOPE
