"""Worlds as JSON Lines: one object a line, `{"kind": "server", "id": ..., "name": ..., ...}`.

Keys are the fields of the records, and what is left out has the record's default, so a small world is short lines. Four
kinds are not objects of the cloud: `world` (organization), `options`, `key` and `transition` (something still under
way). Times are epoch milliseconds; RFC 3339 text is read too. Lines that are empty or start with `#` are skipped.

Everything wrong is refused with the file and the line: what is no JSON (RC7001), an unknown kind (RC7002) or key
(RC7003), a value of the wrong type or missing (RC7004), an id that points at nothing (RC7005) or is there twice
(RC7006), a file that cannot be read (RC7007).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from reconciler.kernel.collector import no_search_for_cycles
from reconciler.kernel.errors import ConfigError
from reconciler.simulator.catalog import local_images
from reconciler.simulator.keys import Key
from reconciler.simulator.recordjson import Mistyped, Unknown, decode, encode
from reconciler.simulator.records import BlockVolume
from reconciler.simulator.transitions import OPERATIONS
from reconciler.simulator.world import KIND_OF, AnyRecord, World, WorldOptions

_RECORDS: Final[Mapping[str, type]] = {kind: record for record, kind in KIND_OF.items()}
_SPACE: Final = " \t\r\n"
_JSON: Final = json.JSONDecoder()
_EXTRA: Final = ("world", "options", "key", "transition")


def load(path: Path) -> World:
    """The world of a file, read line by line. Raises ConfigError RC7001-RC7007."""
    try:
        # Lines end at \n and nowhere else: names and tags may hold the other characters that `splitlines` breaks at.
        with path.open(encoding="utf-8", newline="\n") as lines:
            return _read(lines, name=str(path), keys=None)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read the world file {path}: {error}", code="RC7007", hint="A world file is JSON Lines in UTF-8."
        ) from error


def parse(text: str, *, name: str = "world", keys: Iterable[Key] | None = None) -> World:
    """`keys` are those of a world that brings none (default: the one default key)."""
    return _read(text.split("\n"), name=name, keys=keys)


def _read(lines: Iterable[str], *, name: str, keys: Iterable[Key] | None) -> World:
    reader = _Reader(name)
    with no_search_for_cycles():
        for number, line in enumerate(lines, start=1):
            if (stripped := line.strip(_SPACE)) and stripped[0] != "#":
                reader.line(number, stripped)
        return reader.finish(keys)


def dump(world: World, *, with_keys: bool = True) -> str:
    """The world as text that `parse` reads back to an equal one. Without `with_keys` no secret is in it."""
    return "".join(json.dumps(item) + "\n" for item in _lines(world, with_keys=with_keys))


def _lines(world: World, *, with_keys: bool) -> Iterator[dict[str, Any]]:
    yield {"kind": "world", "organization": world.organization}
    if world.options != WorldOptions():
        yield {"kind": "options", **encode(world.options)}
    if with_keys:
        for key in world.keys.values():
            yield {"kind": "key", **encode(key)}
    for kind, table in world.tables().items():
        for record in table:
            yield {"kind": kind, **encode(record)}
    for item in world.pending():
        yield {
            "kind": "transition",
            "due_ms": item.due_ms,
            "op": item.op,
            "target": item.target,
            "args": dict(item.args),
        }


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._world = World(keys=())
        self._tables = self._world.tables()
        self._where: dict[str, int] = {}
        self._booked: dict[str, int] = {}

    def line(self, number: int, line: str) -> None:
        try:
            value, end = _JSON.raw_decode(line)
        except ValueError as error:
            raise self._wrong(number, "RC7001", f"not JSON: {error}") from error
        if end != len(line):
            raise self._wrong(number, "RC7001", f"not JSON: more after column {end}")
        if not isinstance(value, dict):
            raise self._wrong(number, "RC7001", "a line is one JSON object")
        kind = value.pop("kind", None)
        known = _RECORDS.get(kind) if isinstance(kind, str) else None
        if known is None:
            self._extra(number, kind, value)
            return
        record: AnyRecord = self._decode(number, known, value)
        # An address and its entry in IPAM share an id; all others are unique in the whole world.
        seen = self._booked if kind == "ipam_ip" else self._where
        if record.id in seen:
            raise self._wrong(number, "RC7006", f"{record.id} is already in line {seen[record.id]}")
        seen[record.id] = number
        self._tables[kind].put(record)

    def _extra(self, number: int, kind: Any, value: dict[str, Any]) -> None:
        if kind not in _EXTRA:
            known = ", ".join([*_RECORDS, *_EXTRA])
            raise self._wrong(number, "RC7002", f"unknown kind {kind!r}; known are {known}")
        if kind == "world":
            organization = value.pop("organization", self._world.organization)
            if value or not isinstance(organization, str):
                raise self._wrong(number, "RC7003", "a world line has the key organization, a text")
            self._world.organization = organization
        elif kind == "options":
            self._world.options = self._decode(number, WorldOptions, value)
        elif kind == "key":
            key: Key = self._decode(number, Key, value)
            self._world.keys[key.secret] = key
        else:
            self._transition(number, value)

    def _transition(self, number: int, value: dict[str, Any]) -> None:
        strange = sorted(set(value) - {"due_ms", "op", "target", "args"})
        if strange:
            raise self._wrong(number, "RC7003", f"unknown key {strange[0]!r}; known are due_ms, op, target, args")
        if value.get("op") not in OPERATIONS:
            raise self._wrong(number, "RC7004", f"op is one of {', '.join(OPERATIONS)}")
        if not isinstance(value.get("due_ms"), int) or not isinstance(value.get("target"), str):
            raise self._wrong(number, "RC7004", "due_ms is a number and target an id")
        args = value.get("args", {})
        if not isinstance(args, dict):
            raise self._wrong(number, "RC7004", "args is an object")
        self._world.schedule(value["due_ms"], value["op"], value["target"], **args)

    def _decode(self, number: int, kind: type, value: dict[str, Any]) -> Any:
        try:
            return decode(kind, value)
        except Unknown as error:
            raise self._wrong(number, "RC7003", str(error)) from None
        except Mistyped as error:
            raise self._wrong(number, "RC7004", str(error)) from None

    def finish(self, keys: Iterable[Key] | None) -> World:
        world = self._world
        if not world.keys:
            world.keys = World(keys=keys).keys
        for record_id, what, target in _dangling(world):
            number = self._where.get(record_id) or self._booked.get(record_id, 0)
            raise self._wrong(number, "RC7005", f"{what} of {record_id} is {target}, which is not in this world")
        return world

    def _wrong(self, number: int, code: str, message: str) -> ConfigError:
        return ConfigError(
            f"{self._name}:{number}: {message}",
            code=code,
            hint="docs/simulator.md, section World files, lists the kinds and their keys.",
        )


def _dangling(world: World) -> Iterator[tuple[str, str, str]]:
    """(id, field, what it points at) for every pointer that leads nowhere."""
    tables = world.tables()
    for kind, name, table_name, find in _POINTERS:
        for record in tables[kind]:
            target = find(record)
            if target is None or target in tables[table_name]:
                continue
            if table_name == "image" and target in local_images():
                continue
            yield record.id, name, target
    for server in world.servers:
        for slot in server.slots:
            if slot.volume not in world.volumes and slot.volume not in world.block_volumes:
                yield server.id, f"slot {slot.key}", slot.volume
    for nic in world.nics:
        for address in nic.ipam_ips:
            if address not in world.ipam:
                yield nic.id, "ipam_ips", address


def _attribute(name: str) -> Callable[[Any], str | None]:
    return lambda record: getattr(record, name)


def _holder(volume: BlockVolume) -> str | None:
    """The server that a block volume is attached to; while it detaches, the server may be gone before the link."""
    reference = volume.reference
    return None if reference is None or reference.status == "detaching" else reference.server


_POINTERS: Final[tuple[tuple[str, str, str, Callable[[Any], str | None]], ...]] = (
    ("server", "image", "image", _attribute("image")),
    ("server", "security_group", "security_group", _attribute("security_group")),
    ("server", "placement_group", "placement_group", _attribute("placement_group")),
    ("ip", "server", "server", _attribute("server")),
    ("volume", "server", "server", _attribute("server")),
    ("block_volume", "reference", "server", _holder),
    ("private_nic", "server", "server", _attribute("server")),
    ("private_nic", "private_network", "private_network", _attribute("private_network")),
    ("ipam_ip", "private_network", "private_network", _attribute("private_network")),
    ("private_network", "vpc", "vpc", _attribute("vpc")),
)
