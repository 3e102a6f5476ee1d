"""What must never be touched: other people's things, also those that look like ours in every way but one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.model.finding import FindingKind
from reconciler.simulator import effects
from reconciler.simulator.records import BlockVolume, FlexibleIp, IpamResource, Reference
from reconciler.simulator.records_static import BlockSnapshot
from tests.worlds import hostile
from tests.worlds.draft import BORN, LONG, OTHER_PROJECT, OTHER_SCOPE, SCOPE, Draft, owner_tags
from tests.worlds.scenes import scene
from tests.worlds.truth import Whose

# Why it is not ours, though the memory and the owner tags say that it is.
_LOOKS_OURS: Final = ("foreign", "both scopes", "keep", "id", "kapsule", "kosmos", "released")
_SHAPES: Final = ("server", "ip", "volume", "local")


@scene("stranger", FindingKind.UNMANAGED, weight=3)
def stranger(draft: Draft) -> None:
    """Nothing says that it is ours: no tags, hostile ones, or near misses."""
    near = tuple(tag.format(scope=SCOPE) for tag in draft.one_of(*hostile.NEAR))
    many = draft.hostile and draft.chance.random() < 0.01
    tags = draft.one_of((), ("role=ci",), near, near, hostile.some(draft.chance, many=many))
    name = hostile.text(draft.chance) if draft.hostile else f"stranger-{draft.label}"
    _make(draft, draft.one_of(*_SHAPES), name, tags, whose=Whose.STRANGER)


@scene("looks like ours", FindingKind.UNMANAGED, weight=5)
def looks_like_ours(draft: Draft) -> None:
    """Both proofs, past its grace, and one thing that says no."""
    why, shape = draft.one_of(*_LOOKS_OURS, "name"), draft.one_of(*_SHAPES)
    tags, name = owner_tags(f"old-{draft.label}"), f"old-{draft.label}"
    match why:
        case "foreign":
            tags = owner_tags(f"old-{draft.label}", scope=OTHER_SCOPE)
        case "both scopes":
            tags = (*tags, f"reconciler:scope={OTHER_SCOPE}")
        case "keep":
            tags = (*tags, draft.one_of("keep", "do not touch"))
        case "kapsule" | "kosmos":
            tags = (*tags, draft.one_of(why, f"{why}={draft.uuid()}"))
        case "name":
            shape = "volume" if shape == "ip" else shape
            name = draft.one_of("pvc-7", "scw-k8s-pool", "x_pvc-1", "k8s-node", "bastion-1")
    whose = Whose.STRANGER if why in ("foreign", "both scopes") else Whose.NEVER
    target = _make(draft, shape, name, (*tags, *draft.extra_tags()), whose=whose)
    draft.remember(target, source="state")
    draft.memory.unowned[draft.ref(target)] = LONG
    if why == "id":
        draft.never_ids.append(draft.one_of(target, f"{draft.ref(target).zone}/{target}", target.upper()))
    if why == "released":
        draft.memory.released.append((draft.ref(target), draft.label))


def _make(draft: Draft, shape: str, name: str, tags: tuple[str, ...], *, whose: Whose) -> str:
    zone = draft.zone()
    match shape:
        case "server":
            network = draft.network(zone) if draft.chance.random() < 0.3 else None
            made = draft.server(name, zone=zone, tags=tags, with_ip=draft.chance.random() < 0.5, network=network)
            ids = [one for one in (made.server, made.root, made.ip, made.nic) if one]
        case "ip":
            ids = [draft.ip(zone, tags).id]
        case "volume":
            ids = [draft.volume(zone, name, tags).id]
        case _:
            ids = [draft.local(zone, name, tags).id]
    draft.is_(whose, *ids)
    draft.unmanaged(*ids)
    return ids[0]


@scene("used by somebody", FindingKind.UNMANAGED, weight=3)
def used(draft: Draft) -> None:
    """A leftover of ours by two proofs, which is attached to or referenced by what is not ours."""
    how = draft.one_of("on a server", "booked", "attached to no server", "referenced", "volume on a server", "local")
    zone, tags = draft.zone(), (*owner_tags(f"old-{draft.label}"), *draft.extra_tags())
    thing: FlexibleIp | BlockVolume | object
    if how in ("on a server", "booked", "attached to no server"):
        ip = draft.ip(zone, tags)
        id_ = ip.id
    elif how == "local":
        id_ = draft.local(zone, f"data-{draft.label}", tags).id
    else:
        id_ = draft.volume(zone, f"data-{draft.label}", tags).id
    draft.remember(id_, source="state")
    draft.memory.unowned[draft.ref(id_)] = LONG
    draft.is_(Whose.IN_USE, id_)
    if how in ("on a server", "volume on a server", "local"):
        _on_a_server(draft, id_, zone)
        return
    thing = draft.get(id_)
    if how == "booked":
        assert isinstance(thing, FlexibleIp)
        booking = draft.world.ipam.get(thing.ipam_id)
        assert booking is not None
        resource = IpamResource(type=draft.one_of("vpc_gateway", "lb_server"), id=draft.uuid())
        draft.world.ipam.put(replace(booking, resource=resource))
    elif how == "attached to no server":
        draft.change(id_, state="attached")
    else:
        reference = Reference(id=draft.uuid(), server=draft.uuid())
        draft.change(id_, reference=reference, status=draft.one_of("in_use", "available"))
    draft.unmanaged(id_)


def _on_a_server(draft: Draft, id_: str, zone: str) -> None:
    made = draft.server(f"stranger-{draft.label}", zone=zone)
    draft.is_(Whose.STRANGER, made.server, made.root)
    thing = draft.get(id_)
    if isinstance(thing, FlexibleIp):
        effects.attach_ip(draft.world, thing, draft.get_server(made.server), state="attached", now_ms=BORN)
    else:
        draft.attach(thing, made.server)
    draft.unmanaged(made.server, made.root, id_)


@scene("another project")
def another_project(draft: Draft) -> None:
    """Our exact tags, and our memory of it, in a project that is not looked at."""
    zone, tags = draft.zone(), owner_tags(f"old-{draft.label}")
    made = draft.server(
        f"old-{draft.label}", zone=zone, tags=tags, project=OTHER_PROJECT, child_tags=tags, with_ip=True
    )
    volume = draft.volume(zone, "data", tags, project=OTHER_PROJECT)
    for id_ in (made.server, volume.id):
        draft.remember(id_, source="state")
        draft.memory.unowned[draft.ref(id_)] = LONG
    draft.is_(Whose.STRANGER, made.server, made.root, made.ip, volume.id)


@scene("snapshots and images")
def snapshots(draft: Draft) -> None:
    """Ours by tags, and nothing that a sweep collects."""
    zone = draft.zone()
    snapshot = BlockSnapshot(
        id=draft.mint.uuid(),
        name=f"golden-{draft.label}",
        zone=zone,
        tags=owner_tags(f"old-{draft.label}"),
        created_ms=BORN,
        updated_ms=BORN,
    )
    draft.world.block_snapshots.put(snapshot)
    draft.is_(Whose.NEVER, snapshot.id)


@scene("crowd", FindingKind.UNMANAGED)
def crowd(draft: Draft) -> None:
    """More than a page of a stranger's volumes, so that lists have pages."""
    zone = draft.zone()
    for number in range(draft.chance.randint(101, 120)):
        id_ = draft.volume(zone, f"crowd-{number}").id
        draft.is_(Whose.STRANGER, id_)
        draft.unmanaged(id_)
