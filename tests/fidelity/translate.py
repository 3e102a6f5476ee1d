"""Recorded names of things -> the simulator's: ids, addresses, MACs.

What the API makes up differs between a recording and its replay. Both answers to the same request are walked side by
side, and what stands in the same place is the same thing; later requests are rewritten with what was learnt. Nothing is
learnt twice: the first meeting counts, so that a wrong answer later cannot bend the map.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import quote_plus, unquote_plus

_TOKEN: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # an id
    r"|\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}\b"  # a MAC address
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b"  # an IPv4 address
    r"|\b[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){2,7}"  # an IPv6 address or prefix
)
# Maps whose keys are the catalog's, and lists without names in them.
_DULL: Final = frozenset({"compatible_commercial_types", "allowed_actions"})


class Translation:
    def __init__(self) -> None:
        self._to: dict[str, str] = {}

    def knows(self, token: str) -> bool:
        return token.lower() in self._to

    def learn_one(self, recorded: str, simulated: str) -> None:
        self._to.setdefault(recorded.lower(), simulated)

    def text(self, recorded: str) -> str:
        return _TOKEN.sub(lambda found: self._to.get(found.group().lower(), found.group()), recorded)

    def query(self, recorded: str) -> str:
        """A query string: values are percent-encoded there. What needs no translation stays as it was sent."""
        return "&".join(self._parameter(part) for part in recorded.split("&"))

    def _parameter(self, part: str) -> str:
        name, sign, value = part.partition("=")
        plain = unquote_plus(value)
        fresh = self.text(plain)
        return part if fresh == plain else f"{name}{sign}{quote_plus(fresh)}"

    def learn(self, recorded: Any, simulated: Any) -> None:
        if isinstance(recorded, dict) and isinstance(simulated, dict):
            for key in recorded.keys() & simulated.keys() - _DULL:
                self.learn(recorded[key], simulated[key])
        elif isinstance(recorded, list) and isinstance(simulated, list):
            for left, right in self._pairs(recorded, simulated):
                self.learn(left, right)
        elif isinstance(recorded, str) and isinstance(simulated, str):
            left_tokens, right_tokens = _TOKEN.findall(recorded), _TOKEN.findall(simulated)
            if len(left_tokens) == len(right_tokens):
                for left, right in zip(left_tokens, right_tokens, strict=True):
                    self.learn_one(left, right)

    def _pairs(self, recorded: list[Any], simulated: list[Any]) -> list[tuple[Any, Any]]:
        """Items that are known to be the same, then those that are most alike, then by position."""
        rest, pairs = list(simulated), []
        for left in sorted(recorded, key=lambda item: not self._known(item)):
            if not rest:
                break
            right = max(rest, key=lambda item: self._likeness(left, item))
            if self._likeness(left, right) >= 0:
                rest.remove(right)
                pairs.append((left, right))
        return pairs

    def _known(self, item: Any) -> bool:
        return isinstance(item, dict) and self.knows(str(item.get("id")))

    def _likeness(self, left: Any, right: Any) -> int:
        if not isinstance(left, dict) or not isinstance(right, dict):
            return 0
        if self._known(left):
            return 1000 if self._to[str(left["id"])] == right.get("id") else -1
        return sum(self.text(str(left[key])) == str(right[key]) for key in left.keys() & right.keys() - _DULL)
