"""The resources of a case: each server with what hangs on it, every name once, every reference checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from reconciler.cases.model import Item
from reconciler.cases.names import expanded
from reconciler.cases.problems import Mark, Problems, meant
from reconciler.cases.shapes import Fields, Marked
from reconciler.model.scope import KNOWN_ZONES
from reconciler.simulator.catalog import LABELS, server_types

_ZONE: Final = "fr-par-1"
_AGE: Final = 30 * 86_400
_MOST_COPIES: Final = 500
_REFERS: Final = {"on": ("server",), "of": ("volume",), "network": ("network",)}


class Owner(NamedTuple):
    """What `owned` stands for."""

    fleet: str | None = None
    slot: int | None = None
    worker: str | None = None


NOBODY: Final = Owner()


@dataclass(slots=True)
class Names:
    """All names of a case, with what each is. Labels of what strangers make are added as steps are read."""

    problems: Problems
    kinds: dict[str, str] = field(default_factory=dict)
    marks: dict[str, Mark] = field(default_factory=dict)
    owners: dict[str, Owner] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)  # the resources that any ledger ever held

    def add(self, name: str, kind: str, mark: Mark) -> None:
        if name in self.kinds:
            first = self.marks[name].line
            self.problems.add("RC0806", mark, f"the name `{name}` is taken, in line {first}", hint="Names are unique.")
            return
        self.kinds[name], self.marks[name] = kind, mark

    def matching(self, found: Marked) -> tuple[str, ...]:
        """The names that a pattern with `*` or `?` matches, or the one name; checked (RC0804)."""
        if not is_pattern(str(found.value)):
            return (self.require(found),)
        names = tuple(name for name in self.kinds if fnmatchcase(name, str(found.value)))
        if not names:
            hint = "One of: " + ", ".join(self.kinds) + "."
            self.problems.add("RC0804", found.mark, f"no name here matches `{found.value}`", hint=hint)
        return names

    def require(self, found: Marked, kinds: Sequence[str] = ()) -> str:
        """The name, checked: RC0804 when nothing has it, or something of another kind."""
        name = str(found.value)
        kind = self.kinds.get(name)
        fitting = [one for one, is_a in self.kinds.items() if not kinds or is_a in kinds]
        if kind is None or (kinds and kind not in kinds):
            what = f"`{name}` is {_a(kind)}" if kind is not None else f"nothing here is named `{name}`"
            wanted = f" where {_a(' or '.join(kinds))} belongs" if kinds else ""
            self.problems.add("RC0804", found.mark, what + wanted, hint=meant(name, fitting))
        return name

    def tags_of(self, name: str, tags: Sequence[str], *, mark: Mark) -> tuple[str, ...]:
        """Expected tags of a named thing; `owned` is of its own fleet and slot."""
        self.require(Marked(name, mark))
        return tags_from(tags, owner=self.owners.get(name, NOBODY), mark=mark, problems=self.problems)


def is_pattern(name: str) -> bool:
    return "*" in name or "?" in name


def tags_from(tags: Sequence[str], *, owner: Owner, mark: Mark, problems: Problems) -> tuple[str, ...]:
    try:
        return expanded(tags, fleet=owner.fleet, slot=owner.slot, worker=owner.worker)
    except ValueError as error:
        problems.add("RC0802", mark, str(error), hint="Like `owned`, `owned ci/1`, `none` or a list of tags.")
        return ()


def read_items(
    found: Sequence[Fields], *, stacks: tuple[str, ...], names: Names, problems: Problems
) -> tuple[Item, ...]:
    """Every resource, parts of servers included, networks and groups before servers, servers before the rest."""
    reader = _Reader(stacks=stacks, names=names, problems=problems)
    items: list[Item] = []
    for one in found:
        (kind,) = one.values
        for copy in reader.copies(one.get(kind)):
            items += reader.read(kind, copy)
    for item in items:
        names.add(item.name, item.kind, item.mark)
        names.owners[item.name] = Owner(item.fleet, item.slot, item.worker)
        if item.in_cloud or item.stack is not None:
            names.made.add(item.name)
    reader.check(items)
    items = list(_as_declared(items))
    order = {"network": 0, "placement_group": 0, "security_group": 0, "server": 1}
    return tuple(sorted(items, key=lambda item: order.get(item.kind, 2)))


def _as_declared(items: Sequence[Item]) -> Iterator[Item]:
    """With the logical names that `WorkerFleet` gives: FLEET-SLOT and what begins with it. Of several machines in one
    slot the program means one, that of the state where there is one; the others keep their names."""
    meant: dict[tuple[str, int], Item] = {}
    for item in items:
        if item.kind == "server" and item.fleet is not None and item.slot is not None:
            first = meant.setdefault((item.fleet, item.slot), item)
            if first.stack is None and item.stack is not None:
                meant[item.fleet, item.slot] = item
    machines = {item.name: f"{item.fleet}-{item.slot}" for item in meant.values()}
    for item in items:
        if item.name in machines:
            yield replace(item, logical=machines[item.name])
        elif item.on in machines and item.part in ("ip", "volume"):
            suffix = "ip" if item.part == "ip" else item.name
            yield replace(item, logical=f"{machines[item.on]}-{suffix}")
        else:
            yield item


@dataclass(slots=True)
class _Reader:
    stacks: tuple[str, ...]
    names: Names
    problems: Problems
    references: list[tuple[str, Marked, tuple[str, ...]]] = field(default_factory=list)

    def copies(self, given: Fields) -> Iterator[Fields]:
        """The thing itself, or its numbered copies."""
        number = given.get("copies")
        if number is None:
            yield given
            return
        if not 1 <= number <= _MOST_COPIES:
            hint = f"1 to {_MOST_COPIES}."
            self.problems.add("RC0802", given.at("copies"), f"{number} copies", hint=hint)
            return
        for part in ("ip", "root", "volumes", "nic"):
            inner = given.get(part)
            named = isinstance(inner, str) or (isinstance(inner, Fields) and "name" in inner) or part == "volumes"
            if inner is not None and named:
                hint = "Leave the name out: each copy gets one of its own, such as `w-1-ip`."
                self.problems.add("RC0802", given.at(part), f"copies of a server with a named {part}", hint=hint)
                return
        for index in range(number):
            values = {**given.values, "name": f"{given.get('name')}-{index + 1}"}
            if "worker" in given:
                values["worker"] = f"{given.get('worker')}-{index + 1}"
            elif "fleet" in given:
                values["slot"] = given.get("slot", 0) + index
            yield Fields(values, given.marks, given.mark)

    def read(self, kind: str, given: Fields) -> Iterator[Item]:
        item = self._item(kind, given)
        yield item
        if kind == "server":
            yield from self._parts(item, given)

    def _item(self, kind: str, given: Fields) -> Item:
        owner = Owner(given.get("fleet"), given.get("slot"), given.get("worker"))
        for key in ("slot", "worker"):
            if key in given and owner.fleet is None:
                self.problems.add("RC0808", given.at(key), f"a {key} without a fleet", hint="Add `fleet: NAME`.")
        home = self._home(given)
        holders = given.get("in", ("cloud", "state") if _in_state(given) else ("cloud",))
        zone = given.get("zone", _ZONE)
        if zone not in KNOWN_ZONES:
            self.problems.add("RC0802", given.at("zone"), f"unknown zone {zone!r}", hint=meant(zone, KNOWN_ZONES))
        age, gone = given.get("age", _AGE), given.get("gone")
        if gone is not None and gone >= age:
            self.problems.add("RC0802", given.at("gone"), "gone before it was made", hint="`gone` is less than `age`.")
        says = given.get("state_says")
        return Item(
            kind=kind,
            name=given.get("name"),
            zone=zone,
            ours=given.get("project", "ours") == "ours",
            tags=self._tags(given, owner),
            age=age,
            gone=gone,
            in_cloud="cloud" in holders or gone is not None,
            stack=home if "state" in holders else None,
            home=home,
            fleet=owner.fleet,
            slot=owner.slot,
            worker=owner.worker,
            on=self._reference(given, "on"),
            of=self._reference(given, "of"),
            protect=given.get("protect", False),
            deleting=given.get("deleting", False),
            ahead=given.get("ahead", 0),
            says=says.value if says is not None else {},
            details=self._details(kind, given),
            mark=given.mark,
        )

    def _home(self, given: Fields) -> str:
        stack = given.get("stack")
        if stack is None:
            return self.stacks[0]
        if stack.value not in self.stacks:
            hint = meant(stack.value, self.stacks)
            self.problems.add("RC0804", stack.mark, f"there is no stack `{stack.value}`", hint=hint)
        return str(stack.value)

    def _tags(self, given: Fields, owner: Owner) -> tuple[str, ...]:
        tags = given.get("tags", ("owned",) if owner.fleet is not None else ())
        return tags_from(tags, owner=owner, mark=given.at("tags"), problems=self.problems)

    def _reference(self, given: Fields, key: str) -> str | None:
        found = given.get(key)
        if found is None:
            return None
        self.references.append((str(given.get("name")), found, _REFERS[key]))
        return str(found.value)

    def _details(self, kind: str, given: Fields) -> Mapping[str, Any]:
        details = {
            key: given.get(key) for key in ("type", "image", "state", "protected", "size", "user_data") if key in given
        }
        if kind == "server":
            for key, known in (("type", server_types()), ("image", LABELS)):
                if key in details and details[key] not in known:
                    what, hint = f"the simulator sells no {key} {details[key]!r}", meant(details[key], known)
                    self.problems.add("RC0802", given.at(key), what, hint=hint)
        for key in ("placement_group", "security_group"):
            if kind == "server" and key in given:
                self.references.append((str(given.get("name")), given.get(key), (key,)))
                details[key] = given.get(key).value
        return details

    # -- what a server brings with it

    def _parts(self, server: Item, given: Fields) -> Iterator[Item]:
        root: Fields = given.get("root") or Fields({}, {}, given.mark)
        yield self._part(server, root, kind="volume", part="root", in_state=False)
        address = given.get("ip", False)
        if address is not False:
            fields = address if isinstance(address, Fields) else Fields({}, {}, given.at("ip"))
            name = address if isinstance(address, str) else None
            yield self._part(server, fields, kind="ip", part="ip", name=name)
        for volume in given.get("volumes", ()):
            yield self._part(server, volume, kind="volume", part="volume")
        if "nic" in given:
            yield self._part(server, given.get("nic"), kind="nic", part="nic", in_state=False)

    def _part(
        self, server: Item, given: Fields, *, kind: str, part: str, name: str | None = None, in_state: bool = True
    ) -> Item:
        owner = Owner(server.fleet, server.slot, server.worker)
        default = () if part == "nic" or server.fleet is None else ("owned",)
        tags = given.get("tags", default)
        held = server.stack is not None and in_state
        holders = given.get("in", ("cloud", "state") if held else ("cloud",))
        network = given.get("network")
        if network is not None:
            self.references.append((server.name, network, _REFERS["network"]))
        return Item(
            kind=kind,
            name=given.get("name") or name or f"{server.name}-{part}",
            zone=server.zone,
            ours=server.ours,
            tags=tags_from(tags, owner=owner, mark=given.at("tags"), problems=self.problems),
            age=server.age,
            in_cloud=server.in_cloud and "cloud" in holders,
            stack=server.home if "state" in holders else None,
            home=server.home,
            fleet=server.fleet,
            slot=server.slot,
            worker=server.worker,
            on=server.name,
            network=str(network.value) if network is not None else None,
            part=part,
            protect=server.protect and held,
            ahead=server.ahead,
            details={key: given.get(key) for key in ("size", "type") if key in given},
            mark=given.mark,
        )

    # -- what takes all of them to see

    def check(self, items: Sequence[Item]) -> None:
        onto = {item.name: item.on or item.of for item in items}
        looped = {name for name, found, _ in self.references if self._loops(name, onto, found.mark)}
        for name, found, kinds in self.references:
            if name not in looped:
                self.names.require(found, kinds)

    def _loops(self, name: str, onto: Mapping[str, str | None], mark: Mark) -> bool:
        seen, at = [name], onto.get(name)
        while at is not None and at not in seen:
            seen.append(at)
            at = onto.get(at)
        if at != name:
            return False
        chain = " on ".join(f"`{one}`" for one in [*seen, name])
        self.problems.add("RC0805", mark, f"it hangs on itself: {chain}", hint="`on` names a server of this case.")
        return True


def _in_state(given: Fields) -> bool:
    """Whether a program makes it. Workers of an elastic fleet are made on demand, and are in no state."""
    return "stack" in given or ("fleet" in given and "worker" not in given)


def _a(word: str | None) -> str:
    return f"{'an' if (word or '')[:1] in 'aeio' else 'a'} {word}"
