"""The declaration of what runs already: Python for a Pulumi program, from the inventory.

The text is meant to be pasted or imported into a program and then adopted, which proves it equal to what runs before
anything enters the state; so whatever the inventory does not show is left out and said, never guessed. Secrets are
never read for it: user data is not written, a comment stands in its place.

The same resources give the same text, byte for byte, in the formatter's own style.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reconciler.kernel.text import visible
from reconciler.model.resources import Ip, Kind, Nic, Other, Ref, Resource, Server, Volume, region_of

WRITABLE: Final = frozenset({Kind.SERVER, Kind.IP, Kind.VOLUME, Kind.NIC, Kind.PRIVATE_NETWORK})
_ORDER: Final = (Kind.PRIVATE_NETWORK, Kind.IP, Kind.VOLUME, Kind.SERVER, Kind.NIC)
_CLASSES: Final = {
    Kind.PRIVATE_NETWORK: "network.PrivateNetwork",
    Kind.IP: "instance.Ip",
    Kind.VOLUME: "block.Volume",
    Kind.SERVER: "instance.Server",
    Kind.NIC: "instance.PrivateNic",
}
_STATES: Final = {"stopped": "stopped", "stopped in place": "standby"}
_GB: Final = 1_000_000_000
_WIDTH: Final = 88
_DEFAULT_IOPS: Final = 5000
_HEAD: Final = '''"""Resources that ran before any program declared them, as the inventory showed them.

