"""What exists in a case: resources in their ledgers, stacks, rows, the key and this host. Part of `language`."""

from __future__ import annotations

from typing import Final

from reconciler.cases.compound import Key, ListOf, MapOf, OneOf, Plain, Record
from reconciler.cases.shapes import COUNT, DURATION, FLAG, SIZE, TEXT, Choice, Name

LEDGERS: Final = ("cloud", "state")
SERVER_STATES: Final = ("running", "stopped", "stopped in place", "starting", "stopping", "locked")
OPERATIONS: Final = ("creating", "updating", "deleting", "reading", "importing")
UNREADABLE: Final = ("missing", "broken", "newer", "twice")
ROW_STATES: Final = ("provisioning", "bootstrapping", "ready", "busy", "failed")
KINDS: Final = ("server", "ip", "volume", "network", "snapshot", "placement_group", "security_group")

NONE: Final = Choice(("none",))
TAGS: Final = ListOf(TEXT, lone=True)

_TAGS_HELP: Final = "Tags in order. `owned` stands for the owner tags of its fleet and slot; `none` for no tags."

_COMMON: Final = {
    "name": Key(shape=TEXT, help="Its name in this case and in the cloud; the id is made from it.", required=True),
    "in": Key(
        shape=ListOf(Choice(LEDGERS), lone=True),
        help="The ledgers that hold it: `cloud`, `state`; an empty list for none.",
        default="`cloud`, and `state` with a fleet or a stack",
    ),
    "stack": Key(shape=Name(), help="The stack whose state holds it.", default="the only stack"),
    "tags": Key(shape=TAGS, help=_TAGS_HELP, default="`owned` with a fleet, else none"),
    "age": Key(shape=DURATION, help="How long before the start it was made.", default="30d"),
    "gone": Key(
        shape=DURATION,
        help="How long before the start it vanished from the cloud, behind everybody's back; a server leaves its "
        "volumes and addresses.",
    ),
    "zone": Key(shape=TEXT, help="Its zone.", default="fr-par-1"),
    "project": Key(shape=Choice(("ours", "other")), help="Whose project it is in.", default="ours"),
    "state_says": Key(
        shape=Plain("a mapping", "object"), help="Outputs in the state that differ from the cloud, in Pulumi's names."
    ),
    "protect": Key(shape=FLAG, help="Pulumi's `protect` in the state.", default="no"),
    "deleting": Key(
        shape=FLAG,
        help="The state holds it as a copy that waits for its deletion, as an interrupted replacement leaves it.",
        default="no",
    ),
    "ahead": Key(
        shape=DURATION,
        help="By how much the provider's clock was ahead when it was made: its date of creation is later than `age`.",
        default="0s",
    ),
    "copies": Key(
        shape=COUNT,
        help="So many of it: `name-1`, `name-2`, … in slots counted up from `slot`; 1 to 500.",
        default="one",
    ),
}
_OWNED: Final = {
    "fleet": Key(shape=TEXT, help="The fleet it is a part of."),
    "slot": Key(shape=COUNT, help="Its slot in a fleet of a fixed size."),
    "worker": Key(
        shape=TEXT, help="The worker of an elastic fleet that it is, instead of a slot; its id is made of it."
    ),
}

