"""What people and other programs do to a cloud behind everybody's back, as named operations.

They change the world at once and ask no API: a server that vanishes, a tag that somebody took off, a volume that
somebody detached. The demo and the cases use them; `POST /_simulator/mutate` runs one. Targets are ids, or names where
a name is unique.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Final

from reconciler.kernel.errors import ConfigError
from reconciler.simulator import effects
from reconciler.simulator.defaults import PROJECT_ID, ZONE
from reconciler.simulator.generate import add_worker
from reconciler.simulator.keys import Key
from reconciler.simulator.mint import Mint
from reconciler.simulator.records import BlockVolume, FlexibleIp, Nic, Server, Volume
from reconciler.simulator.wire import Json
from reconciler.simulator.world import AnyRecord, World, WorldOptions


class Change:
    """One operation: its arguments, checked as they are asked for."""

    def __init__(self, world: World, mint: Mint, now_ms: int, args: Mapping[str, Any]) -> None:
        self.world, self.mint, self.now_ms = world, mint, now_ms
        self._args = dict(args)

    def take(self, name: str, kind: type, default: Any = ...) -> Any:
        value = self._args.pop(name, default)
        if value is ... or (not isinstance(value, kind) and value is not default):
            raise _bad(f"{name} is needed, as {kind.__name__}")
        return value

    def tags(self, name: str = "tags") -> tuple[str, ...]:
        value = self.take(name, list, [])
        if not all(isinstance(item, str) for item in value):
            raise _bad(f"{name} is a list of strings")
        return tuple(value)

    def target(self, name: str, kind: type[AnyRecord] | None = None) -> Any:
        """The record meant: by id, else by its unique name."""
        wanted = self.take(name, str)
        found = self.world.find(wanted)
        if found is None:
            named = [
                record
                for table in self.world.tables().values()
                for record in table
                if getattr(record, "name", None) == wanted and (kind is None or isinstance(record, kind))
            ]
            if len(named) > 1:
                raise _bad(f"{wanted!r} is the name of {len(named)} objects; use an id")
            found = named[0] if named else None
        if found is None or (kind is not None and not isinstance(found, kind)):
            raise ConfigError(
                f"no such object: {wanted!r}", code="RC7031", hint="Targets are ids of this world, or unique names."
            )
        return found

    def rest(self) -> dict[str, Any]:
        left, self._args = self._args, {}
        return left

    def finish(self) -> None:
        if self._args:
            raise _bad(f"unknown argument {sorted(self._args)[0]!r}")


def mutate(world: World, mint: Mint, change: Any, *, now_ms: int) -> Json:
    """Run `{"op": NAME, ...}`; returns the ids of what it touched. Raises ConfigError RC7030 or RC7031."""
    if not isinstance(change, dict) or not isinstance(change.get("op"), str):
        raise _bad('an operation is an object with "op"')
    operation = OPERATIONS.get(change["op"])
    if operation is None:
        raise _bad(f"unknown operation {change['op']!r}; known are {', '.join(OPERATIONS)}")
    args = Change(world, mint, now_ms, {key: value for key, value in change.items() if key != "op"})
    result = operation(args)
    args.finish()
    return result


def _bad(message: str) -> ConfigError:
    return ConfigError(message, code="RC7030", hint="docs/simulator.md, section Strangers, lists the operations.")


def kill_server(change: Change) -> Json:
    """Gone from one moment to the next. By default it leaves its volumes and addresses, as terminate does."""
    server: Server = change.target("server", Server)
    leave_volumes, leave_ips = change.take("leave_volumes", bool, True), change.take("leave_ips", bool, True)
    world = change.world
    ips = [ip.id for ip in world.ips.under("server", server.id)]
    volumes = [slot.volume for slot in server.slots]
    effects.server_gone(world, server, now_ms=change.now_ms, keep_local=leave_volumes)
    for ip_id in [] if leave_ips else ips:
        ip = world.ips.get(ip_id)
        if ip is not None:
            effects.delete_ip(world, ip)
    for volume_id in [] if leave_volumes else volumes:
        world.block_volumes.remove(volume_id)
    return {"server": server.id, "ips": ips, "volumes": volumes}


def _set_power(state: str, detail: str) -> Callable[[Change], Json]:
    def operation(change: Change) -> Json:
        server: Server = change.target("server", Server)
        change.world.servers.put(
            replace(server, state=state, state_detail=detail, located=state != "stopped", updated_ms=change.now_ms)
        )
        return {"server": server.id}

    return operation


def set_tags(change: Change) -> Json:
    """The whole list, as PATCH does it; on any kind of object."""
    record = change.target("id")
    change.world.add(replace(record, tags=change.tags()))
    return {"id": record.id}


def rename(change: Change) -> Json:
    record = change.target("id")
    if not hasattr(record, "name"):
        raise _bad("this kind of object has no name")
    change.world.add(replace(record, name=change.take("name", str)))
    return {"id": record.id}


def protect(change: Change) -> Json:
    server: Server = change.target("server", Server)
    change.world.servers.put(replace(server, protected=change.take("protected", bool, True)))
    return {"server": server.id}


def resize(change: Change) -> Json:
    server: Server = change.target("server", Server)
    change.world.servers.put(replace(server, commercial_type=change.take("commercial_type", str)))
    return {"server": server.id}


def set_user_data(change: Change) -> Json:
    server: Server = change.target("server", Server)
    values = {**dict(server.user_data), change.take("key", str): change.take("value", str).encode()}
    change.world.servers.put(replace(server, user_data=tuple(sorted(values.items()))))
    return {"server": server.id}


def delete_ip(change: Change) -> Json:
    ip: FlexibleIp = change.target("ip", FlexibleIp)
    effects.delete_ip(change.world, ip)
    return {"ip": ip.id}


def detach_ip(change: Change) -> Json:
    ip: FlexibleIp = change.target("ip", FlexibleIp)
    effects.detach_ip(change.world, ip, now_ms=change.now_ms)
    return {"ip": ip.id}


def move_ip(change: Change) -> Json:
    ip: FlexibleIp = change.target("ip", FlexibleIp)
    server: Server = change.target("server", Server)
    effects.attach_ip(change.world, ip, server, state="attached", now_ms=change.now_ms)
    return {"ip": ip.id, "server": server.id}


def release_ip(change: Change) -> Json:
    """Into IPAM, out of the Instance API."""
    ip: FlexibleIp = change.target("ip", FlexibleIp)
    effects.detach_ip(change.world, ip, now_ms=change.now_ms)
    change.world.ips.remove(ip.id)
    return {"ip": ip.id, "ipam_ip": ip.ipam_id or ip.id}


def detach_volume(change: Change) -> Json:
    """From its server, in both APIs at once."""
    volume: Volume | BlockVolume = change.target("volume")
    world = change.world
    holder: str | None = None
    if isinstance(volume, BlockVolume):
        holder = None if volume.reference is None else volume.reference.server
        effects.free_block_volume(world, volume, now_ms=change.now_ms)
    elif isinstance(volume, Volume):
        holder = volume.server
        world.volumes.put(replace(volume, server=None))
    else:
        raise _bad("volume names a volume")
    server = world.servers.get(holder)
    if server is not None:
        world.servers.put(replace(server, slots=tuple(slot for slot in server.slots if slot.volume != volume.id)))
    return {"volume": volume.id}


def delete_volume(change: Change) -> Json:
    """Detached or not: whoever had it keeps a slot that leads nowhere, which only a stranger's hand can bring about."""
    volume: Volume | BlockVolume = change.target("volume")
    change.world.volumes.remove(volume.id)
    change.world.block_volumes.remove(volume.id)
    return {"volume": volume.id}


