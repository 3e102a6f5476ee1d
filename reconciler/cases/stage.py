"""Where a case happens: a folder, a simulated cloud, states, a database, and one clock for all of them.

The past is played before the first step: everything comes into being at its age, vanishes when it is gone, and sweeps
run as they would have, so that sightings, lineage and ages are the product's own and not asserted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from reconciler.cases import cloudworld, provider
from reconciler.cases.doors import Doors, Invoke, Ran
from reconciler.cases.engine import Host, ModelEngine
from reconciler.cases.entries import Entries
from reconciler.cases.model import Case, Item, LockDecl, Operation, PendingDecl, RightsDecl, RowDecl, StackChange
from reconciler.cases.names import id_of
from reconciler.cases.pulumi import decoded
from reconciler.cases.read_settings import toml
from reconciler.cases.read_steps import STATE_OPERATIONS
from reconciler.cases.setting import Setting
from reconciler.cases.statefile import Document, States, entry, fresh, inputs_of, pulumi_id, type_of, urn_of
from reconciler.cases.table import Table
from reconciler.kernel.errors import EXIT_AUTH, EXIT_ERROR, EXIT_USAGE, ConfigError, InternalError
from reconciler.kernel.ids import Ids
from reconciler.kernel.randomness import SeededRandomness
from reconciler.ports.engine import Engine
from reconciler.simulator import ACCESS_KEY, SECRET_KEY, Key, Request, Simulator, Timings, World, serve
from reconciler.simulator.defaults import environment
from reconciler.simulator.strangers import mutate
from reconciler.store import open_store

if TYPE_CHECKING:
    from reconciler.simulator import SimulatorTransport

# Nobody listens there: requests go to the simulator in this process. Loopback, because the key is sent in clear.
_URL: Final = "http://127.0.0.1"
_ADMIN: Final = "5ca1ab1e-0000-4000-8000-0000000000ad"  # opens a simulator only
_FORBIDDEN: Final = frozenset({EXIT_ERROR, EXIT_AUTH, EXIT_USAGE})
_MAIN_ARGS: Final = ("--color", "never", "--no-input")
_IDS: Final = ("server", "ip", "volume", "nic", "id")


def _no_checkpoint(_: str) -> None: ...


class Stage:
    """One case, set up. `close` is the folder's owner's business."""

    def __init__(self, case: Case, folder: Path, *, invoke: Invoke, setting: Setting) -> None:
        self.case, self.folder, self._invoke, self._setting = case, folder, invoke, setting
        self._events = list(_past(case))
        first = min([when for when, _ in self._events], default=case.start_ms)
        self.clock = setting.clock(min(first, case.start_ms - case.memory * 1000), folder=folder)
        timings = Timings.instant() if case.instant or setting.instant else Timings()
        self.simulator = Simulator(World(), clock=self.clock, seed=case.seed, timings=timings)
        self._served = serve(self.simulator) if setting.http else None
        self._url = _URL if self._served is None else self._served.url
        self.labels: dict[str, str] = {id_of(item.name): item.name for item in case.items}
        # By URN, for what has no id yet. A twin of the same slot has no URN of its own.
        self.declared = {urn_of(item): item.name for item in reversed(case.items) if item.home is not None}
        self.states = States(folder / "backend")
        self.host = Host(items=case.items, processes=case.processes, locks={}, start_ms=case.start_ms)
        self._entries = Entries(self.states, clock=self.clock)
        self.labels |= {id_of(worker): worker for worker in _workers(case)}
        url = self._environ()["RECONCILER_DATABASE_URL"]
        self.table = Table(url, clock=self.clock, seed=case.seed, start_ms=case.start_ms)
        self._hidden: dict[str, str] = {}  # stack -> its checkpoint while it cannot be read
        self._commands = 0
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._served is not None:
            self._served.close()

    # -- commands

    def run(self, argv: Sequence[str], *, checkpoint: Callable[[str], None] = _no_checkpoint) -> Ran:
        """One command line of the product, in this world."""
        self._commands += 1
        return self._invoke([*_MAIN_ARGS, *argv], self._doors(checkpoint))

    def _doors(self, checkpoint: Callable[[str], None]) -> Doors:
        randomness = SeededRandomness(self.case.seed * 1_000_003 + self._commands)
        return Doors(
            folder=self.folder,
            environ=self._environ(),
            clock=self.clock,
            randomness=randomness,
            checkpoint=checkpoint,
            transport=self._transport(),
            engine=None if self._setting.real_engine else lambda: self._engine(randomness),
        )

    def _transport(self) -> SimulatorTransport | None:
        """None: over HTTP, as everybody else."""
        from reconciler.simulator import SimulatorTransport

        return SimulatorTransport(self.simulator) if self._served is None else None

    def _engine(self, randomness: SeededRandomness) -> Engine:
        return ModelEngine(
            states=self.states,
            host=self.host,
            transport=self._transport(),
            env=self._environ(),
            clock=self.clock,
            randomness=randomness,
            directory=self.folder,
        )

    def _environ(self) -> Mapping[str, str]:
        return {
            **self._setting.tools,
            **environment(self._url),
            "HOME": str(self.folder),
            "PATH": self._setting.tools.get("PATH", ""),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_STATE_HOME": str(self.folder),
            "RECONCILER_DATABASE_URL": f"sqlite:///{self.folder / 'reconciler.db'}",
            "PULUMI_BACKEND_URL": f"file://{self.states.root}",
            "PULUMI_CONFIG_PASSPHRASE": "",
        }

    # -- the past

    def _prepare(self) -> None:
        (self.folder / "reconciler.toml").write_text(toml(self.case.settings), encoding="utf-8")
        with self.simulator.editing() as world:
            world.keys[_ADMIN] = Key(secret=_ADMIN, access_key="SCWCASES000000000000")
        if self.case.options:
            self._mutate({"op": "set_options", **self.case.options})
        if self.case.recorded is None:
            for stack in self.case.stacks:
                self.states.write(stack.name, fresh(stack), now_ms=self.clock.now_ms())
        else:
            self._restore(self.case.recorded)
        self._play()
        self.advance_to(self.case.start_ms)
        with self.simulator.editing() as world:
            world.keys.pop(_ADMIN, None)
        self.rights(self.case.key)
        for stack in self.case.stacks:
            if stack.now.unreadable:
                self._blind(stack.name, stack.now.unreadable)
            self._hang(stack.name, stack.now)
        self.simulator.traffic.reset()
        self.faults(self.case.faults)
        self.lies(self.case.lies)

    def _restore(self, path: Path) -> None:
        """A recording instead of a past: its world, its states, its memory."""
        from reconciler.cases.recording import playback

        recorded, scope = playback.load(path), self.case.settings["scope"][0]
        key = Key(secret=SECRET_KEY, access_key=ACCESS_KEY, projects=frozenset({scope["project"]}))
        self.simulator.replace_world(recorded.cloud(key))
        for stack in self.case.stacks:
            deployment = recorded.stacks.get(stack.name, fresh(stack))
            self.states.write(stack.name, deployment, now_ms=recorded.written.get(stack.name) or self.case.start_ms)
        if recorded.memory is not None:
            ids = Ids(clock=self.clock, randomness=SeededRandomness(self.case.seed))
            store = open_store(self._environ()["RECONCILER_DATABASE_URL"], clock=self.clock, ids=ids, create=True)
            with contextlib.closing(store):
                playback.remember(recorded.memory, store, scope=scope["uuid"], ids=ids, clock=self.clock)

    def _play(self) -> None:
        """Everything that happened before the start, in order, with the sweeps that saw it."""
        events = [(when, event) for when, event in self._events if when <= self.case.start_ms]
        remembered = self.case.start_ms - self.case.memory * 1000
        if self.case.memory:
            events.append((remembered, lambda _: None))
        events.sort(key=lambda event: event[0])
        for when, group in groupby(events, key=lambda event: event[0]):
            self.advance_to(when)
            for _, event in group:
                event(self)
            self._entries.settle()
            if self.case.memory and remembered <= when < self.case.start_ms:
                self._sweep()

    def _sweep(self) -> None:
        ran = self.run(["drift"])
        if ran.exit in _FORBIDDEN:
            raise InternalError(f"a sweep of the case's past ended with {ran.exit}: {ran.stderr[-600:]}", code="RC0824")

    def advance_to(self, when_ms: int) -> None:
        if when_ms > self.clock.now_ms():
            self.clock.advance((when_ms - self.clock.now_ms()) / 1000)

    def born(self, item: Item) -> None:
        """One item comes into being, in its ledgers."""
        now = self.clock.now_ms()
        if item.in_cloud or item.stack is not None:
            with self.simulator.editing() as world:
                cloudworld.add(world, self.simulator.mint, item, born_ms=now + item.ahead * 1000)

    def entered(self, item: Item) -> None:
        """Its entry in the state, or the one that it would have, of what the cloud says now."""
        if item.in_cloud or item.stack is not None:
            reading = provider.read(type_of(item), pulumi_id(item), self._get)
            inputs = inputs_of(item, self.case.items)
            outputs = {**(reading.outputs or {}), **({"image": inputs["image"]} if "image" in inputs else {})}
            self._entries.came(item, entry(item, inputs, outputs))

    def never_there(self, item: Item) -> None:
        if not item.in_cloud and item.stack is not None:
            with self.simulator.editing() as world:
                cloudworld.forget(world, item)

    def gone(self, item: Item) -> None:
        with self.simulator.editing() as world:
            cloudworld.vanish(world, self.simulator.mint, item, now_ms=self.clock.now_ms())

    def _get(self, path: str) -> tuple[int, Any]:
        answer = self.simulator.handle(Request(method="GET", path=path, headers={"X-Auth-Token": _ADMIN}))
        return answer.status, decoded(answer.body)

    def recorded(self, row: RowDecl) -> None:
        """A row comes into being."""
        for stack in self.case.stacks:
            for fleet in stack.fleets:
                if fleet.name == row.fleet:
                    self.table.write(row, fleet, stack=stack.name)
                    return
        self.table.write(row, None, stack=self.case.stacks[0].name)

    # -- stacks

    def _change(self, stack: str, change: Callable[[Document], None]) -> None:
        self._entries.settle()
        self.states.change(stack, change, now_ms=self.clock.now_ms())

    def lock(self, stack: str, lock: LockDecl) -> None:
        self.host.locks[stack] = lock
        self.states.lock(stack, lock, taken_ms=self.clock.now_ms())

    def pending(self, stack: str, pending: Sequence[PendingDecl]) -> None:
        """These operations are pending as well."""
        self._entries.settle()
        made = []
        for one in pending:
            item = self.case.item(one.name)
            assert item is not None  # checked when the case was read
            held = next((old for old in self.states.read(stack)["resources"] if old["urn"] == urn_of(item)), None)
            asked = entry(item, inputs_of(item, self.case.items), None)
            made.append({"type": one.operation, "resource": asked if held is None else held})

        def change(document: Document) -> None:
            document["pending_operations"] = [*document.get("pending_operations", []), *made]

        self._change(stack, change)

    def change(self, stack: str, change: StackChange) -> None:
        """A step changes what a stack is like."""
        if change.unreadable == "":
            self._show(stack)
        if change.unlock:
            self.states.unlock(stack)
            self.host.locks.pop(stack, None)
        if change.lock is not None:
            self.lock(stack, change.lock)
        if change.pending is not None:
            self._change(stack, lambda document: document.pop("pending_operations", None))
            self.pending(stack, change.pending)
        if change.unreadable:
            self._blind(stack, change.unreadable)
        self._hang(stack, change)

    def _hang(self, stack: str, change: StackChange) -> None:
        if change.hangs is not None:
            (self.host.hanging.add if change.hangs else self.host.hanging.discard)(stack)

    def _blind(self, stack: str, how: str) -> None:
        path = self.states.path(stack)
        text = path.read_text(encoding="utf-8")
        self._hidden[stack] = text
        if how == "missing":
            path.unlink()
        elif how == "broken":
            path.write_text(text[: len(text) // 2], encoding="utf-8")
        elif how == "newer":
            path.write_text(text.replace('"version": 3', '"version": 99', 1), encoding="utf-8")
        else:
            self._change(stack, lambda document: document["resources"].append(document["resources"][-1]))

    def _show(self, stack: str) -> None:
        text = self._hidden.pop(stack, None)
        if text is not None:
            self.states.path(stack).write_text(text, encoding="utf-8")

    # -- the cloud

    def rights(self, rights: RightsDecl) -> None:
        """What the product's key may do from now on."""
        from reconciler.cases.read_stacks import KINDS

        refused = {*rights.denied, *rights.hidden}
        with self.simulator.editing() as world:
            if rights.revoked:
                world.keys.pop(SECRET_KEY, None)
                return
            base = Key(secret=SECRET_KEY, access_key=ACCESS_KEY)
            world.keys[SECRET_KEY] = replace(
                base,
                projects=frozenset({self.case.settings["scope"][0]["project"]}),
                kinds=frozenset(set(KINDS) - refused) if refused else None,
                read_only=rights.read_only,
                hidden=frozenset(rights.hidden),
                ipam_needs_project=rights.ipam_needs_project,
            )

    def faults(self, rules: Sequence[Any]) -> None:
        self.simulator.faults.set(rules)

    def lies(self, lies: Sequence[Any]) -> None:
        self.simulator.lies.set(list(lies))

    def stranger(self, operation: Operation) -> None:
        """What somebody does behind everybody's back; what it makes gets the operation's label."""
        if operation.op in STATE_OPERATIONS:
            self._on_state(operation.op, str(operation.args["name"]))
            return
        args = {key: self._id(value) if key in _IDS else value for key, value in operation.args.items()}
        if operation.op in ("add_server", "add_volume"):
            args.setdefault("name", operation.label)
        made = self._mutate({"op": operation.op, **args})
        if operation.label is not None:
            for key, suffix in (
                ("server", ""),
                ("ip", "-ip" if "server" in made else ""),
                ("volume", "-root" if "server" in made else ""),
            ):
                if isinstance(made.get(key), str):
                    self.labels[made[key]] = f"{operation.label}{suffix}"

    def _on_state(self, op: str, name: str) -> None:
        """Somebody works on a state, with the CLI or without it."""
        if op == "break_stack":
            return self._blind(name, "broken")
        item = self.case.item(name)
        assert item is not None  # checked when the case was read
        return self._entries.take(item) if op == "take" else self._entries.forget(item)

    def _id(self, name: Any) -> Any:
        return next((record_id for record_id, label in self.labels.items() if label == name), name)

    def _mutate(self, change: Mapping[str, Any]) -> Mapping[str, Any]:
        with self.simulator.editing() as world:
            try:
                made: Mapping[str, Any] = mutate(world, self.simulator.mint, dict(change), now_ms=self.clock.now_ms())
            except (TypeError, ValueError, AttributeError) as error:
                raise ConfigError(
                    f"`{change['op']}` has a value of the wrong type: {error}",
                    code="RC0825",
                    hint="docs/simulator.md, section Strangers, lists the operations.",
                ) from error
            return made

    def id_of(self, name: str) -> str:
        return str(self._id(name))


