"""Resources by chance, told by four ledgers, and policies by chance that judge them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from policies import pack
from reconciler.model.policy import Policy
from reconciler.model.resources import Ip, Kind, Nic, Server, Volume
from reconciler.model.state import StateResource
from reconciler.policy.adapters.inputs import items_of_entry
from reconciler.policy.adapters.live import item_of
from reconciler.policy.adapters.lookups import Lookups
from reconciler.policy.adapters.rows import RowValue, item_of_row
from reconciler.policy.decode import decode_value
from reconciler.policy.item import Item
from tests.builders import HOSTILE, PROJECT, SCOPE, uid

NOW = 1_790_000_000_000
ZONES = ("fr-par-1", "nl-ams-2", "pl-waw-3")
TYPES = ("DEV1-S", "PRO2-XXS", "GPU-3070-S")
TOKENS = {
    Kind.SERVER: "scaleway:instance/server:Server",
    Kind.IP: "scaleway:instance/ip:Ip",
    Kind.VOLUME: "scaleway:block/volume:Volume",
    Kind.INSTANCE_VOLUME: "scaleway:instance/volume:Volume",
    Kind.NIC: "scaleway:instance/privateNic:PrivateNic",
}
LOOKUPS = Lookups(
    types={(zone, name): 9_000_000 * (number + 1) for zone in ZONES for number, name in enumerate(TYPES)},
    gb_nanos=118_000,
    ip_nanos=4_000_000,
    images={uid("old"): NOW - 90 * 86_400_000, uid("new"): NOW - 86_400_000},
)
TAGS = (
    "reconciler", "Reconciler", f"reconciler:scope={SCOPE}", "reconciler:scope=other", "reconciler:fleet=linux",
    "reconciler:fleet=render", "reconciler:revision=0123456789ab", "reconciler:revision=ffffffffffff", "role=ci",
    "Role=ci", "role =ci", "role=", "=ci", "env=prod", "env=dev-ann", "managed-by-ann", "profile=linux", "temporary",
    "token=x", "x" * 80, "", HOSTILE, "\ud800",
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """One resource, apart from any ledger."""

    kind: Kind
    name: str
    zone: str
    tags: tuple[str, ...]
    type: str
    gb: int
    public: bool
    dynamic: bool
    protected: bool
    image: str


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    return Sample(
        kind=draw(st.sampled_from(sorted(TOKENS))),
        name=draw(st.sampled_from(["linux-0", "bastion-1", HOSTILE])),
        zone=draw(st.sampled_from(ZONES)),
        tags=tuple(draw(st.lists(st.sampled_from(TAGS), max_size=6))),
        type=draw(st.sampled_from(TYPES)),
        gb=draw(st.integers(1, 300)),
        public=draw(st.booleans()),
        dynamic=draw(st.booleans()),
        protected=draw(st.booleans()),
        image=draw(st.sampled_from([uid("old"), uid("new"), uid("unknown")])),
    )


# -- the four ledgers


def live(sample: Sample) -> Item:
    common: dict[str, Any] = {"id": uid("x"), "zone": sample.zone, "project": PROJECT, "tags": sample.tags}
    resource: Server | Ip | Volume | Nic
    match sample.kind:
        case Kind.SERVER:
            resource = Server(
                **common,
                name=sample.name,
                state="running",
                commercial_type=sample.type,
                image_id=sample.image,
                ip_ids=(uid("ip"),) if sample.public else (),
                dynamic_ip_required=sample.dynamic,
                protected=sample.protected,
            )
        case Kind.IP:
            resource = Ip(**common, address="51.15.0.1")
        case Kind.NIC:
            resource = Nic(**common, server_id=uid("s"), private_network_id=uid("n"))
        case _:
            volume_type = "sbs_5k" if sample.kind is Kind.VOLUME else "l_ssd"
            resource = Volume(
                **common,
                kind=sample.kind,
                name=sample.name,
                volume_type=volume_type,
                size=sample.gb * 1_000_000_000,
                status="available",
            )
    return item_of(resource, LOOKUPS)


def inputs(sample: Sample) -> dict[str, Any]:
    """As a program declares it."""
    given: dict[str, Any] = {"tags": list(sample.tags), "zone": sample.zone}
    match sample.kind:
        case Kind.SERVER:
            given |= {"name": sample.name, "type": sample.type, "image": f"{sample.zone}/{sample.image}"}
            given |= {"protected": sample.protected, "enableDynamicIp": sample.dynamic}
            given |= {"ipId": f"{sample.zone}/{uid('ip')}"} if sample.public else {}
        case Kind.IP:
            given |= {"type": "routed_ipv4"}
        case Kind.VOLUME | Kind.INSTANCE_VOLUME:
            given |= {"name": sample.name, "sizeInGb": float(sample.gb)}
        case _:
            pass
    return given


def in_state(sample: Sample) -> Item:
    token = TOKENS[sample.kind]
    entry = StateResource(
        urn=f"urn:pulumi:prod::ci::{token}::{sample.name}",
        type=token,
        id=f"{sample.zone}/{uid('x')}",
        custom=True,
        inputs=inputs(sample),
    )
    return next(items_of_entry(entry, LOOKUPS))


def in_pack(sample: Sample) -> Item:
    token = TOKENS[sample.kind]
    return pack.items(token, inputs(sample), urn=f"urn:pulumi:prod::ci::{token}::{sample.name}", lookups=LOOKUPS)[0]


def in_row(sample: Sample) -> Item:
    """Rows are of servers."""
    return item_of_row(
        RowValue(
            id=uid("row"),
            name=sample.name,
            zone=sample.zone,
            tags=sample.tags,
            commercial_type=sample.type,
            image_id=sample.image,
            public_ip=sample.public or sample.dynamic,
            protected=sample.protected,
        ),
        LOOKUPS,
    )


# -- policies

RULES: tuple[dict[str, Any], ...] = (
    {"check": "required-tags", "tags": ["role=ci", "gpu"], "severity": "remediate"},
    {"check": "required-keys", "keys": ["role", "owner"], "defaults": {"owner": "platform"}},
    {"check": "allowed-values", "key": "env", "values": ["prod"], "patterns": ["dev-[a-z]+"]},
    {"check": "allowed-tags", "tags": ["gpu"], "patterns": ["(role|env)=.*"]},
    {"check": "forbidden-tags", "tags": ["temporary"], "patterns": ["token=.*", ".*<b>.*"]},
    {"check": "tag-case", "keys": ["role", "env"]},
    {"check": "tag-case", "case": "lower"},
    {"check": "tag-form", "form": "key-value"},
    {"check": "tag-form", "form": "bare"},
    {"check": "tag-limits", "count": 3, "length": 70, "repeats": False},
    {"check": "ownership", "severity": "remediate"},
    {"check": "ownership", "tags": ["managed-by-ann"]},
    {"check": "no-public-ip", "kinds": ["server", "ip"]},
    {"check": "allowed-types", "types": ["DEV1-*"]},
    {"check": "allowed-zones", "zones": ["fr-par-*"]},
    {"check": "max-size", "gb": 100, "kinds": ["volume", "instance_volume"]},
    {"check": "max-price", "eur_hour": 0.01, "kinds": ["server", "ip", "volume", "instance_volume"]},
    {"check": "deletion-protection"},
    {"check": "deletion-protection", "protected": False},
    {"check": "max-image-age", "age": "30d"},
    {"check": "current-revision"},
)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    chosen = draw(st.lists(st.sampled_from(range(len(RULES))), min_size=1, max_size=8, unique=True))
    rules = []
    for number in chosen:
        rule = {"id": f"rule-{number}", **RULES[number]}
        if draw(st.booleans()):
            rule["fleets"] = [draw(st.sampled_from(["linux", "re*"]))]
        rules.append(rule)
    document: dict[str, Any] = {"version": 1, "rules": rules}
    if draw(st.booleans()):
        document["mappings"] = [
            {"key": "owner", "pattern": "managed-by-(.+)", "write": "managed-by-{value}"},
            {"key": "fleet", "pattern": "profile=(.+)"},
        ]
    if draw(st.booleans()):
        exception: dict[str, Any] = {"rules": ["*"], "reason": "r", "owner": "o"}
        exception["expires"] = draw(st.sampled_from(["2020-01-01", "2030-01-01"]))
        exception |= draw(st.sampled_from([{"names": ["bastion*"]}, {"tags": ["temporary"]}, {"fleets": ["linux"]}]))
        document["exceptions"] = [exception]
    return decode_value(document, source="by chance")


def named(item: Item) -> Item:
    """With the name that every ledger tells: a program does not name IPs and NICs."""
    return item if item.kind in (Kind.SERVER, Kind.VOLUME, Kind.INSTANCE_VOLUME) else replace(item, name="x")
