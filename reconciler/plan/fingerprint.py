"""Fingerprints of a plan's subjects: what each of them was, so that `apply FILE` can tell which has changed since.

A fingerprint is canonical JSON of field name -> the first 12 hex digits of SHA-256 over that field. So it says *what*
changed without holding a value, and the plan file grows by some hundred bytes for a subject. Only fields that a listing
and a GET show alike are in it, and none that moves by itself (dates of modification, progress of a transition): a
subject that nobody touched has the same fingerprint for as long as it lives. Lists whose order is nobody's are sorted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from reconciler.diff.index import Index
from reconciler.model.plan import Condition
from reconciler.model.resources import Ip, IpamAddress, Nic, Other, Ref, Resource, Server, Volume
from reconciler.model.state import SECRET, StateResource

UNCHANGED: Final = "unchanged"  # condition on a provider resource
ENTRY: Final = "entry"  # condition on a state entry

_DIGITS: Final = 12
_SHARED: Final = ("project", "tags")
_FIELDS: Final[Mapping[type, tuple[str, ...]]] = {
    Server: (
        *("name", "state", "commercial_type", "image_id", "volumes", "ip_ids", "nic_ids", "protected", "boot_type"),
        *("security_group_id", "placement_group_id", "dynamic_ip_required"),
    ),
    Ip: ("address", "prefix", "type", "server_id", "reverse"),
    Volume: ("name", "volume_type", "size", "iops", "reference_ids", "server_id"),
    Nic: ("server_id", "private_network_id"),
    IpamAddress: ("address", "resource_type", "resource_id"),
    Other: ("name",),
}
_ORDER_IS_NOBODYS: Final = frozenset({"tags", "volumes", "ip_ids", "nic_ids", "reference_ids"})


def of_resource(resource: Resource) -> str:
    """Of what the provider shows."""
    names = (*_SHARED, *_FIELDS[type(resource)])
    return _encode({name: _plain(name, getattr(resource, name)) for name in names})


def unchanged(index: Index, refs: Iterable[Ref]) -> Iterator[Condition]:
    """What each subject is now; what no listing shows has no fingerprint, and is looked at live alone."""
    for ref in refs:
        found = index.get(ref)
        if found is not None:
            yield Condition(kind=UNCHANGED, subject=str(ref), value=of_resource(found))


def of_entry(entry: StateResource) -> str:
    """Of an entry of a stack's state: its id, each input and output, and whether it is protected.

    A secret counts as `[secret]` whatever it is: not even a digest of one leaves.
    """
    parts: dict[str, Any] = {"id": entry.id, "protect": entry.protect}
    for side, values in (("inputs", entry.inputs), ("outputs", entry.outputs)):
        parts |= {f"{side}.{name}": value for name, value in values.items()}
    return _encode(parts)


def differences(before: str, now: str) -> tuple[str, ...]:
    """The fields that differ between two fingerprints, by name; empty when they are equal."""
    old, new = _decode(before), _decode(now)
    return tuple(sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)))


def _plain(name: str, value: Any) -> Any:
    if name == "volumes":
        return sorted([slot.key, slot.id, slot.volume_type] for slot in value)
    return sorted(value) if name in _ORDER_IS_NOBODYS else value


def _encode(parts: Mapping[str, Any]) -> str:
    return json.dumps({name: _digest(value) for name, value in parts.items()}, sort_keys=True, separators=(",", ":"))


def _digest(value: Any) -> str:
    text = json.dumps(_known(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _known(value: Any) -> Any:
    """Plain JSON; keys as text, since a checkpoint is read without trust."""
    if value is SECRET:
        return "[secret]"
    if isinstance(value, Mapping):
        return {str(key): _known(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_known(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else type(value).__name__


def _decode(text: str) -> dict[str, Any]:
    """What is no fingerprint differs from every one."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"fingerprint": text}