def _workers(case: Case) -> set[str]:
    """Every worker that a machine or a row is of. A machine of the same name keeps the name."""
    named = {item.worker for item in case.items if item.worker is not None} | {row.worker for row in case.rows or ()}
    return named - {item.name for item in case.items}


_Event = Callable[[Stage], None]


def _past(case: Case) -> Iterator[tuple[int, _Event]]:
    """(when, what happened): births in order of the items, then what vanished, locks and pending operations."""

    def when(seconds: int) -> int:
        return case.start_ms - seconds * 1000

    for act in ("born", "entered", "never_there"):
        for item in case.items:
            yield when(item.age), lambda stage, act=act, item=item: getattr(stage, act)(item)  # type: ignore[misc]
    for row in case.rows or ():
        yield when(row.age), lambda stage, row=row: stage.recorded(row)  # type: ignore[misc]
    for item in case.items:
        if item.gone is not None:
            yield when(item.gone), lambda stage, item=item: stage.gone(item)  # type: ignore[misc]
    for stack in case.stacks:
        lock, name = stack.now.lock, stack.name
        if lock is not None:
            yield when(lock.age), lambda stage, name=name, lock=lock: stage.lock(name, lock)  # type: ignore[misc]
        for one in stack.now.pending or ():
            yield when(one.age), lambda stage, name=name, one=one: stage.pending(name, (one,))  # type: ignore[misc]
