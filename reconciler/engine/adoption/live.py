"""Reads the inventory for a proof: by the child's own token, from the API behind the gate, now.

Only a 200 tells what is there. A 404 for a target means that there is nothing to adopt; everything else is unknown,
and what is unknown proves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

# (path) -> (status, body); status 0 when there was no answer.
Ask: TypeAlias = Callable[[str], tuple[int, bytes]]


class UnreadError(Exception):
    """The inventory did not answer a question that a proof needs."""

    def __init__(self, path: str, status: int) -> None:
        super().__init__(f"GET {path}: " + (f"HTTP {status}" if status else "no answer"))
        self.status = status


class Live:
    """The inventory as one token sees it."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def find(self, path: str) -> dict[str, Any] | None:
        """A JSON object; None when it is not there. Raises UnreadError."""
        body = self.raw(path)
        if body is None:
            return None
        try:
            found = json.loads(body)
        except ValueError:
            raise UnreadError(path, 200) from None
        if not isinstance(found, dict):
            raise UnreadError(path, 200)
        return found

    def get(self, path: str) -> dict[str, Any]:
        """A JSON object that must be there. Raises UnreadError."""
        found = self.find(path)
        if found is None:
            raise UnreadError(path, 404)
        return found

    def raw(self, path: str) -> bytes | None:
        """The bytes of an answer; None when there is nothing. Raises UnreadError."""
        status, body = self._ask(path)
        if status == 404:
            return None
        if status != 200:
            raise UnreadError(path, status)
        return body
