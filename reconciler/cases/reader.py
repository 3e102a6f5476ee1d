"""From a file to a `Case`, or to everything that is wrong with it.

Three passes: YAML within bounds (`source`), shapes (`language`), and here what takes more than one value to see: names
that lead nowhere, things that hang on themselves, settings, rules of faults, command lines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from reconciler.cases import language
from reconciler.cases.model import Case, End, FleetDecl, Item, RightsDecl, StackDecl
from reconciler.cases.names import DEFAULT_STACK, REVISION
from reconciler.cases.problems import NOWHERE, Mark, Problems, meant
from reconciler.cases.read_items import Names, read_items
from reconciler.cases.read_rows import read_rows, rows_left
from reconciler.cases.read_settings import read_settings
from reconciler.cases.read_stacks import processes, rights, stack_change
from reconciler.cases.read_steps import StepReader, bounds, faults_of, lies_of, names_of
from reconciler.cases.shapes import BAD, Fields
from reconciler.cases.source import compose, read_text
from reconciler.kernel.clock import parse_instant

_START_MS: Final = parse_instant("2026-11-30T00:00:00Z")
_MEMORY: Final = 2 * 86_400


def load(path: Path, *, commands: Collection[str] = ()) -> Case:
    """The case of a file. `commands`: the first words that `run` may have; none: unchecked.

    Raises ConfigError RC0800 (not readable) and InvalidCase with every mistake (RC0800 to RC0812).
    """
    return parse(read_text(path), path=path, commands=commands)


def parse(text: str, *, path: Path, commands: Collection[str] = ()) -> Case:
    """The case of a text; `path` names it and its errors."""
    problems = Problems(str(path))
    node = compose(text, problems)
    problems.raise_any()
    assert node is not None  # or a problem was raised
    found = language.CASE.read(node, problems)
    problems.raise_any()
    assert found is not BAD
    case = _case(found, path=path, problems=problems, commands=commands)
    problems.raise_any()
    return case


def _case(found: Fields, *, path: Path, problems: Problems, commands: Collection[str]) -> Case:
    stacks: Fields = found.get("stacks") or Fields({}, {}, NOWHERE)
    stack_names = tuple(stacks.values) or (DEFAULT_STACK,)
    _check_stack_names(stacks, problems)
    names = Names(problems)
    items = read_items(found.get("resources", ()), stacks=stack_names, names=names, problems=problems)
    rows = read_rows(found.get("records"), items, names=names, problems=problems)
    workers = frozenset({item.worker for item in items if item.worker} | {row.worker for row in rows or ()})
    fleets = _fleet_names(items, stacks)
    steps = StepReader(names=names, stacks=stack_names, fleets=fleets, workers=workers, problems=problems)
    read = steps.all(found.get("steps"), commands=commands)
    return Case(
        name=path.stem,
        path=path,
        why=" ".join(str(found.get("why")).split()),
        source=found.get("source", ()),
        rules=found.get("rules", ()),
        no_engine=_no_engine(found, problems),
        seed=found.get("seed", 1),
        start_ms=found.get("start", _START_MS),
        memory=found.get("memory", _MEMORY),
        settings=_settings(found, stack_names, names=names, problems=problems),
        key=rights(found.get("key"), problems) or RightsDecl(),
        options=_options(found, problems),
        instant=found.get("timings") == "instant",
        stacks=tuple(_stack(name, stacks, items, names=names) for name in stack_names),
        items=items,
        recorded=_recorded(found, path, problems),
        rows=rows,
        processes=processes(found.get("processes", ())),
        faults=faults_of(found.get("faults"), problems),
        lies=lies_of(found.get("lies"), names, problems),
        steps=read,
        end=_end(found.get("expect"), read, names=names, stacks=stack_names, problems=problems),
    )


def _settings(found: Fields, stacks: tuple[str, ...], *, names: Names, problems: Problems) -> Mapping[str, Any]:
    """A case with `records` keeps rows in the product's own tables."""
    settings = read_settings(found.get("settings"), stacks=stacks, names=names, problems=problems)
    return {**settings, "records": {"adapter": "native"}} if "records" in found else settings


def _recorded(found: Fields, path: Path, problems: Problems) -> Path | None:
    name: str | None = found.get("recorded")
    if name is None:
        return None
    if "resources" in found:
        hint = "A recording brings its own world."
        problems.add("RC0808", found.at("resources"), "`resources` beside `recorded`", hint=hint)
    if Path(name).name != name:
        hint = "It lies beside the case: name the file alone."
        problems.add("RC0802", found.at("recorded"), f"{name!r} is not the name of a file", hint=hint)
    return path.parent / name


