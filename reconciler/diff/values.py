"""A state's values, read without trust: any of them may be missing, a secret, or of another type than it should be.

A secret stays the mark `SECRET` all the way, so that it is neither compared nor shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.model.state import SECRET


def bare(value: Any) -> Any:
    """`UUID` of `fr-par-1/UUID`; anything that is no text stays as it is."""
    return value.rsplit("/", 1)[-1] if isinstance(value, str) else value


def flag(value: Any) -> Any:
    """A missing flag is a false one."""
    return SECRET if value is SECRET else bool(value)


def whole(value: Any) -> Any:
    """Numbers come out of a checkpoint as floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def ids_of(value: Any, *, key: str | None = None) -> Any:
    """Bare ids of a list of ids, or of objects that have one under `key`; `SECRET` where any part is one."""
    if value is SECRET or holds_secret(value):
        return SECRET
    if not isinstance(value, list | tuple):
        return []
    if key is None:
        return [bare(item) for item in value]
    return [bare(item.get(key)) for item in value if isinstance(item, Mapping)]


def flexible_ips(value: Any) -> Any:
    """Ids of a server's public IPs, dynamic ones left out, in the order of their attachment."""
    if value is SECRET or not isinstance(value, list | tuple):
        return SECRET if value is SECRET else []
    found = []
    for item in value:
        if not isinstance(item, Mapping):
            if item is SECRET:
                return SECRET
            continue
        id_, dynamic = item.get("id"), item.get("dynamic")
        if id_ is SECRET or dynamic is SECRET:
            return SECRET
        if not dynamic:
            found.append(bare(id_))
    return found


def same_tags(state: Any, cloud: tuple[str, ...]) -> bool:
    """Tags are a set to everybody who reads them; order and repeats are nobody's change (report R099)."""
    if state is None:
        return not cloud
    if not isinstance(state, (list, tuple)):
        return False
    given = tuple(state)
    if given == cloud:
        return True
    return all(isinstance(tag, str) for tag in given) and set(given) == set(cloud)


def plain(value: Any) -> Any:
    """Null, empty text and empty list are one thing to the provider."""
    if value is None or value in ("", [], ()):
        return None
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return whole(value)


def holds_secret(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(item is SECRET or holds_secret(item) for item in value)
    return isinstance(value, Mapping) and any(item is SECRET or holds_secret(item) for item in value.values())