ROOT: Final = Record(
    "a root volume",
    {
        "name": Key(shape=TEXT, help="Its name in this case.", default="`<server>-root`"),
        "tags": Key(shape=TAGS, help=_TAGS_HELP, default="`owned` with a fleet, else none"),
        "size": Key(shape=SIZE, help="How large it is.", default="10 GB"),
        "type": Key(shape=Choice(("sbs", "local")), help="Block storage, or local to the machine.", default="sbs"),
    },
)
ADDRESS: Final = Record(
    "an address",
    {
        "name": Key(shape=TEXT, help="Its name in this case.", default="`<server>-ip`"),
        "tags": Key(shape=TAGS, help=_TAGS_HELP, default="`owned` with a fleet, else none"),
        "in": _COMMON["in"],
    },
)
EXTRA: Final = Record(
    "a volume of a server",
    {
        "name": _COMMON["name"],
        "tags": Key(shape=TAGS, help=_TAGS_HELP, default="`owned` with a fleet, else none"),
        "size": Key(shape=SIZE, help="How large it is.", default="10 GB"),
        "type": Key(shape=Choice(("sbs", "local")), help="Block storage, or local to the machine.", default="sbs"),
        "in": _COMMON["in"],
    },
)
NIC: Final = Record(
    "a private interface",
    {
        "network": Key(shape=Name(), help="A `network` of this case.", required=True),
        "name": Key(shape=TEXT, help="Its name in this case.", default="`<server>-nic`"),
        "tags": Key(shape=TAGS, help=_TAGS_HELP, default="none"),
        "in": _COMMON["in"],
    },
)
SERVER: Final = Record(
    "a server",
    {
        **_COMMON,
        **_OWNED,
        "ip": Key(
            shape=OneOf(((("bool",), FLAG), (("str",), TEXT), (("map",), ADDRESS))),
            help="A flexible IP on it: `yes`, its name, or more about it.",
            default="no",
        ),
        "root": Key(shape=ROOT, help="Its root volume.", default="10 GB of block storage named `<server>-root`"),
        "volumes": Key(shape=ListOf(EXTRA), help="Further volumes on it.", default="none"),
        "nic": Key(shape=NIC, help="A private interface.", default="none"),
        "type": Key(shape=TEXT, help="Its commercial type.", default="DEV1-S"),
        "image": Key(shape=TEXT, help="The marketplace label of its image.", default="ubuntu_noble"),
        "state": Key(shape=Choice(SERVER_STATES), help="What it does.", default="running"),
        "protected": Key(shape=FLAG, help="Scaleway's own protection.", default="no"),
        "placement_group": Key(shape=Name(), help="A `placement_group` of this case."),
        "security_group": Key(shape=Name(), help="A `security_group` of this case.", default="the project's own"),
        "user_data": Key(shape=TEXT, help="Its cloud-init."),
    },
)
IP: Final = Record(
    "an IP",
    {
        **_COMMON,
        **_OWNED,
        "on": Key(shape=Name(), help="The server that has it.", default="none: it is detached"),
        "type": Key(shape=Choice(("routed_ipv4", "routed_ipv6")), help="IPv4 or IPv6.", default="routed_ipv4"),
    },
)
VOLUME: Final = Record(
    "a volume",
    {
        **_COMMON,
        **_OWNED,
        "on": Key(shape=Name(), help="The server that has it.", default="none: it is available"),
        "size": Key(shape=SIZE, help="How large it is.", default="10 GB"),
        "type": Key(shape=Choice(("sbs", "local")), help="Block storage, or local.", default="sbs"),
    },
)
_SHARED: Final = {key: _COMMON[key] for key in ("name", "in", "stack", "tags", "age", "zone", "project")}
SNAPSHOT: Final = Record(
    "a snapshot",
    {**_SHARED, "of": Key(shape=Name(), help="Of a snapshot: the volume that it was made of.", required=True)},
)
RESOURCE: Final = Record(
    "a resource",
    {
        "server": Key(shape=SERVER, help="A machine."),
        "ip": Key(shape=IP, help="A flexible IP."),
        "volume": Key(shape=VOLUME, help="A volume."),
        "network": Key(shape=Record("a network", _SHARED), help="A private network."),
        "snapshot": Key(
            shape=SNAPSHOT,
            help="A snapshot of a block volume.",
        ),
        "placement_group": Key(shape=Record("a placement group", _SHARED), help="A placement group."),
        "security_group": Key(shape=Record("a security group", _SHARED), help="A security group."),
    },
    one_of=KINDS,
)