def _check_stack_names(stacks: Fields, problems: Problems) -> None:
    for name in stacks.values:
        parts = name.split("/")
        if len(parts) != 2 or not all(part and part.replace("-", "").replace("_", "").isalnum() for part in parts):
            problems.add("RC0802", stacks.at(name), f"{name!r} is no name of a stack", hint="Write `project/stack`.")


def _no_engine(found: Fields, problems: Problems) -> str | None:
    text = found.get("engine")
    if text is None:
        return None
    word, _, reason = text.partition(",")
    if word != "no" or not reason.strip():
        problems.add("RC0802", found.at("engine"), f"{text!r} where `no, REASON` belongs", hint="Say why it cannot.")
    return str(reason.strip())


def _options(found: Fields, problems: Problems) -> Mapping[str, Any]:
    """Options of the world, tried on an empty one."""
    from reconciler.kernel.errors import ConfigError
    from reconciler.kernel.randomness import SeededRandomness
    from reconciler.simulator import World
    from reconciler.simulator.mint import Mint
    from reconciler.simulator.strangers import mutate

    given = found.get("options")
    if given is None:
        return {}
    world = World()
    try:
        mutate(world, Mint(SeededRandomness(1), taken=lambda _: False), {"op": "set_options", **given.value}, now_ms=0)
    except (ConfigError, TypeError, ValueError) as error:
        said = error.message if isinstance(error, ConfigError) else "a value of the wrong type"
        problems.add("RC0811", given.mark, f"options: {said}", hint="docs/simulator.md lists the options of the world.")
    options: Mapping[str, Any] = given.value
    return options


def _fleet_names(items: tuple[Item, ...], stacks: Fields) -> frozenset[str]:
    declared = {name for stack in stacks.values.values() for name in (stack.get("fleets") or _EMPTY).values}
    return frozenset(declared | {item.fleet for item in items if item.fleet is not None})


_EMPTY: Final = Fields({}, {}, NOWHERE)


def _stack(name: str, stacks: Fields, items: tuple[Item, ...], *, names: Names) -> StackDecl:
    given: Fields = stacks.get(name) or _EMPTY
    declared: Fields = given.get("fleets") or _EMPTY
    found = dict.fromkeys([*declared.values, *_fleets_of(items, name)])
    fleets = tuple(_fleet(one, declared.get(one) or _EMPTY, items) for one in found)
    return StackDecl(
        name=name,
        fleets=fleets,
        output=given.get("output", bool(fleets)),
        now=stack_change(given, names=names),
    )


def _fleets_of(items: tuple[Item, ...], stack: str) -> Iterator[str]:
    return (item.fleet for item in items if item.fleet is not None and item.home == stack and item.kind == "server")


def _fleet(name: str, given: Fields, items: tuple[Item, ...]) -> FleetDecl:
    elastic = "min" in given or "max" in given
    slots = [item.slot for item in items if item.fleet == name and item.slot is not None]
    return FleetDecl(
        name=name,
        replicas=None if elastic else given.get("replicas", max(slots, default=-1) + 1),
        minimum=given.get("min", 0) if elastic else None,
        maximum=given.get("max", given.get("min")) if elastic else None,
        type=given.get("type", "DEV1-S"),
        zone=given.get("zone", "fr-par-1"),
        revision=given.get("revision", REVISION),
    )


def _end(
    found: Fields | None, steps: tuple[Any, ...], *, names: Names, stacks: tuple[str, ...], problems: Problems
) -> End:
    in_steps = tuple(dict.fromkeys(name for step in steps for name in step.deletes or ()))
    if found is None:
        return End(deletes=in_steps)
    tags: Fields = found.get("tags") or _EMPTY
    pending: Fields = found.get("pending") or _EMPTY
    state: Fields = found.get("state") or _EMPTY
    for fields in (pending, state):
        for stack in fields.values:
            _known_stack(stack, stacks, fields.at(stack), problems)
    return End(
        deletes=names_of(found.get("deletes"), names) if "deletes" in found else in_steps,
        survive=names_of(found.get("survive"), names),
        tags={name: names.tags_of(name, tags.get(name), mark=tags.at(name)) for name in tags.values},
        state={name: names_of(value, names) for name, value in state.values.items()},
        pending={
            name: () if value == "none" else (value if isinstance(value, tuple) else (value,))
            for name, value in pending.values.items()
        },
        calls=bounds(found.get("calls"), problems),
        rows=rows_left(found.get("rows"), names=names),
    )


def _known_stack(name: str, stacks: tuple[str, ...], mark: Mark, problems: Problems) -> None:
    if name not in stacks:
        problems.add("RC0804", mark, f"there is no stack `{name}`", hint=meant(name, stacks))
