"""Carries out a fault. Steps are data, so that a mismatch can print its world in full.

Most are what the simulator's strangers can do; a few more change what no stranger of the simulator changes. In their
arguments `$NAME` is the provider id of a resource of the stack, `$root:NAME` of a server's root volume, `$nic:NAME` of
a server's first private NIC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from reconciler.simulator import Simulator
from reconciler.simulator import World as CloudWorld
from reconciler.simulator.records import Nic, Reference, Slot
from reconciler.simulator.strangers import mutate
from reconciler.simulator.world import AnyRecord


class Steps:
    """Carries out steps on one simulator; `ids` are the provider ids of the stack's resources by name."""

    def __init__(self, simulator: Simulator, ids: Mapping[str, str]) -> None:
        self._simulator, self._ids = simulator, ids

    def carry_out(self, step: Mapping[str, Any]) -> None:
        with self._simulator.editing() as world:
            args = {key: self._resolve(world, value) for key, value in step.items() if key != "op"}
            own = _OWN.get(step["op"])
            if own is not None:
                own(self, world, **args)
            else:
                self._mutate(world, op=step["op"], **args)

    def _mutate(self, world: CloudWorld, **change: Any) -> dict[str, Any]:
        return mutate(world, self._simulator.mint, change, now_ms=self._simulator.clock.now_ms())

    def _resolve(self, world: CloudWorld, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._resolve(world, item) for key, item in value.items()}
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        what, _, name = value[1:].rpartition(":")
        found = self._ids[name]
        if what == "root":
            server = world.servers.get(found)
            assert server is not None
            return next(slot.volume for slot in server.slots if slot.key == "0")
        if what == "nic":
            return next(iter(world.nics.under("server", found))).id
        return found

    def _edit(self, world: CloudWorld, *, kind: str, id: str, set: dict[str, Any]) -> None:  # noqa: A002
        table = world.tables()[kind]
        record: AnyRecord | None = table.get(id)
        assert record is not None
        table.put(replace(record, **set))

    def _remove(self, world: CloudWorld, *, kind: str, id: str) -> None:  # noqa: A002
        world.tables()[kind].remove(id)

    def _gain_ip(self, world: CloudWorld, *, server: str) -> None:
        """Somebody books an address and gives it to a server."""
        made = self._mutate(world, op="add_ip")
        self._mutate(world, op="move_ip", ip=made["ip"], server=server)

    def _attach_volume(self, world: CloudWorld, *, volume: str, server: str) -> None:
        block, holder = world.block_volumes.get(volume), world.servers.get(server)
        assert block is not None
        assert holder is not None
        key = str(1 + max(int(slot.key) for slot in holder.slots))
        world.servers.put(replace(holder, slots=(*holder.slots, Slot(key=key, volume=volume))))
        reference = Reference(id=self._simulator.mint.uuid(), server=server)
        world.block_volumes.put(replace(block, status="in_use", reference=reference))

    def _swap_volumes(self, world: CloudWorld, *, server: str) -> None:
        holder = world.servers.get(server)
        assert holder is not None
        keys = {"1": "2", "2": "1"}
        slots = tuple(replace(slot, key=keys.get(slot.key, slot.key)) for slot in holder.slots)
        world.servers.put(replace(holder, slots=slots))

    def _gain_nic(self, world: CloudWorld, *, server: str, network: str) -> None:
        world.nics.put(Nic(id=self._simulator.mint.uuid(), private_network=network, server=server))


_OWN: Final[Mapping[str, Callable[..., None]]] = {
    "edit": Steps._edit,
    "remove": Steps._remove,
    "gain_ip": Steps._gain_ip,
    "attach_volume": Steps._attach_volume,
    "swap_volumes": Steps._swap_volumes,
    "gain_nic": Steps._gain_nic,
}
