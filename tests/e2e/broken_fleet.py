"""A fleet of three machines that drifts: one is gone, its root volume and an address leak, another root has no tags."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from reconciler.model.plan import Mode, Plan
from reconciler.plan import canonical
from reconciler.simulator import ZONE, worldfile
from tests.e2e.product import SCOPE_UUID
from tests.e2e.rig import Rig, missing_tool

OWNER: Final = (
    "reconciler",
    f"reconciler:scope={SCOPE_UUID}",
    "reconciler:fleet=linux",
    "reconciler:revision=0123456789ab",
)


def slot_tags(slot: int) -> list[str]:
    return [*OWNER, f"reconciler:slot={slot}"]


def fleet(slots: Sequence[int] = range(3)) -> list[dict[str, Any]]:
    """What the program declares: for each slot an address and a server that has it."""
    declared: list[dict[str, Any]] = []
    for slot in slots:
        place = {"zone": ZONE, "tags": slot_tags(slot)}
        declared.append({"type": "ip", "name": f"linux-{slot}", "args": place})
        args = {**place, "type": "DEV1-S", "image": "ubuntu_noble", "ip_id": {"$ref": f"linux-{slot}"}}
        declared.append({"type": "server", "name": f"linux-{slot}-server", "args": args})
    return declared


def root_of(rig: Rig, server_id: str) -> str:
    with rig.simulator.editing() as world:
        server = world.servers.get(server_id)
        assert server is not None
        return server.slots[0].volume


def break_fleet(rig: Rig) -> Plan:
    """Deploy it, remember it, tag its roots; then what happens to it, two hours, and the plan for it: a tag, a refresh,
    two deletions."""
    product = rig.product
    rig.up(fleet())
    store = product.store()
    with product.cloud() as cloud:
        product.applier(store, cloud).apply(product.plan(store, mode=Mode.REPAIR))
    product.sweep(store)
    ids = rig.provider_ids()
    rig.stranger("set_tags", id=root_of(rig, ids["linux-2-server"]), tags=[])
    rig.stranger("kill_server", server=ids["linux-1-server"])
    rig.stranger("add_ip", tags=slot_tags(1))
    product.sweep(store)
    rig.clock.advance(7200)
    plan = product.plan(store)
    store.close()
    assert Counter(action.kind.value for action in plan.actions) == {"tag": 1, "refresh": 1, "destroy": 2}
    assert not plan.blocked
    return plan


@dataclass(frozen=True)
class Base:
    """The broken fleet, at rest on disk, with the plan for it. A copy of it is cheaper than a deploy."""

    folder: Path
    cloud: str
    plan: Plan

    def copy(self, folder: Path, *, database: str = "") -> Rig:
        """A rig in `folder`, which also gets the plan as `plan.json`. `database`: a copy of the base's, where that is
        no file."""
        folder.mkdir(exist_ok=True)
        shutil.copytree(self.folder / "backend", folder / "backend")
        for file in (self.folder / "clock.json", *self.folder.glob("memory.db*")):
            shutil.copy(file, folder / file.name)
        (folder / "plan.json").write_text(canonical(self.plan))
        # Another seed: the ids that the base gave out, to what is gone as well, are never given out again.
        return Rig(folder, world=worldfile.parse(self.cloud), database=database, seed=2)


def make_base(folder: Path, *, database: str = "") -> Base:
    """Skips the test, counted, where the real engine is not on PATH."""
    tool = missing_tool()
    if tool is not None:
        pytest.skip(f"no {tool} on PATH: `make test` brings one")
    with Rig(folder, database=database) as rig:
        plan = break_fleet(rig)
        assert rig.strays() == []
        return Base(rig.root, rig.cloud_text(), plan)
