"""Faults that happen to interfaces, networks, groups and booked addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tests.e2e.equivalence_parts.draft import OMITTED, Draft

TARGETED: Final = ("private_network", "security_group", "placement_group")


def _network(draft: Draft, name: str = "network") -> str:
    return draft.add("private_network", name, name=f"{draft.prefix}-{name}")


def inline_deleted(draft: Draft) -> None:
    network = _network(draft)
    server = draft.server(private_networks=[{"pn_id": draft.ref(network)}], **draft.ignoring("privateNetworks"))
    draft.happens("delete_nic", nic=f"$nic:{server}")


def own_nic(draft: Draft, *, ignore: Sequence[str] = (), **touched: Any) -> str:
    """A `PrivateNic` resource, beside the server that it is on."""
    server, network = draft.server(), _network(draft)
    args = {"server_id": draft.ref(server), "private_network_id": draft.ref(network)}
    return draft.add("nic", "nic", ignore=ignore, **{**args, **touched})


def own_deleted(draft: Draft) -> None:
    draft.happens("delete_nic", nic=f"${own_nic(draft)}")


def gained(draft: Draft) -> None:
    network = _network(draft)
    if draft.declaration == OMITTED:
        server = draft.server()
    else:
        other = _network(draft, "other")
        server = draft.server(private_networks=[{"pn_id": draft.ref(other)}], **draft.ignoring("privateNetworks"))
    draft.happens("gain_nic", server=f"${server}", network=f"${network}")


def targeted(draft: Draft, *, kind: str, ignore: Sequence[str] = (), **touched: Any) -> str:
    return draft.add(kind, "target", ignore=ignore, **{"name": f"{draft.prefix}-target", "tags": ["t0"], **touched})


def removed(draft: Draft, *, kind: str) -> None:
    draft.happens("remove", kind=kind, id=f"${targeted(draft, kind=kind)}")


def ipam(draft: Draft, *, ignore: Sequence[str] = (), **touched: Any) -> str:
    network = _network(draft)
    return draft.add("ipam", "booked", ignore=ignore, sources=[{"private_network_id": draft.ref(network)}], **touched)


def ipam_deleted(draft: Draft) -> None:
    draft.happens("remove", kind="ipam_ip", id=f"${ipam(draft)}")


def policy_of_group(draft: Draft) -> None:
    policy = draft.touching("inbound_default_policy", "accept", path="inboundDefaultPolicy")
    group = targeted(draft, kind="security_group", **policy)
    draft.happens("edit", kind="security_group", id=f"${group}", set={"inbound_default_policy": "drop"})


def policy_of_placement(draft: Draft) -> None:
    policy = draft.touching("policy_mode", "optional", path="policyMode")
    group = targeted(draft, kind="placement_group", **policy)
    draft.happens("edit", kind="placement_group", id=f"${group}", set={"policy_mode": "enforced"})
