"""What the states hold, and what has become of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.resources import Kind, region_of
from reconciler.simulator import effects
from reconciler.simulator.generate import Worker
from tests.worlds.checkpoints import TOKENS
from tests.worlds.draft import (
    BORN,
    GRACE_MS,
    LONG,
    MAIN,
    NOW,
    OTHER_PROJECT,
    OTHER_SCOPE,
    PROJECT,
    SIDE,
    Draft,
    Fleet,
    owner_tags,
)
from tests.worlds.scenes import scene
from tests.worlds.truth import Rank, Whose

SERVER: Final = "scaleway:instance/server:Server"
IP: Final = "scaleway:instance/ip:Ip"


def machine(draft: Draft, fleet: Fleet, slot: int, *, root_tags: bool = True, held: bool = True) -> Worker:
    """A worker of a fleet with its address, in order; held in the state as `WorkerFleet` declares it."""
    name, tags = f"{fleet.name}-{slot}", fleet.tags(slot)
    worker = draft.server(name, zone=fleet.zone, tags=tags, child_tags=tags, with_ip=True)
    if not root_tags:
        draft.change(worker.root, tags=draft.extra_tags())
    if held:
        draft.hold(worker.server, fleet.stack, fleet.urn_of(SERVER, name))
        assert worker.ip is not None
        draft.hold(worker.ip, fleet.stack, fleet.urn_of(IP, f"{name}-ip"))
    draft.is_(Whose.HELD, worker.server, worker.ip)
    draft.is_(Whose.IN_USE, worker.root, retag=True)
    return worker


def base(draft: Draft, zone: str) -> None:
    """One machine of every listed kind in a zone, all of it in a state: every list has a witness."""
    name = f"{draft.label}-{zone}"
    network = draft.network(zone)
    worker = draft.server(name, zone=zone, tags=("role=web",), with_ip=True, network=network)
    local = draft.local(zone, f"{name}-local")
    draft.attach(local, worker.server)
    data = draft.volume(zone, f"{name}-data", ("role=web",))
    draft.attach(data, worker.server)
    assert worker.nic is not None
    assert worker.ip is not None
    draft.change(worker.nic, tags=("role=web",))
    booked = effects.book_private(draft.world, draft.mint, network, v6=False, booked=True, now_ms=BORN)
    assert booked is not None
    for id_ in (worker.server, worker.ip, worker.nic, local.id, data.id, booked.id):
        draft.hold_plain(id_, f"{name}-{id_[:8]}")
    draft.is_(Whose.HELD, worker.server, worker.ip, worker.nic, local.id, data.id, booked.id)
    draft.is_(Whose.IN_USE, worker.root)


@scene("fleet in order")
def in_order(draft: Draft) -> None:
    replicas = draft.chance.randint(1, 3)
    fleet = draft.fleet(replicas, stack=draft.one_of(MAIN, SIDE))
    for slot in range(replicas):
        machine(draft, fleet, slot)


@scene("vacant slot", FindingKind.VACANT)
def vacant(draft: Draft) -> None:
    fleet = draft.fleet(2)
    machine(draft, fleet, 0)
    draft.vacant(fleet, 1, when="both")


@scene("root without tags", FindingKind.UNTAGGED_CHILD)
def untagged(draft: Draft) -> None:
    fleet = draft.fleet(1)
    worker = machine(draft, fleet, 0, root_tags=False)
    draft.expect(
        FindingKind.UNTAGGED_CHILD,
        draft.text(worker.root),
        draft.text(worker.server),
        verdict=Verdict.ACT,
        action=ActionKind.TAG,
        stack=fleet.stack,
    )


@scene("machine gone", FindingKind.MISSING, FindingKind.DETACHED, FindingKind.VACANT, weight=2)
def gone(draft: Draft) -> None:
    """Terminated by hand: the root and the address survive."""
    fleet = draft.fleet(1)
    worker = machine(draft, fleet, 0)
    missing(draft, draft.text(worker.server), stack=fleet.stack)
    draft.remember(worker.root, source="attached", fleet=fleet.name, server=worker.server)
    effects.server_gone(draft.world, draft.get_server(worker.server), now_ms=LONG, keep_local=False)
    del draft.things[worker.server]
    draft.vacant(fleet, 0, when="last")
    old = draft.one_of(True, False)
    if old:
        draft.memory.unowned[draft.ref(worker.root)] = LONG
    draft.is_(Whose.LEFTOVER, worker.root, destroy=True, from_ms=(LONG if old else NOW) + GRACE_MS)
    draft.expect(
        FindingKind.DETACHED,
        draft.text(worker.root),
        verdict=Verdict.ACT if old else Verdict.WAIT,
        action=ActionKind.DESTROY,
        rank=Rank.ACT if old else Rank.GRACE,
    )


def missing(draft: Draft, text: str, *, stack: str) -> None:
    draft.expect(FindingKind.MISSING, text, verdict=Verdict.ACT, action=ActionKind.REFRESH, stack=stack)


@scene("something else gone", FindingKind.MISSING, weight=3)
def part_gone(draft: Draft) -> None:
    """An entry of any kind that is read, and nothing behind it."""
    kind = draft.one_of(Kind.IP, Kind.VOLUME, Kind.INSTANCE_VOLUME, Kind.NIC, Kind.IPAM, Kind.PRIVATE_NETWORK)
    zone, id_ = draft.zone(), draft.mint.uuid()
    place = region_of(zone) if kind.regional else zone
    token = next(token for token in TOKENS.values() if _kind_of(token) is kind)
    stack = draft.stacks[draft.one_of(MAIN, SIDE)]
    urn = stack.urn(token, draft.label)
    middle = f"{draft.uuid()}/" if kind is Kind.NIC else ""
    stack.resources.append(
        {
            "urn": urn,
            "type": token,
            "custom": True,
            "id": f"{place}/{middle}{id_}",
            "inputs": {"tags": ["role=web"]},
            "outputs": {"tags": ["role=web"], "name": draft.label, "projectId": PROJECT},
        }
    )
    missing(draft, f"{kind.value} {place}/{id_}", stack=stack.name)


def _kind_of(token: str) -> Kind:
    from reconciler.model.state import KIND_OF_TYPE

    return KIND_OF_TYPE[token]


_BY_HAND: Final[dict[str, dict[str, Any]]] = {
    "name": {"name": "by hand"},
    "state": {"state": "stopped", "state_detail": "", "located": False},
    "type": {"commercial_type": "DEV1-M"},
    "protected": {"protected": True},
}


@scene("changed by hand", FindingKind.CHANGED, weight=3)
def changed(draft: Draft) -> None:
    """One property of what a program declares, touched in the console."""
    zone = draft.zone()
    stack = draft.one_of(MAIN, SIDE)
    what = draft.one_of("name", "state", "type", "protected", "ip tags", "volume size", "volume name", "local tags")
    if what == "ip tags":
        id_ = draft.ip(zone, ("role=web",)).id
        change: dict[str, Any] = {"tags": ("role=web", *(draft.extra_tags() or ("by-hand",)))}
    elif what.startswith("volume"):
        id_ = draft.volume(zone, f"data-{draft.label}").id
        change = {"size": 20 * 10**9} if what == "volume size" else {"name": "by hand"}
    elif what == "local tags":
        id_ = draft.local(zone, f"data-{draft.label}").id
        change = {"tags": ("by-hand",)}
    else:
        made = draft.server(f"web-{draft.label}", zone=zone)
        id_ = made.server
        draft.is_(Whose.IN_USE, made.root)
        change = _BY_HAND[what]
    draft.hold_plain(id_, draft.label, stack=stack)
    draft.change(id_, **change)
    draft.is_(Whose.PROTECTED if what == "protected" else Whose.HELD, id_)
    draft.expect(FindingKind.CHANGED, draft.text(id_), verdict=Verdict.ACT, action=ActionKind.REFRESH, stack=stack)


@scene("changed where a refresh is blind", FindingKind.CHANGED)
def blind(draft: Draft) -> None:
    """A name that the program leaves to the provider: a person settles it."""
    made = draft.server(f"web-{draft.label}", zone=draft.zone())
    draft.hold_plain(made.server, draft.label)
    del draft.stacks[SIDE].resources[-1]["inputs"]["name"]
    draft.change(made.server, name="by hand")
    draft.is_(Whose.HELD, made.server)
    draft.is_(Whose.IN_USE, made.root)
    draft.expect(
        FindingKind.CHANGED,
        draft.text(made.server),
        verdict=Verdict.ASK,
        action=ActionKind.NONE,
        stack=SIDE,
        when="both",
    )


@scene("declared tags lost", FindingKind.CHANGED, weight=2)
def tags_lost(draft: Draft) -> None:
    """Taken off by hand, with a stranger's tag in their place; on what is never touched a person decides."""
    fleet, why = draft.fleet(1), draft.one_of("ours", "ours", "keep", "foreign")
    worker = machine(draft, fleet, 0)
    extra = {"keep": ("keep",), "foreign": (f"reconciler:scope={OTHER_SCOPE}",)}.get(why, draft.extra_tags())
    kept = draft.chance.sample(fleet.tags(0), draft.chance.randint(0, 3))
    draft.change(worker.server, tags=(*kept, *extra))
    ours = why == "ours"
    draft.is_(Whose.HELD if ours else Whose.NEVER, worker.server, retag=ours)
    draft.expect(
        FindingKind.CHANGED,
        draft.text(worker.server),
        verdict=Verdict.ACT if ours else Verdict.ASK,
        action=ActionKind.TAG,
        stack=fleet.stack,
        when="first" if ours else "both",
    )