LOCK: Final = Record(
    "a lock",
    {
        "by": Key(shape=TEXT, help="Who took it: `user@host`.", default="ci@runner"),
        "pid": Key(shape=COUNT, help="The process.", default="4711"),
        "age": Key(shape=DURATION, help="How long before the start it was taken.", default="0s"),
        "here": Key(shape=FLAG, help="Whether it was taken on this host.", default="no"),
        "alive": Key(shape=FLAG, help="Whether that process still runs.", default="not known"),
        "command": Key(shape=TEXT, help="The verb of the CLI that took it."),
        "job": Key(shape=TEXT, help="The CI job that started it."),
    },
)
PENDING: Final = Record(
    "a pending operation",
    {
        **{one: Key(shape=Name(), help=f"The resource of this case that was {one}.") for one in OPERATIONS},
        "age": Key(shape=DURATION, help="How long before the start it was begun.", default="0s"),
    },
    one_of=OPERATIONS,
)
FLEET: Final = Record(
    "a fleet",
    {
        "replicas": Key(shape=COUNT, help="How many machines it declares.", default="as many as it has slots here"),
        "min": Key(shape=COUNT, help="Of an elastic fleet: the fewest machines.", default="0, with `max`"),
        "max": Key(shape=COUNT, help="Of an elastic fleet, which has no slots: the most machines."),
        "type": Key(shape=TEXT, help="The commercial type of its machines.", default="DEV1-S"),
        "zone": Key(shape=TEXT, help="Their zone.", default="fr-par-1"),
        "revision": Key(shape=TEXT, help="12 hex digits.", default="0123456789ab"),
    },
)
_STACK_NOW: Final = {
    "lock": Key(shape=OneOf(((("map",), LOCK), (("str",), NONE))), help="Somebody holds it.", default="none"),
    "pending": Key(shape=ListOf(PENDING), help="Operations that began and never ended.", default="none"),
    "unreadable": Key(
        shape=OneOf(((("str",), Choice(UNREADABLE)), (("bool",), FLAG))),
        help="From the first step on it cannot be read: it is missing, its file is broken, of a newer version, or "
        "holds a resource twice; `no` in a later step ends that.",
    ),
    "hangs": Key(
        shape=FLAG,
        help="From the first step on a Pulumi command that writes to it does not end by itself.",
        default="no",
    ),
}
STACK: Final = Record(
    "a stack",
    {
        "fleets": Key(shape=MapOf(FLEET), help="The fleets that it declares.", default="those of its machines"),
        "output": Key(
            shape=FLAG,
            help="Whether it exports what it declares (a program that knows us).",
            default="yes, with fleets",
        ),
        **_STACK_NOW,
    },
)
STACK_CHANGE: Final = Record("a change of a stack", _STACK_NOW)
RIGHTS: Final = Record(
    "the key's rights",
    {
        "denied": Key(shape=ListOf(TEXT, lone=True), help="Kinds whose lists and reads answer 403.", default="none"),
        "hidden": Key(
            shape=ListOf(TEXT, lone=True), help="Kinds whose lists answer an empty 200 and reads 403.", default="none"
        ),
        "read_only": Key(shape=FLAG, help="It may not write.", default="no"),
        "ipam_needs_project": Key(shape=FLAG, help="IPAM answers an empty 200 without a project.", default="no"),
        "revoked": Key(shape=FLAG, help="Every call answers 401.", default="no"),
    },
)
ROW: Final = Record(
    "a row",
    {
        "worker": Key(shape=TEXT, help="The worker that it is about.", required=True),
        "fleet": Key(shape=TEXT, help="Its fleet.", required=True),
        "state": Key(shape=Choice(ROW_STATES), help="What the row says.", default="ready"),
        "machine": Key(shape=Name(), help="The server of this case that it records.", default="none"),
        "age": Key(shape=DURATION, help="How long before the start it was written.", default="1d"),
        "sent": Key(shape=DURATION, help="How long before the start its create was sent.", default="not"),
        "ended": Key(shape=TEXT, help="It ended, for this reason: what is left of it is a tombstone."),
    },
)
ROW_LEFT: Final = Record(
    "a row that is left",
    {
        "worker": Key(shape=TEXT, help="The worker that it is about.", required=True),
        "state": Key(shape=Choice(ROW_STATES), help="What the row says."),
        "machine": Key(shape=Name(), help="The server that it records."),
    },
)
PROCESS: Final = Record(
    "a process",
    {
        "name": Key(shape=TEXT, help="Its program.", default="pulumi-resource-scaleway"),
        "pid": Key(shape=COUNT, help="Its number.", default="4712"),
        "why": Key(shape=TEXT, help="What ties it to the stack.", default="nothing rules it out"),
        "age": Key(shape=DURATION, help="How long before the start it began.", default="1h"),
    },
)
