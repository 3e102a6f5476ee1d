"""Collects in what a call of the program and an object of the cloud differ, in Pulumi's words.

Nothing is equal by default: a key of a body that no proof knows is a difference too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from reconciler.engine.adoption.expectation import Expectation, made_up
from reconciler.kernel.text import visible
from reconciler.ports.engine import Difference

_HIDDEN: Final = "[secret]"
_NOTHING: Final = "nothing"
_LIMIT: Final = 160
GIGABYTE: Final = 1_000_000_000


def shown(value: Any) -> str:
    """A value for a reader: short, on one line, and safe to print."""
    if value is None or value == "" or value == []:
        return _NOTHING
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    return visible(text, limit=_LIMIT)


def gigabytes(size: Any) -> Any:
    """Bytes as the GB that programs write; what is no number stays."""
    return f"{size / GIGABYTE:g} GB" if isinstance(size, int) else size


class Comparison:
    """Of one call with one expectation."""

    def __init__(self, expectation: Expectation) -> None:
        self._expectation = expectation
        self.differences: list[Difference] = []
        # A name that Pulumi made up in an earlier run and can be told to use again.
        self.name_to_use: str | None = None

    @property
    def expectation(self) -> Expectation:
        return self._expectation

    def differ(self, path: str, program: Any, cloud: Any) -> None:
        says, has = shown(program), shown(cloud)
        if self._expectation.secret(path):
            says = says if says == _NOTHING else _HIDDEN
            has = has if has == _NOTHING else f"another {_HIDDEN}"
        self.differences.append(Difference(urn=self._expectation.urn, path=path, program=says, cloud=has))

    def same(self, path: str, program: Any, cloud: Any) -> None:
        """Both are the same value of the same type."""
        if type(program) is not type(cloud) or program != cloud:
            self.differ(path, program, cloud)

    def size(self, path: str, program: Any, cloud: Any) -> None:
        """Both are the same number of bytes."""
        if not isinstance(cloud, int) or program != cloud:
            self.differ(path, gigabytes(program), gigabytes(cloud))

    def tags(self, program: Any, cloud: Any) -> None:
        """The same tags in the same order, for state compares positions. None is no tags."""
        self.same("tags", list(program or []), list(cloud or []))

    def name(self, program: Any, cloud: Any) -> None:
        """The same name; where the program has none, the one that the provider made up just now says nothing."""
        if not self._expectation.named and made_up(program):
            return
        if program != cloud and self._expectation.could_be_named(cloud):
            self.name_to_use = str(cloud)
        self.same("name", program, cloud)

    def only(self, body: Mapping[str, Any], known: Collection[str], *, inside: str = "") -> None:
        """The body holds nothing that is not compared."""
        for key in sorted(set(body) - set(known)):
            self.differ(f"{inside}{key}", body[key], "what this reconciler cannot compare")