def delete_nic(change: Change) -> Json:
    nic: Nic = change.target("nic", Nic)
    effects.delete_nic(change.world, nic, now_ms=change.now_ms)
    return {"nic": nic.id}


def add_server(change: Change) -> Json:
    """A running machine with an SBS root, by somebody else."""
    made = add_worker(
        change.world,
        change.mint,
        name=change.take("name", str),
        zone=change.take("zone", str, ZONE),
        project=change.take("project", str, PROJECT_ID),
        tags=change.tags(),
        commercial_type=change.take("commercial_type", str, "DEV1-S"),
        state=change.take("state", str, "running"),
        with_ip=change.take("with_ip", bool, True),
        created_ms=change.now_ms,
    )
    return {"server": made.server, "ip": made.ip, "volume": made.root}


def add_ip(change: Change) -> Json:
    zone = change.take("zone", str, ZONE)
    ip_id = change.mint.uuid()
    ip = FlexibleIp(
        id=ip_id,
        zone=zone,
        project=change.take("project", str, PROJECT_ID),
        address=change.mint.public_ipv4(change.world),
        tags=change.tags(),
        ipam_id=change.mint.uuid() if change.world.options.ipam_id_differs else ip_id,
        created_ms=change.now_ms,
    )
    change.world.ips.put(ip)
    change.world.ipam.put(effects.ipam_entry(ip, region=zone.rsplit("-", 1)[0], created_ms=change.now_ms))
    return {"ip": ip_id}