@scene("nobody's difference")
def aside(draft: Draft) -> None:
    """What is only read, waits for its removal, is another project's, or is ignored by its program."""
    zone = draft.zone()
    read = draft.server(f"read-{draft.label}", zone=zone)
    draft.hold_plain(read.server, f"{draft.label}-read", external=True)
    draft.change(read.server, name="renamed")
    ignored = draft.ip(zone, ("role=web",))
    draft.hold_plain(ignored.id, f"{draft.label}-ignored", ignoreChanges=["tags"])
    draft.change(ignored.id, tags=("by-hand",))
    old = draft.volume(zone, f"old-{draft.label}")
    draft.hold_plain(old.id, f"{draft.label}-old", delete=True)
    draft.world.block_volumes.remove(old.id)
    other = draft.volume(zone, f"other-{draft.label}", project=OTHER_PROJECT)
    draft.hold_plain(other.id, f"{draft.label}-other")
    draft.world.block_volumes.remove(other.id)
    draft.is_(Whose.HELD, read.server, ignored.id)
    draft.is_(Whose.IN_USE, read.root)


@scene("held with our tags by another type")
def odd_type(draft: Draft) -> None:
    """An older type token holds its machine all the same; so does `protect`."""
    volume = draft.volume(draft.zone(), f"data-{draft.label}", owner_tags(f"old-{draft.label}"))
    draft.remember(volume.id, source="state")
    draft.memory.unowned[draft.ref(volume.id)] = LONG
    token = "scaleway:index/blockVolume:BlockVolume"
    stack = draft.stacks[MAIN]
    stack.resources.append(
        {
            "urn": stack.urn(token, draft.label),
            "type": token,
            "custom": True,
            "id": f"{volume.zone}/{volume.id}",
            "protect": True,
        }
    )
    draft.is_(Whose.PROTECTED, volume.id)


