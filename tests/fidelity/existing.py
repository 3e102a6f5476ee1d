"""What existed before a cassette began, put into the world from what the recording shows of it.

An object whose creation lies before the first exchange, or which was made by a call that cannot be replayed (its route
is not simulated, or its body is lost), is put into the world right before the first answer that shows it. Everything
else that an answer shows must come from the simulator itself: an object that a replayed call should have made is never
put there, or a missing rule would hide.

Images of the marketplace are the simulator's own; a recorded one is told by label, or by name, architecture and
storage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.kernel.clock import parse_instant
from reconciler.simulator import Simulator, World, effects
from reconciler.simulator.catalog import SCALEWAY_ORGANIZATION, local_images
from reconciler.simulator.world import AnyRecord
from tests.fidelity.cassettes import Cassette, Exchange
from tests.fidelity.records import DECODERS, Seen
from tests.fidelity.translate import Translation

# A path's last collection -> the kind of object that an answer under it shows.
_COLLECTIONS: Final = {
    "servers": "server", "ips": "ip", "volumes": "volume", "snapshots": "snapshot", "images": "image",
    "security_groups": "security_group", "placement_groups": "placement_group",
    "placement-groups": "placement_group", "private_nics": "private_nic",
    "private-network-interfaces": "private_nic", "private-networks": "private_network", "vpcs": "vpc",
}  # fmt: skip
# What an IPAM address can be attached to by a call that the simulator serves.
_SIMULATED_HOLDERS: Final = frozenset({"instance_server", "instance_private_nic", "custom"})
# States that end by themselves; what is put into a world has ended them.
_PASSING: Final = frozenset({"creating", "updating", "snapshotting", "importing", "exporting", "attaching", "syncing"})
_PATH: Final = re.compile(r"^/(?P<product>[a-z-]+)/v\w+/(?:zones|regions)/[a-z0-9-]+/(?P<rest>.+)$")


def kind_of(path: str) -> str | None:
    """`/block/v1/zones/z/volumes/ID` -> block_volume; None for answers that show no object."""
    match = _PATH.match(path)
    if match is None:
        return None
    parts = match["rest"].split("/")
    collection = parts[2] if len(parts) > 2 and parts[2] == "private_nics" else parts[0]
    if len(parts) > 2 and parts[2] != "private_nics":
        return "server" if parts[-1] in {"attach-volume", "detach-volume"} else None
    kind = _COLLECTIONS.get(collection)
    if match["product"] == "block" and kind in {"volume", "snapshot"}:
        return f"block_{kind}"
    return "ipam_ip" if match["product"] == "ipam" and kind == "ip" else kind


def objects(exchange: Exchange) -> list[dict[str, Any]]:
    """Every object that the answer shows as one of its own: the object itself, or the items of a list."""
    body = exchange.json()
    if kind_of(exchange.path) is None or not isinstance(body, dict) or exchange.status >= 400:
        return []
    if "id" in body:
        return [body]
    inner = [value for key, value in body.items() if key != "task" and isinstance(value, (dict, list))]
    found = [item for value in inner for item in (value if isinstance(value, list) else [value])]
    return [item for item in found if isinstance(item, dict) and "id" in item]


def born_ms(item: dict[str, Any]) -> int | None:
    text = item.get("creation_date") or item.get("created_at")
    return parse_instant(text) if isinstance(text, str) else None


@dataclass
class Existing:
    """Seeds one world. `before` and `elsewhere` count what was put into it, by kind."""

    cassette: Cassette
    simulator: Simulator
    names: Translation
    before: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    _unreplayed: list[str] = field(default_factory=list)
    _foreign: set[str] = field(default_factory=set)
    _volumes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for exchange in self.cassette.exchanges:
            if kind_of(exchange.path) == "block_volume":
                for item in objects(exchange):
                    self._volumes.setdefault(str(item["id"]), item)

    def not_replayed(self, exchange: Exchange) -> None:
        """What this exchange made, if anything, is the recording's from here on."""
        self._unreplayed.append(exchange.answer)
        with self.simulator.editing() as world:
            for item in objects(exchange):
                self._put(world, exchange, item, self.elsewhere, known=True)
                if kind_of(exchange.path) == "server":
                    self._let_go(world, item)

    def _let_go(self, world: World, item: dict[str, Any]) -> None:
        """Volumes that the server does not show any more are nobody's."""
        kept = {self.names.text(volume["id"]) for volume in item["volumes"].values()}
        for volume in world.block_volumes.under("server", self.names.text(item["id"])):
            if volume.id not in kept:
                effects.free_block_volume(world, volume, now_ms=self.simulator.clock.now_ms())

    def seed(self, exchange: Exchange) -> None:
        self._marketplace(exchange)
        if exchange.method == "DELETE" and exchange.status == 204:
            self._clear(exchange)
        if exchange.method != "GET":
            return
        with self.simulator.editing() as world:
            for item in objects(exchange):
                if self.names.knows(str(item["id"])):
                    continue
                if self._made_elsewhere(item):
                    self._put(world, exchange, item, self.elsewhere)
                elif self._made_before(item):
                    self._put(world, exchange, item, self.before)

    def _clear(self, exchange: Exchange) -> None:
        """What another product had in a private network has gone, by no call of this recording, before it could go."""
        with self.simulator.editing() as world:
            for address_id in self._foreign:
                address = world.ipam.get(address_id)
                network = self.names.text(exchange.path).rsplit("/", 1)[-1]
                if address is not None and address.private_network == network:
                    world.ipam.remove(address_id)

    def _made_before(self, item: dict[str, Any]) -> bool:
        """The dates of objects and of answers are those of different machines."""
        born = born_ms(item)
        return born is None or born < self.cassette.begins_ms - 1_000

    def _made_elsewhere(self, item: dict[str, Any]) -> bool:
        """By a call that was not replayed, or for another product, whose calls are in no recording here."""
        resource = item.get("resource")
        if isinstance(resource, dict) and resource["type"] not in _SIMULATED_HOLDERS:
            self._foreign.add(str(item["id"]))
            return True
        return any(str(item["id"]) in answer for answer in self._unreplayed)

    def _put(
        self, world: World, exchange: Exchange, item: dict[str, Any], counted: list[str], *, known: bool = False
    ) -> None:
        """`known`: also what the simulator has already, which then becomes what the answer shows."""
        kind = kind_of(exchange.path)
        if kind is None or (self.names.knows(str(item["id"])) and not known):
            return
        if kind == "image" and self._market_image(item):
            return
        seen = Seen(world=world, place=_place(exchange.path), item=item)
        for record in self._records(kind, seen):
            world.add(record)
            self.names.learn_one(record.id, record.id)
        counted.append(kind)

    def _records(self, kind: str, seen: Seen) -> Iterator[AnyRecord]:
        item = _translated(self.names, seen.item)
        for name in ("state", "status"):
            if item.get(name) in _PASSING:
                item[name] = "available"
        yield from DECODERS[kind](Seen(world=seen.world, place=seen.place, item=item, volumes=self._volumes))

    def _marketplace(self, exchange: Exchange) -> None:
        """Recorded images of the marketplace are the simulator's of the same label, or name."""
        body = exchange.json()
        if exchange.path.startswith("/marketplace/") and isinstance(body, dict):
            for item in body.get("local_images", [body]):
                self._local_image(item)
        if isinstance(body, dict):
            for image in _images(body):
                self._market_image(image)

    def _local_image(self, item: dict[str, Any]) -> None:
        for image in local_images().values():
            shown = image.render()
            if all(shown[key] == item.get(key) for key in ("label", "arch", "zone", "type")):
                self.names.learn_one(str(item["id"]), image.id)

    def _market_image(self, item: dict[str, Any]) -> bool:
        if item.get("organization") != SCALEWAY_ORGANIZATION:
            return False
        storage = "instance_sbs" if item["root_volume"]["volume_type"] == "sbs_snapshot" else "instance_local"
        wanted = (item["name"], item["arch"], item["zone"], storage)
        for image in local_images().values():
            if (image.name, image.arch, image.zone, image.type) == wanted:
                self.names.learn_one(str(item["id"]), image.id)
                self.names.learn_one(str(item["root_volume"]["id"]), image.snapshot)
                return True
        return False


def _place(path: str) -> str:
    return path.split("/")[4]


def _translated(names: Translation, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _translated(names, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_translated(names, item) for item in value]
    return names.text(value) if isinstance(value, str) else value


def _images(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Image objects at any depth that servers and images show."""
    for key, value in body.items():
        if key == "image" and isinstance(value, dict):
            yield value
        elif isinstance(value, dict):
            yield from _images(value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield from _images(item)