def add_volume(change: Change) -> Json:
    volume = BlockVolume(
        id=change.mint.uuid(),
        name=change.take("name", str),
        zone=change.take("zone", str, ZONE),
        project=change.take("project", str, PROJECT_ID),
        size=change.take("size", int, 10_000_000_000),
        tags=change.tags(),
        created_ms=change.now_ms,
        updated_ms=change.now_ms,
    )
    change.world.block_volumes.put(volume)
    return {"volume": volume.id}


def set_options(change: Change) -> Json:
    """Change facts of the API, such as `deleted_ip_status`; what is not named stays."""
    given, known = change.rest(), {item.name: item for item in fields(WorldOptions)}
    for name, value in given.items():
        if name not in known:
            raise _bad(f"unknown option {name!r}; known are {', '.join(known)}")
        if name in {"quotas", "stock"}:
            given[name] = tuple(dict(value).items())
        elif name == "absent_products":
            given[name] = tuple(value)
    change.world.options = replace(change.world.options, **given)
    return {"options": sorted(given)}


def set_key(change: Change) -> Json:
    """Change what the key with this `access_key` may do; `kinds` and `projects` null mean all."""
    access_key, given = change.take("access_key", str), change.rest()
    known = {"projects", "kinds", "read_only", "hidden", "ipam_needs_project", "default_project"}
    if strange := sorted(set(given) - known):
        raise _bad(f"unknown argument {strange[0]!r}; known are {', '.join(sorted(known))}")
    for name in ("projects", "kinds", "hidden"):
        if given.get(name) is not None:
            given[name] = frozenset(given[name])
    for secret, key in change.world.keys.items():
        if key.access_key == access_key:
            change.world.keys[secret] = _changed(key, given)
            return {"access_key": access_key}
    raise ConfigError(f"no such key: {access_key!r}", code="RC7031", hint="Keys are named by their access key.")


def _changed(key: Key, given: dict[str, Any]) -> Key:
    return replace(key, **given)


OPERATIONS: Final[Mapping[str, Callable[[Change], Json]]] = {
    "kill_server": kill_server,
    "stop_server": _set_power("stopped", ""),
    "standby_server": _set_power("stopped in place", "stopped in place"),
    "start_server": _set_power("running", "booting kernel"),
    "lock_server": _set_power("locked", ""),
    "set_tags": set_tags,
    "rename": rename,
    "protect": protect,
    "resize": resize,
    "set_user_data": set_user_data,
    "delete_ip": delete_ip,
    "detach_ip": detach_ip,
    "move_ip": move_ip,
    "release_ip": release_ip,
    "detach_volume": detach_volume,
    "delete_volume": delete_volume,
    "delete_nic": delete_nic,
    "add_server": add_server,
    "add_ip": add_ip,
    "add_volume": add_volume,
    "set_options": set_options,
    "set_key": set_key,
}
