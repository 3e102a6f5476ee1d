"""From a seed to a world.

A `Recipe` says everything: which scenes with which labels, under which condition. `build` makes the same world of it
each time; a recipe with fewer scenes makes the same world without them. So what is handed around is the recipe, and a
world is built for one run and thrown away.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from reconciler.model.finding import FindingKind
from reconciler.model.resources import Kind
from reconciler.model.scope import FleetMatch, Limits, Never, Ownership, Rail, Scope
from reconciler.simulator import PROJECT_ID, WorldOptions
from reconciler.simulator import World as CloudWorld
from reconciler.simulator.defaults import SECRET_KEY
from reconciler.simulator.keys import Key
from tests.worlds import scenes_interrupted, scenes_leftovers, scenes_rows, scenes_states, scenes_strangers
from tests.worlds.conditions import CALM, UNREAD_STACK, Condition, under
from tests.worlds.draft import BORN, MAIN, NOW, OTHER_PROJECT, SCOPE, SIDE, Draft, Remembered
from tests.worlds.scenes import SCENES, Scene
from tests.worlds.truth import Thing, Truth, Whose

ALL: Final = frozenset(FindingKind)
ROOMS: Final = (scenes_interrupted, scenes_leftovers, scenes_rows, scenes_states, scenes_strangers)
_ZONES: Final = (("fr-par-1",), ("fr-par-1", "fr-par-2"), ("nl-ams-1",), ("fr-par-2", "nl-ams-1", "pl-waw-2"))
_HIGH: Final = Rail(count=10_000, percent=100.0, eur_month=1e9)
FLEETS: Final = (
    FleetMatch(name="render", tags=("role=render",), names=("render-*",), require=2),
    FleetMatch(
        name="careful",
        actions=(
            ("orphan", "ask"),
            ("detached_ip", "ask"),
            ("detached_volume", "ask"),
            ("detached_instance_volume", "ask"),
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """`scenes`: (label, name). `salt` seeds them, so that a label means the same in every part of a world."""

    seed: int
    salt: str
    zones: tuple[str, ...]
    ownership: Ownership
    condition: Condition
    hostile: bool
    program: bool
    options: WorldOptions
    scenes: tuple[tuple[str, str], ...]

    def without(self, labels: Collection[str]) -> Recipe:
        return replace(self, scenes=tuple(one for one in self.scenes if one[0] not in labels))

    def __str__(self) -> str:
        names = ", ".join(f"{label} {name!r}" for label, name in self.scenes) or "no scene"
        return (
            f"seed {self.seed}: {', '.join(self.zones)}, ownership {self.ownership.value}, {self.condition}"
            f"{', with the programs' if self.program else ''}; {names}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedWorld:
    """All ledgers, and the truth. `cloud` changes in a run, so a world is good for one.

    `settles`: everything in it can be settled; else an interrupted operation asks for ever.
    """

    recipe: Recipe
    cloud: CloudWorld
    checkpoints: Mapping[str, Mapping[str, Any]]
    scope: Scope
    memory: Remembered
    truth: Truth
    undeclared: frozenset[str]
    settles: bool


def recipe(seed: int, *, size: int = 6, kinds: Collection[FindingKind] = ALL, hostile: bool = True) -> Recipe:
    """`size` scenes that show findings of these kinds, or that nothing is found."""
    chance = random.Random(f"worlds:{seed}")
    zones = chance.choice(_ZONES)
    fits = [one for one in SCENES.values() if not one.kinds or one.kinds & set(kinds)]
    chosen: list[Scene] = []
    while len(chosen) < size and fits:
        one = chance.choices(fits, [scene.weight for scene in fits])[0]
        chosen.append(one)
        if one.stack is not None:  # a stack is interrupted once
            fits = [other for other in fits if other.stack is None and not other.rows]
        if one.rows:
            fits = [other for other in fits if other.stack is None]
        if one.name == "crowd":
            fits.remove(one)
    return Recipe(
        seed=seed,
        salt=f"{seed}",
        zones=zones,
        ownership=chance.choice((Ownership.TWO_PROOFS, Ownership.TWO_PROOFS, Ownership.TAGS)),
        condition=CALM if any(one.rows for one in chosen) else _condition(chance, zones, kinds),
        hostile=hostile,
        program=chance.random() < 0.3 and FindingKind.UNDECLARED in kinds,
        options=WorldOptions(
            ipam_id_differs=chance.random() < 0.3, deleted_ip_status=403 if chance.random() < 0.3 else 404
        ),
        scenes=tuple((f"s{number}", scene.name) for number, scene in enumerate(chosen)),
    )


def _condition(chance: random.Random, zones: tuple[str, ...], kinds: Collection[FindingKind]) -> Condition:
    drawn = chance.random()
    if drawn < 0.12 and FindingKind.INCOMPLETE in kinds:
        return Condition(unread=True)
    if drawn < 0.24:
        return Condition(locked=chance.choice((MAIN, SIDE)))
    if drawn < 0.36 and FindingKind.INCOMPLETE in kinds:
        return Condition(broken=(chance.choice((Kind.IP, Kind.INSTANCE_VOLUME)), chance.choice(zones)))
    return CALM


def generate(seed: int, *, size: int = 6, kinds: Collection[FindingKind] = ALL, hostile: bool = True) -> GeneratedWorld:
    """A world, the same for the same arguments."""
    return build(recipe(seed, size=size, kinds=kinds, hostile=hostile))


def calm(of: Recipe, *scenes: str) -> Recipe:
    """The same place with these scenes, and nothing else the matter."""
    return replace(of, condition=CALM, scenes=tuple((f"x{number}", name) for number, name in enumerate(scenes)))


def build(of: Recipe) -> GeneratedWorld:
    key = Key(secret=SECRET_KEY, projects=frozenset({PROJECT_ID, OTHER_PROJECT}))
    draft = Draft(
        zones=of.zones,
        ownership=of.ownership,
        hostile=of.hostile,
        program=of.program,
        chance=random.Random(0),
        world=CloudWorld(keys=[key], options=of.options),
    )
    for zone in of.zones:
        with draft.scene(f"base-{zone}", seed=f"{of.salt}:{zone}"):
            scenes_states.base(draft, zone)
    for label, name in of.scenes:
        with draft.scene(label, seed=f"{of.salt}:{label}:{name}"):
            SCENES[name].build(draft)
    asks = any(not one.may_clear and (one.stack, one.urn) not in draft.adoptable for one in draft.interrupted)
    return GeneratedWorld(
        recipe=of,
        cloud=draft.world,
        checkpoints={name: one.document(written_ms=BORN) for name, one in draft.stacks.items()},
        scope=_scope(of, draft),
        memory=draft.memory,
        truth=_truth(of, draft),
        undeclared=frozenset(draft.undeclared),
        settles=not asks,
    )


def _scope(of: Recipe, draft: Draft) -> Scope:
    return Scope(
        name="ci",
        uuid=SCOPE,
        project=PROJECT_ID,
        zones=of.zones,
        stacks=(MAIN, SIDE, *((UNREAD_STACK,) if of.condition.unread else ())),
        ownership=of.ownership,
        never=Never(tags=("keep", "do not touch"), names=("bastion*",), ids=tuple(draft.never_ids)),
        fleets=FLEETS,
        # The rails stand wide open, so that what is behind them is seen; they have tests of their own.
        limits=replace(Limits(), reconcile=_HIGH, per_hour=10_000, shrink_percent=100.0),
    )


def _truth(of: Recipe, draft: Draft) -> Truth:
    return Truth(
        things=_with_the_rest(draft),
        first=under(of.condition, draft.first, pending={one.stack for one in draft.interrupted}),
        last=tuple(draft.last),
        interrupted=tuple(draft.interrupted),
        adoptable=draft.adoptable,
        workers=draft.workers,
    )


def _with_the_rest(draft: Draft) -> dict[str, Thing]:
    """What no scene spoke of is nobody's to touch; an address of IPAM goes where its owner goes."""
    things = dict(draft.things)
    for table in draft.world.tables().values():
        for record in table:
            things.setdefault(record.id, Thing(id=record.id, whose=Whose.NEVER, why="no scene's"))
    followers = [(ip.ipam_id, ip.id) for ip in draft.world.ips]
    followers += [(one, nic.id) for nic in draft.world.nics for one in nic.ipam_ips]
    for follower, owner in followers:
        if follower != owner:
            things[follower] = replace(things[owner], id=follower)
    return things


EPOCH: Final = NOW