Import this module in the program of the stack (or paste it there). They are in the cloud and not in the state yet, so
adopt them before the next `pulumi up`: as it is, that would make them a second time.
"""

import pulumiverse_scaleway as scaleway
'''


@dataclass(frozen=True, slots=True)
class _Code:
    """A Python expression, as against a text to be quoted."""

    text: str


_Value = str | int | bool | _Code | Sequence["_Value"] | Mapping[str, "_Value"]


@dataclass(slots=True)
class _Names:
    """Names of variables and of resources, each unique."""

    variables: dict[Ref, str] = field(default_factory=dict)
    names: dict[Ref, str] = field(default_factory=dict)

    def add(self, resource: Resource, name: str) -> None:
        wanted = (
            re.sub(r"\W+", "_", name.encode("ascii", "ignore").decode()).strip("_").lower() or resource.ref.kind.value
        )
        if wanted[0].isdigit() or keyword.iskeyword(wanted) or wanted == "scaleway":
            wanted = f"{resource.ref.kind.value}_{wanted}"
        short = resource.id.replace("-", "")[:8]
        taken, labels = set(self.variables.values()), set(self.names.values())
        self.variables[resource.ref] = wanted if wanted not in taken else f"{wanted}_{short}"
        self.names[resource.ref] = name if name not in labels else f"{name}-{short}"


def program_text(resources: Iterable[Resource], *, roots: Mapping[str, Volume]) -> str:
    """The module that declares these. `roots`: id -> volume, for the root volumes of the servers among them.

    Every resource must be of a kind in `WRITABLE`.
    """
    ordered = sorted(set(resources), key=lambda one: (_ORDER.index(one.ref.kind), one.ref.zone, one.id))
    names = _Names()
    for one in ordered:
        names.add(one, _name(one))
    return "\n".join([_HEAD, *(_declaration(one, names, roots) for one in ordered)])


def _name(resource: Resource) -> str:
    if isinstance(resource, Ip):
        return "ip-" + re.sub(r"\W+", "-", resource.address or resource.id[:8])
    if isinstance(resource, Nic):
        return f"nic-{resource.id[:8]}"
    name = getattr(resource, "name", "") or ""
    return name.replace("::", "-") or f"{resource.ref.kind.value}-{resource.id[:8]}"


def _declaration(resource: Resource, names: _Names, roots: Mapping[str, Volume]) -> str:
    ref = resource.ref
    comments, arguments = _arguments(resource, names, roots)
    lines = [f"# {ref.kind.value} {ref.zone}/{ref.id}", *(f"# {visible(text, limit=160)}" for text in comments)]
    lines.append(f"{names.variables[ref]} = scaleway.{_CLASSES[ref.kind]}(")
    lines.append(f"    {_quoted(names.names[ref])},")
    for key, value in arguments.items():
        lines += _argument(key, value)
    return "\n".join([*lines, ")", ""])


def _arguments(resource: Resource, names: _Names, roots: Mapping[str, Volume]) -> tuple[list[str], dict[str, _Value]]:
    """Comments and arguments, in a fixed order."""
    place = {"region" if resource.ref.kind.regional else "zone": resource.zone}
    owner: dict[str, _Value] = {**place, "project_id": resource.project}
    tags: dict[str, _Value] = {"tags": list(resource.tags)} if resource.tags else {}
    match resource:
        case Ip():
            comments = [f"reverse name {resource.reverse}: not declared here"] if resource.reverse else []
            return comments, {**owner, "type": resource.type, **tags}
        case Volume():
            return [], {**owner, **_volume(resource), **tags}
        case Nic():
            del owner["project_id"]  # it is its server's
            return [], {**owner, **_nic(resource, names), **tags}
        case Server():
            return _server_comments(resource), {**owner, **_server(resource, names, roots), **tags}
        case Other():
            vpc = next((value for key, value in resource.details if key == "vpc"), None)
            more: dict[str, _Value] = {"vpc_id": f"{region_of(resource.zone)}/{vpc}"} if vpc else {}
            return ["subnets: left to the API, which has made them"], {**owner, "name": resource.name, **more, **tags}
        case _:
            raise AssertionError(f"no declaration for {resource.ref}")


def _volume(volume: Volume) -> dict[str, _Value]:
    origin: dict[str, _Value] = {}
    if volume.parent_snapshot_id:
        origin["snapshot_id"] = f"{volume.zone}/{volume.parent_snapshot_id}"
    return {"name": volume.name, "iops": volume.iops or _DEFAULT_IOPS, "size_in_gb": volume.size // _GB, **origin}


def _nic(card: Nic, names: _Names) -> dict[str, _Value]:
    region = region_of(card.zone)
    return {
        "server_id": _id(Ref(Kind.SERVER, card.zone, card.server_id), names),
        "private_network_id": _id(Ref(Kind.PRIVATE_NETWORK, region, card.private_network_id), names),
    }


def _server_comments(server: Server) -> list[str]:
    comments = [
        "user_data and cloud_init are not written, for they may hold secrets: add what the server was made with"
    ]
    if server.nic_ids:
        comments.append(f"{len(server.nic_ids)} private NIC(s): declared by themselves, as PrivateNic")
    return comments


def _server(server: Server, names: _Names, roots: Mapping[str, Volume]) -> dict[str, _Value]:
    found: dict[str, _Value] = {"name": server.name, "type": server.commercial_type}
    if server.image_id:
        found["image"] = server.image_id
    if server.root is not None and server.root.id in roots:
        found["root_volume"] = _root(roots[server.root.id], server.root.volume_type)
    extra = [slot for slot in sorted(server.volumes, key=lambda slot: slot.key) if slot.key != "0"]
    if extra:
        found["additional_volume_ids"] = [_id(Ref(slot.kind, server.zone, slot.id), names) for slot in extra]
    if server.ip_ids:
        found["ip_ids"] = [_id(Ref(Kind.IP, server.zone, ip), names) for ip in server.ip_ids]
    if server.dynamic_ip_required:
        found["enable_dynamic_ip"] = True
    if server.security_group_id:
        found["security_group_id"] = f"{server.zone}/{server.security_group_id}"
    if server.placement_group_id:
        found["placement_group_id"] = f"{server.zone}/{server.placement_group_id}"
    if server.protected:
        found["protected"] = True
    if server.boot_type not in ("", "local"):
        found["boot_type"] = server.boot_type
    if server.state in _STATES:
        found["state"] = _STATES[server.state]
    return found


def _root(volume: Volume, slot_type: str) -> dict[str, _Value]:
    found: dict[str, _Value] = {"volume_type": slot_type, "size_in_gb": volume.size // _GB}
    if volume.iops:
        found["sbs_iops"] = volume.iops
    return found


def _id(ref: Ref, names: _Names) -> _Value:
    """The id of a resource that is declared here too, or of one that is not."""
    variable = names.variables.get(ref)
    return _Code(f"{variable}.id") if variable is not None else f"{ref.zone}/{ref.id}"


# -- Python


def _argument(key: str, value: _Value) -> list[str]:
    """`key=value,` as the formatter writes it: on one line, or one item a line."""
    whole = f"    {key}={_literal(value)},"
    if len(whole) <= _WIDTH or isinstance(value, str | int | _Code):
        return [whole]
    if isinstance(value, Mapping):
        items, brackets = [f"{_quoted(name)}: {_literal(item)}" for name, item in value.items()], "{}"
    else:
        items, brackets = [_literal(item) for item in value], "[]"
    return [f"    {key}={brackets[0]}", *(f"        {item}," for item in items), f"    {brackets[1]},"]


def _literal(value: _Value) -> str:
    if isinstance(value, _Code):
        return value.text
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):  # True and False too
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(key)}: {_literal(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(_literal, value)) + "]"


def _quoted(text: str) -> str:
    """A Python literal in double quotes, ASCII only, whatever the text is. Single ones where that saves escapes, as
    the formatter has it."""
    quote = "'" if '"' in text and "'" not in text else '"'
    return quote + "".join(_escaped(char, quote) for char in text) + quote


def _escaped(char: str, quote: str) -> str:
    if char in ("\\", quote):
        return f"\\{char}"
    if " " <= char <= "~":
        return char
    return f"\\u{ord(char):04x}" if 0xD800 <= ord(char) <= 0xDFFF else char.encode("unicode_escape").decode("ascii")
