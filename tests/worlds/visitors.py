"""A person who comes between the plan and its carrying out, and uses, protects or takes in what is about to go.

Every action is looked at again, live, before it is done. Whatever the visitor did is the truth from then on.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Final

from reconciler.model.finding import FindingKind, Verdict
from reconciler.model.state import Lock, StateResource
from reconciler.simulator import World, effects
from reconciler.simulator.generate import add_worker
from reconciler.simulator.records import BlockVolume, FlexibleIp, Reference, Server, Slot, Volume
from tests.worlds.checkpoints import TOKENS, properties, pulumi_id
from tests.worlds.draft import MAIN, SIDE
from tests.worlds.invariants import Watch
from tests.worlds.site import Site
from tests.worlds.truth import Whose

_LEFT: Final = frozenset({FindingKind.ORPHAN, FindingKind.DETACHED})


@dataclasses.dataclass(frozen=True, slots=True)
class Visitor:
    """`visit` does one thing, and says whether nothing may be decided from now on."""

    seed: int

    def visit(self, site: Site, watch: Watch) -> bool:
        chance = random.Random(f"visitor:{self.seed}")
        what = chance.choice((*("use", "keep", "take in") * 2, "lock", "unread"))
        if what == "lock":
            state = site.engine.states[MAIN]
            site.engine.states[MAIN] = dataclasses.replace(state, locks=(Lock(created_by="visitor@elsewhere"),))
            return True
        if what == "unread":
            site.engine.unreadable[SIDE] = "the backend answered 500"
            return True
        targets = _targets(watch)
        if targets:
            ids = chance.choice(targets)
            act = {"use": _use, "keep": _keep, "take in": _take_in}[what]
            act(site, ids[0])
            _spared(watch, ids, why=f"a visitor: {what}", retag=what == "take in")
            watch.learn_entries()
        return False

    @staticmethod
    def leave(site: Site) -> None:
        site.engine.unreadable.pop(SIDE, None)
        site.engine.states[MAIN] = dataclasses.replace(site.engine.states[MAIN], locks=())


def _targets(watch: Watch) -> list[list[str]]:
    """The ids of each leftover that is to be destroyed, the one that names it first; not what is decided already."""
    found = []
    for one in watch.truth.first:
        ids = [text.rpartition("/")[2] for text in one.subjects]
        things = [watch.truth.things.get(id_) for id_ in ids]
        left = one.kind in _LEFT and one.verdict is Verdict.ACT and all(id_ in watch.seen for id_ in ids)
        if left and things[0] is not None and things[0].destroy and not things[0].decided:
            found.append(ids)
    return found


def _spared(watch: Watch, ids: list[str], *, why: str, retag: bool) -> None:
    """`retag`: the parts of a machine that a state holds get its owner tags."""
    things = watch.truth.things
    changed = {id_: dataclasses.replace(things[id_], destroy=False, why=why, retag=retag) for id_ in ids}
    changed[ids[0]] = dataclasses.replace(changed[ids[0]], whose=Whose.IN_USE)
    watch.truth = dataclasses.replace(watch.truth, things={**watch.truth.things, **changed})
    # Tags that the visitor wrote are there from now on.
    watch.start = {**watch.start, **{id_: seen for id_, seen in watch.site.picture().items() if id_ in ids}}


def _use(site: Site, id_: str) -> None:
    """On a machine of the visitor's; a machine is protected instead."""
    with site.simulator.editing() as world:
        record = world.find(id_)
        if isinstance(record, Server):
            world.servers.put(dataclasses.replace(record, protected=True))
            return
        assert isinstance(record, FlexibleIp | BlockVolume | Volume)
        made = add_worker(world, site.simulator.mint, name="visitor", zone=record.zone, with_ip=False)
        server = world.servers.get(made.server)
        assert server is not None
        if isinstance(record, FlexibleIp):
            effects.attach_ip(world, record, server, state="attached", now_ms=site.clock.now_ms())
        else:
            _attach(world, record, server, site.simulator.mint.uuid())


def _attach(world: World, volume: BlockVolume | Volume, server: Server, reference: str) -> None:
    kind = "sbs_volume" if isinstance(volume, BlockVolume) else volume.volume_type
    if isinstance(volume, BlockVolume):
        held = Reference(id=reference, server=server.id)
        world.block_volumes.put(dataclasses.replace(volume, reference=held, status="in_use"))
    else:
        world.volumes.put(dataclasses.replace(volume, server=server.id))
    slots = (*server.slots, Slot(key="1", volume=volume.id, volume_type=kind))
    world.servers.put(dataclasses.replace(server, slots=slots))


def _keep(site: Site, id_: str) -> None:
    """A tag of the never list."""
    with site.simulator.editing() as world:
        record = world.find(id_)
        assert record is not None
        world.add(dataclasses.replace(record, tags=(*getattr(record, "tags", ()), "keep")))


def _take_in(site: Site, id_: str) -> None:
    """Into a state, by somebody's `pulumi import`."""
    with site.simulator.editing() as world:
        record = world.find(id_)
        assert record is not None
        inputs, outputs = properties(record, world)
    token = TOKENS[type(record)]
    urn = f"urn:pulumi:main::render::{token}::visitor"
    entry = StateResource(
        urn=urn, type=token, id=pulumi_id(record), custom=True, inputs=inputs, outputs=outputs, provider=None
    )
    state = site.engine.states[SIDE]
    site.engine.states[SIDE] = dataclasses.replace(
        state, resources=(*state.resources, entry), serial=f"{state.serial}!"
    )