@scene("no longer in the program", FindingKind.UNDECLARED)
def undeclared(draft: Draft) -> None:
    made = draft.server(f"web-{draft.label}", zone=draft.zone())
    draft.undeclared.add(draft.hold_plain(made.server, draft.label))
    draft.is_(Whose.HELD, made.server)
    draft.is_(Whose.IN_USE, made.root)
    if draft.program:
        draft.expect(
            FindingKind.UNDECLARED,
            draft.text(made.server),
            verdict=Verdict.ASK,
            action=ActionKind.UP,
            stack=SIDE,
            when="both",
        )


def _unheld(draft: Draft, fleet: Fleet, slot: int) -> tuple[Worker, tuple[str, ...]]:
    """A machine with the tags of a slot that no state holds, and the texts of its finding."""
    worker = machine(draft, fleet, slot, held=False)
    for id_ in (worker.server, worker.ip, worker.root):
        assert id_ is not None
        draft.memory.unowned[draft.ref(id_)] = LONG
    assert worker.ip is not None
    draft.remember(worker.ip, source="attached", fleet=fleet.name, server=worker.server)
    return worker, tuple(draft.text(one) for one in (worker.server, worker.root, worker.ip))


@scene("fits a vacant slot", FindingKind.ORPHAN, FindingKind.VACANT, weight=2)
def fits(draft: Draft) -> None:
    """Adopted, whether or not it is proved ours: that is no harm."""
    fleet = draft.fleet(2)
    machine(draft, fleet, 0)
    worker, texts = _unheld(draft, fleet, 1)
    if draft.chance.random() < 0.5:
        draft.remember(worker.server, source="state", fleet=fleet.name)
    draft.expect(FindingKind.ORPHAN, *texts, verdict=Verdict.ACT, action=ActionKind.ADOPT)
    draft.vacant(fleet, 1, when="first")
    adoptable(draft, fleet, worker, 1)


