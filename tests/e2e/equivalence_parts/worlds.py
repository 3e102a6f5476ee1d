"""Crosses faults, image kinds and declarations, and makes a world of each cell from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.equivalence_parts.catalog import Row, rows
from tests.e2e.equivalence_parts.draft import LABEL, UUID, Draft


@dataclass(frozen=True, order=True)
class Cell:
    """A fault, how the program names the image, and what it says of the property that the fault touches."""

    fault: str
    image: str
    declaration: str

    def __str__(self) -> str:
        return f"{self.fault} / image by {self.image} / {self.declaration}"


@dataclass(frozen=True)
class WorldCase:
    """One world: its program and its fault, as data. Its resources' names begin with `prefix`."""

    cell: Cell
    prefix: str
    secret: bool
    resources: Sequence[Mapping[str, Any]]
    steps: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False


def worlds(*, seed: int, full: bool, only: str = "") -> tuple[WorldCase, ...]:
    """`full`: both images and two worlds for each crossed cell, one of them with a secret. Else one world for each
    fault and declaration. `only`: a text that the cell's name must hold."""
    return tuple(_worlds(seed=seed, full=full, only=only))


def _worlds(*, seed: int, full: bool, only: str) -> Iterator[WorldCase]:
    number = 0
    for row in rows():
        for declaration in row.declarations:
            for image, secret in _variants(row, declaration, seed=seed, full=full):
                cell = Cell(row.name, image, declaration)
                if only in str(cell):
                    number += 1
                    yield build(row, cell, prefix=f"w{number:03d}", secret=secret, seed=seed)


def _variants(row: Row, declaration: str, *, seed: int, full: bool) -> Sequence[tuple[str, bool]]:
    """(image, secret) of the worlds of one fault and declaration."""
    if full:
        return [(image, secret) for image in (LABEL, UUID) for secret in (False, True)]
    drawn = random.Random(f"{seed}:{row.name}:{declaration}")
    return [(drawn.choice((LABEL, UUID)), drawn.random() < 0.3)]


def build(row: Row, cell: Cell, *, prefix: str, secret: bool, seed: int) -> WorldCase:
    draft = Draft(
        prefix=prefix,
        image=cell.image,
        declaration=cell.declaration,
        secret=secret,
        random=random.Random(f"{seed}:{cell}:{secret}"),
    )
    row.build(draft)
    return WorldCase(cell, prefix, secret, tuple(draft.resources), tuple(draft.steps), row.options, row.alone)


def by_row(*, seed: int) -> tuple[WorldCase, ...]:
    """One world for each fault: its first declaration."""
    seen: dict[str, WorldCase] = {}
    for case in worlds(seed=seed, full=False):
        seen.setdefault(case.cell.fault, case)
    return tuple(seen.values())


def batches(cases: Sequence[WorldCase], *, size: int) -> Iterator[list[WorldCase]]:
    """Worlds that can share a stack: those that need the same facts of the API, `size` at most."""
    groups: dict[str, list[WorldCase]] = {}
    for case in cases:
        key = case.prefix if case.alone else repr(sorted(case.options.items()))
        groups.setdefault(key, []).append(case)
    for group in groups.values():
        for start in range(0, len(group), size):
            yield group[start : start + size]
