"""How tags are read: keys and values, a user's own scheme, and near misses. One reader for every place (report R095).

Scaleway's tags are plain strings. `key=value` is a habit, and the separator is the policy's. A mapping says how a key
is written otherwise: `managed-by-(.+)` gives the key `owner` its value. Tags are exact and case-sensitive.
"""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.model.desired import FLEET_TAG, OWNER_TAG, tag_value
from reconciler.model.policy import Policy
from reconciler.policy.patterns import captured

_OWN_PREFIX = f"{OWNER_TAG}:"


def is_own(tag: str) -> bool:
    """One of those that this product writes."""
    return tag == OWNER_TAG or tag.startswith(_OWN_PREFIX)


def split(tag: str, *, separator: str) -> tuple[str, str] | None:
    """Key and value; None for a bare tag and for one without a key."""
    key, found, value = tag.partition(separator)
    return (key, value) if found and key else None


def values_of(key: str, tags: Iterable[str], policy: Policy) -> tuple[str, ...]:
    """All values of a key, plainly written or by a mapping, in the order of the tags."""
    patterns = [mapping.pattern for mapping in policy.mappings if mapping.key == key]
    found: list[str] = []
    for tag in tags:
        pair = split(tag, separator=policy.separator)
        if pair is not None and pair[0] == key:
            found.append(pair[1])
        found += [value for pattern in patterns if (value := captured(pattern, tag)) is not None]
    return tuple(dict.fromkeys(found))


def is_mapped(tag: str, policy: Policy) -> bool:
    return any(captured(mapping.pattern, tag) is not None for mapping in policy.mappings)


def written(key: str, value: str, policy: Policy) -> str | None:
    """The tag that gives a key a value, in the user's own scheme; None where that can only be read."""
    for mapping in policy.mappings:
        if mapping.key == key:
            return mapping.write.replace("{value}", value) if mapping.write is not None else None
    return f"{key}{policy.separator}{value}"


def fleet_of(tags: tuple[str, ...], policy: Policy) -> str | None:
    """By our own tag, or by a mapping of the key `fleet`."""
    own = tag_value(tags, FLEET_TAG)
    if own is not None:
        return own
    mapped = values_of("fleet", tags, policy) if any(one.key == "fleet" for one in policy.mappings) else ()
    return mapped[0] if len(mapped) == 1 else None


def folded(tag: str) -> str:
    return "".join(tag.split()).casefold()


def near_miss(wanted: str, tags: Iterable[str]) -> str | None:
    """A tag that is the wanted one but for case or spaces (reports R095, R097)."""
    close = folded(wanted)
    return next((tag for tag in tags if tag != wanted and folded(tag) == close), None)