def adoptable(draft: Draft, fleet: Fleet, worker: Worker, slot: int) -> None:
    assert worker.ip is not None
    draft.adoptable[fleet.stack, fleet.urn_of(SERVER, f"{fleet.name}-{slot}")] = worker.server
    draft.adoptable[fleet.stack, fleet.urn_of(IP, f"{fleet.name}-{slot}-ip")] = worker.ip


@scene("two machines for one slot", FindingKind.DUPLICATE)
def duplicate(draft: Draft) -> None:
    fleet = draft.fleet(1)
    held = machine(draft, fleet, 0)
    _, texts = _unheld(draft, fleet, 0)
    draft.expect(
        FindingKind.DUPLICATE,
        texts[0],
        draft.text(held.server),
        *texts[1:],
        verdict=Verdict.ASK,
        action=ActionKind.NONE,
        rank=Rank.MOVING,
        when="both",
    )


@scene("rescue")
def rescue(draft: Draft) -> None:
    """The root of a stopped machine, taken off to be repaired: it is wanted back, whatever our own refresh writes."""
    fleet = draft.fleet(1)
    worker = machine(draft, fleet, 0)
    server = draft.get_server(worker.server)
    draft.remember(worker.root, source="attached", fleet=fleet.name, server=worker.server)
    draft.memory.unowned[draft.ref(worker.root)] = LONG
    draft.world.servers.put(replace(server, slots=()))
    effects.free_block_volume(draft.world, draft.get(worker.root), now_ms=LONG)
    draft.is_(Whose.IN_USE, worker.root)
    draft.expect(
        FindingKind.CHANGED,
        draft.text(worker.server),
        verdict=Verdict.ACT,
        action=ActionKind.REFRESH,
        stack=fleet.stack,
    )
    draft.expect(
        FindingKind.DETACHED,
        draft.text(worker.root),
        verdict=Verdict.ASK,
        action=ActionKind.DESTROY,
        rank=Rank.PROOF,
        when="both",
    )
