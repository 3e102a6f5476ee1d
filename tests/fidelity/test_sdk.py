"""Scaleway's own Python SDK, over loopback, reads every answer: each kind of object in each of its states.

One world is lived through (tests/fidelity/sdk_story.py), and what the SDK made of every answer is held to its own type
annotations (tests/fidelity/sdk.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reconciler.kernel.clock import VirtualClock
from reconciler.simulator import Simulator, serve
from reconciler.simulator.rooms import ROUTES
from tests.fidelity.sdk import Sdk, complaints
from tests.fidelity.sdk_story import Story, tell
from tests.simulator import recordings

pytestmark = [
    pytest.mark.xdist_group("sdk"),
    # The SDK warns of its own old module names when it is imported.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
# What the SDK has no call for.
NOT_IN_THE_SDK = {
    ("GET", "/metadata"),
    ("PUT", "/instance/v1/zones/{zone}/servers/{server}/user_data/{key}"),
    ("PUT", "/instance/v1/zones/{zone}/security_groups/{group}/rules"),
}


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    clock = VirtualClock()
    simulator = Simulator(clock=clock)
    with serve(simulator) as served:
        told = Story(Sdk(served.url), clock, simulator)
        tell(told)
        yield told


def test_the_sdk_finds_everything_that_its_types_promise(story: Story) -> None:
    assert sorted(set(story.sdk.found)) == []


def test_every_route_that_the_sdk_knows_was_read(story: Story) -> None:
    called = {tuple(name.split(" ", 1)) for name in story.simulator.traffic.calls()}
    assert {(route.method, route.template) for route in ROUTES} - called == NOT_IN_THE_SDK
    assert story.simulator.traffic.unknown() == {}
    assert story.simulator.crashes == []


def test_each_kind_was_read_in_each_of_its_states(story: Story) -> None:
    assert story.seen == {
        "server": {"stopped", "starting", "running", "stopping", "stopped in place", "locked"},
        "server v2alpha1": {
            "stopped", "starting", "started", "stopping", "pausing", "paused", "rebooting", "locked",
        },
        "volume of a server": {"available", "attaching", "snapshotting", "deleting"},
        "ip": {"detached", "pending", "attached"},
        "ipam ip": {"free", "custom", "instance_server", "instance_private_nic"},
        "nic": {"attaching", "available"},
        "nic v1": {"syncing", "available"},
        "local volume": {"available", "snapshotting", "deleting"},
        "local snapshot": {"available", "snapshotting", "importing", "exporting"},
        "block volume": {"creating", "available", "updating", "in_use"},
        "block snapshot": {"creating", "available", "exporting", "in_use"},
        "reference": {"attaching", "attached", "detaching"},
    }  # fmt: skip


@pytest.mark.skipif(recordings.directory() is None, reason="no recordings here: set RECONCILER_TEST_DATA")
def test_what_the_sdk_reads_otherwise_than_its_types_say_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that no recorded answer needs would be an excuse for the simulator."""
    from scaleway.instance.v1 import marshalling, types

    monkeypatch.setattr("tests.fidelity.sdk.WORDS", frozenset())
    monkeypatch.setattr("tests.fidelity.sdk.NULLS", frozenset())
    v1, found = "/instance/v1/zones/{place}", set[str]()
    reads = {
        f"{v1}/servers/{{id}}": (marshalling.unmarshal_GetServerResponse, types.GetServerResponse),
        f"{v1}/ips/{{id}}": (marshalling.unmarshal_GetIpResponse, types.GetIpResponse),
        f"{v1}/security_groups/{{id}}/rules": (
            marshalling.unmarshal_ListSecurityGroupRulesResponse, types.ListSecurityGroupRulesResponse
        ),
    }  # fmt: skip
    for path, (unmarshal, kind) in reads.items():
        for body in recordings.bodies("GET", path):
            found.update(complaints(unmarshal(body), kind, ""))
    assert {text for text in found if "total_count" not in text} == {
        ".server.state: 'stopped in place' is no ServerState",
        ".server.volumes{}.state: 'deleting' is no VolumeServerState",
        ".rules[].protocol: 'TCP' is no SecurityGroupRuleProtocol",
        ".ip.address: nothing, and it is not optional",
        ".ip.prefix: nothing, and it is not optional",
    }


def test_a_word_or_a_value_that_is_missing_is_a_complaint() -> None:
    """The check itself: without it the SDK reads None and says nothing."""
    from scaleway.block.v1.marshalling import unmarshal_VolumeType
    from scaleway.block.v1.types import VolumeType
    from scaleway.instance.v1.types import ServerState

    empty = unmarshal_VolumeType({"type": None})
    assert "v.type_: nothing, and it is not optional" in list(complaints(empty, VolumeType, "v"))
    assert list(complaints("melting", ServerState, "s")) == ["s: 'melting' is no ServerState"]
