"""The catalogue of scenes: each a function that makes one situation and says what is true of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from reconciler.model.finding import FindingKind
from tests.worlds.draft import Draft

Build = Callable[[Draft], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """`kinds`: the finding kinds that it can show; none: it shows that nothing is found. `stack`: the one whose
    interrupted operation it is; one such scene is enough for a stack."""

    name: str
    build: Build
    kinds: frozenset[FindingKind]
    weight: int = 1
    stack: str | None = None

    @property
    def rows(self) -> bool:
        """Whether it needs rows; such a world has no condition and nothing interrupted."""
        return self.build.__module__.endswith("scenes_rows")


SCENES: Final[dict[str, Scene]] = {}


def scene(name: str, *kinds: FindingKind, weight: int = 1, stack: str | None = None) -> Callable[[Build], Build]:
    def register(build: Build) -> Build:
        assert name not in SCENES
        SCENES[name] = Scene(name=name, build=build, kinds=frozenset(kinds), weight=weight, stack=stack)
        return build

    return register
