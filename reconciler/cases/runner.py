"""Runs one case and says what came of it.

What a case does not mention may not happen: whatever its commands remove from the cloud must be in `deletes`, commands
that only look send no write, and the simulator meets no call that it does not know.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reconciler.cases import judge
from reconciler.cases.doors import KILLED_EXIT, Invoke, Killed, Ran
from reconciler.cases.judge import Failure
from reconciler.cases.model import Case, End, Meanwhile, Step
from reconciler.cases.problems import NOWHERE
from reconciler.cases.read_steps import named_in
from reconciler.cases.setting import Setting
from reconciler.cases.stage import Stage
from reconciler.kernel.clock import SystemClock
from reconciler.kernel.errors import ReconcilerError
from reconciler.simulator.faults import path_pattern
from reconciler.simulator.traffic import Entry
from reconciler.simulator.wire import Request

_LOOKS_ONLY: Final = frozenset({"drift", "plan", "preflight", "explain", "doctor"})
_WITH_OUTPUT: Final = frozenset({"drift", "plan", "apply"})
_UNCOUNTED: Final = frozenset({"ipam_ip", "vpc"})  # they come and go with what they belong to
_TAIL: Final = 1200


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of a case: `failures` empty where everything is as it says. `seconds`: of this machine's time."""

    name: str
    path: str
    failures: tuple[Failure, ...]
    seconds: float = 0.0
    skipped: str | None = None
    source: tuple[str, ...] = ()
    rules: tuple[int, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.failures and self.skipped is None


def run_case(
    case: Case, *, invoke: Invoke, setting: Setting | None = None, keep: Path | None = None
) -> tuple[Failure, ...]:
    """Run a case in a folder of its own, or in `keep`, which stays; what is not as it says."""
    chosen = setting or Setting()
    chosen.require_tools()
    fitted = chosen.fitted(case, SystemClock())
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        return _Run(fitted, keep.resolve(), invoke=invoke, setting=chosen).all()
    with tempfile.TemporaryDirectory(prefix="reconciler-case-") as folder:
        return _Run(fitted, Path(folder), invoke=invoke, setting=chosen).all()


class _Run:
    def __init__(self, case: Case, folder: Path, *, invoke: Invoke, setting: Setting) -> None:
        self._case, self._folder, self._invoke, self._setting = case, folder, invoke, setting
        self._failures: list[Failure] = []
        self._deleted: set[str] = set()
        self._by_strangers: set[str] = set()
        self._where, self._step = "the past", 0

    def all(self) -> tuple[Failure, ...]:
        try:
            self._stage = Stage(self._case, self._folder, invoke=self._invoke, setting=self._setting)
            with contextlib.closing(self._stage):
                self._play()
        except ReconcilerError as error:
            self._fail(f"{error.code}: {error.message}", "", error.hint)
        except Exception as error:  # a bug of ours in one case must not end the others
            self._fail(f"unexpected {type(error).__name__}", "", "".join(traceback.format_exception(error))[-_TAIL:])
        return tuple(self._failures)

    def _play(self) -> None:
        for number, step in enumerate(self._case.steps, start=1):
            self._where, self._step = f"step {number}", number
            self._take(step)
        self._where = "the end"
        self._end(self._case.end)

    def _fail(self, what: str, expected: str, actual: str, *, step: Step | None = None) -> None:
        one = Failure(
            where=self._where,
            what=what,
            expected=tuple(expected.splitlines()),
            actual=tuple(actual.splitlines()),
            mark=step.mark if step is not None else NOWHERE,
        )
        self._failures.append(one)

    # -- steps

    def _take(self, step: Step) -> None:
        stage = self._stage
        match step.kind:
            case "advance":
                before = self._ids()
                stage.clock.advance(step.advance)
                self._deleted |= before.keys() - self._ids().keys()
            case "do":
                assert step.do is not None
                before = self._ids()
                stage.stranger(step.do)
                self._by_strangers |= before.keys() - self._ids().keys()
            case "faults":
                stage.faults(step.faults)
            case "lies":
                stage.lies(step.lies)
            case "stacks":
                for name, change in step.stacks.items():
                    stage.change(name, change)
            case "key":
                assert step.key is not None
                stage.rights(step.key)
            case _:
                self._command(step)

    def _command(self, step: Step) -> None:
        stage, output = self._stage, self._folder / f"step-{self._step}.json"
        before, mark = self._ids(), stage.simulator.traffic.next_number()
        began_ms = stage.clock.now_ms()
        hooks = [self._hook(one) for one in step.during]
        stage.simulator.before.extend(hooks)
        try:
            argv = [self._with_ids(word) for word in step.run]
            ran = stage.run(_with_output(argv, output), checkpoint=_killer(step))
        finally:
            for hook in hooks:
                stage.simulator.before.remove(hook)
        gone = before.keys() - self._ids().keys() - self._by_strangers
        self._deleted |= gone
        entries = [entry for entry in stage.simulator.traffic.entries() if entry.number > mark]
        document = json.loads(output.read_text(encoding="utf-8")) if output.is_file() else None
        for what, expected, actual in self._judge(step, ran, document, entries=entries, gone=gone, now_ms=began_ms):
            self._fail(what, expected, actual, step=step)

    def _with_ids(self, word: str) -> str:
        """A word of a command line with the id for each name in braces."""
        for name in named_in(word):
            word = word.replace(f"{{{name}}}", self._stage.id_of(name))
        return word

    def _judge(
        self, step: Step, ran: Ran, document: Any, *, entries: Sequence[Entry], gone: set[str], now_ms: int
    ) -> Iterator[tuple[str, str, str]]:
        labels = {**self._stage.declared, **self._stage.labels}
        wanted = KILLED_EXIT if step.kill is not None else step.exit
        if wanted is not None and ran.exit != wanted:
            yield "exit", str(wanted), f"{ran.exit}\n{(ran.stderr or ran.stdout)[-_TAIL:].strip()}"
        if step.findings is not None or step.includes or step.counts is not None:
            if document is None:
                yield "there is no report", "findings", ran.stderr[-_TAIL:].strip() or f"exit {ran.exit}"
            else:
                found = judge.seen(document, labels=labels, now_ms=_finished_ms(document, now_ms))
                if step.findings is not None:
                    yield from judge.compare(step.findings, found, exact=True, slack=self._setting.slack_seconds)
                if step.counts is not None:
                    yield from judge.kinds(step.counts, found)
                yield from judge.compare(step.includes, found, exact=False, slack=self._setting.slack_seconds)
        if step.actions is not None:
            taken = _actions(document or {}, labels)
            for what, expected, actual in judge.same_set("actions", _listed(step.actions), taken):
                yield what, expected, f"{actual}  # {taken[actual]}" if taken.get(actual) else actual
        if step.deletes is not None:
            yield from judge.same_set("deleted", step.deletes, (self._label(one) for one in gone))
        yield from judge.said("stdout", step.stdout, ran.stdout)
        yield from judge.said("stderr", step.stderr, ran.stderr)
        yield from judge.counted(step.calls, entries)
        first = next((word for word in step.run if not word.startswith("-")), "")
        writes = [entry for entry in entries if entry.method not in ("GET", "HEAD")]
        if first in _LOOKS_ONLY and writes:
            yield f"`{first}` wrote to the cloud", "no write", f"{writes[0].method} {writes[0].path}"
        unknown = [entry for entry in entries if not entry.route and entry.status == 501]
        if unknown:
            yield "a call that the simulator does not know", "", f"{unknown[0].method} {unknown[0].path}"

    def _hook(self, meanwhile: Meanwhile) -> Any:
        pattern, seen = path_pattern(meanwhile.path), 0

        def hook(request: Request) -> None:
            nonlocal seen
            if request.method != meanwhile.method or not pattern.search(request.path):
                return
            seen += 1
            if seen == meanwhile.nth:
                before = self._ids()
                self._stage.stranger(meanwhile.do)
                self._by_strangers |= before.keys() - self._ids().keys()

        return hook

    # -- the world

    def _ids(self) -> dict[str, str]:
        """Id -> kind, of everything that counts."""
        with self._stage.simulator.editing() as world:
            return {
                record.id: kind for kind, table in world.tables().items() if kind not in _UNCOUNTED for record in table
            }

    def _label(self, record_id: str) -> str:
        return self._stage.labels.get(record_id, f"(unnamed) {record_id}")

    # -- the end

    def _end(self, end: End) -> None:
        stage = self._stage
        self._ids()  # what is due by now is over
        deleted = (self._label(one) for one in self._deleted - self._by_strangers)
        differences = list(judge.same_set("deleted", end.deletes, deleted))
        there = self._ids()
        lost = [name for name in end.survive if stage.id_of(name) not in there]
        differences += [("it did not survive", name, "") for name in lost]
        differences += self._tags(end)
        for name, expected in end.state.items():
            differences += judge.same_set(f"state of {name}", expected, self._state_of(name))
        for name, expected in end.pending.items():
            differences += judge.same_set(f"pending in {name}", expected, self._pending_of(name))
        if end.rows is not None:
            differences += judge.rows(end.rows, stage.table.rows(stage.labels))
        differences += judge.counted(end.calls, stage.simulator.traffic.entries())
        if stage.simulator.crashes:
            differences.append(("the simulator has a bug", "", stage.simulator.crashes[0]))
        for what, expected_text, actual in differences:
            self._fail(what, expected_text, actual)

    def _tags(self, end: End) -> Iterator[tuple[str, str, str]]:
        with self._stage.simulator.editing() as world:
            tags = {name: getattr(world.find(self._stage.id_of(name)), "tags", None) for name in end.tags}
        for name, expected in end.tags.items():
            actual = tags[name]
            if actual is None or sorted(actual) != sorted(expected):
                yield f"tags of {name}", ", ".join(expected), "it is gone" if actual is None else ", ".join(actual)

    def _state_of(self, stack: str) -> list[str]:
        entries = self._stage.states.read(stack)["resources"]
        return [self._named(one) for one in entries if one.get("custom") and not one["type"].startswith("pulumi:")]

    def _pending_of(self, stack: str) -> list[str]:
        found = self._stage.states.read(stack).get("pending_operations", [])
        return [f"{one['type']} {self._named(one['resource'])}" for one in found]

    def _named(self, one: Mapping[str, Any]) -> str:
        """An entry of a state by its name in the case."""
        urn = one["urn"]
        by_id = self._stage.labels.get(str(one.get("id", "")).rpartition("/")[2])
        return by_id or self._stage.declared.get(urn) or str(urn.rpartition("::")[2])


def _killer(step: Step) -> Any:
    seen = 0

    def checkpoint(name: str) -> None:
        nonlocal seen
        if name == step.kill:
            seen += 1
            if seen == step.nth:
                raise Killed(name)

    return checkpoint


def _with_output(argv: Sequence[str], output: Path) -> list[str]:
    """The command line with a JSON report beside what the case asked for."""
    place = next((index for index, word in enumerate(argv) if not word.startswith("-")), None)
    if (
        place is None
        or argv[place] not in _WITH_OUTPUT
        or argv[place + 1 : place + 2] in (["show"], ["diff"], ["approve"])
    ):
        return list(argv)
    chosen = any(word in ("-o", "--output", "-j", "--json") or word.startswith("--output=") for word in argv)
    console = [] if chosen else ["-o", "console"]
    return [*argv[: place + 1], *console, "-o", f"json={output}", *argv[place + 1 :]]


def _finished_ms(document: Mapping[str, Any], otherwise: int) -> int:
    from reconciler.kernel.clock import parse_instant

    scopes = document.get("scopes") or [{}]
    text = scopes[0].get("finished_at")
    return parse_instant(text) if isinstance(text, str) else otherwise


def _listed(actions: Mapping[str, str]) -> list[str]:
    return [f"{action}: {status}" for action, status in actions.items()]


def _actions(document: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, str]:
    """`ACTION SUBJECT: STATUS` of a plan (planned) or of the runs of `apply`, with what happened."""
    if "runs" in document:
        outcomes = [one for run in document["runs"] for one in run["outcomes"]]
        return {f"{_action(one['action'], one, labels)}: {one['status']}": one["text"] for one in outcomes}
    planned = document.get("plan", document).get("actions", [])
    return {f"{_action(one['kind'], one, labels)}: planned": "" for one in planned}


def _action(kind: str, about: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    refs, urns = about["refs"], about["urns"]
    if refs:
        return f"{kind} {judge.subject(refs[0], labels)}"
    worker = about.get("worker")  # whose row it is
    if worker:
        return f"{kind} {labels.get(worker, worker)}"
    return f"{kind} {judge.subject({'urn': urns[0]}, labels) if urns else ''}"
