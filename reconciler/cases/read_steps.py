"""The steps of a case: commands, time, strangers, faults, and what must hold after each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from reconciler.cases import units
from reconciler.cases.model import Bound, Expected, Meanwhile, Operation, Said, Step
from reconciler.cases.problems import Mark, Problems, meant
from reconciler.cases.read_items import NOBODY, Names, is_pattern, tags_from
from reconciler.cases.read_stacks import rights, stack_change
from reconciler.cases.shapes import Fields, Marked
from reconciler.kernel.errors import ConfigError
from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.simulator.faults import path_pattern
from reconciler.simulator.strangers import OPERATIONS

_OF_RUN: Final = (
    "exit", "findings", "includes", "counts", "actions", "deletes",
    "calls", "stdout", "stderr", "kill", "nth", "during",
)  # fmt: skip
# The argument that an operation takes when only one is given.
_MAIN: Final = {"rename": "id", "set_tags": "id", "add_server": "name", "add_volume": "name"}
_BY_WORD: Final = ("server", "ip", "volume", "nic")
# Arguments that name a thing of the case, and what it must be.
_NAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "server": ("server",),
    "ip": ("ip",),
    "volume": ("volume",),
    "nic": ("nic",),
    "id": (),
}
# What somebody does to a state, and whether it is about a resource or a whole stack.
STATE_OPERATIONS: Final = ("forget", "take", "break_stack")
_MADE: Final = {"add_server": "server", "add_ip": "ip", "add_volume": "volume"}
_IN_BRACES: Final = re.compile(r"\{([^{}]+)\}")
_BOUND: Final = re.compile(r"(<=|>=|==)?\s*(\d+)")
COUNTERS: Final = ("total", "mutating", "lists", "posts", "deletes", "patches")
_FINDING_HINT: Final = "Like `detached w1-ip: act destroy`; `simulate run` shows the findings that there are."


@dataclass(slots=True)
class StepReader:
    names: Names
    stacks: tuple[str, ...]
    fleets: Collection[str]
    workers: Collection[str]
    problems: Problems

    def all(self, found: Sequence[Fields], *, commands: Collection[str]) -> tuple[Step, ...]:
        return tuple(self.read(one, commands=commands) for one in found)

    def read(self, given: Fields, *, commands: Collection[str]) -> Step:
        kind = next(key for key in ("run", "advance", "do", "faults", "lies", "stacks", "key") if key in given)
        for key in given.values:
            if kind != "run" and key in _OF_RUN:
                hint = "It belongs to a step with `run`; what holds at the end belongs to `expect`."
                self.problems.add("RC0801", given.at(key), f"`{key}` in a step without `run`", hint=hint)
        expected = self._expected(given) if kind == "run" else {}
        return Step(
            kind=kind,
            mark=given.mark,
            run=self._command(given, commands) if kind == "run" else (),
            advance=given.get("advance", 0),
            do=self.operation(given.get("do")) if kind == "do" else None,
            faults=faults_of(given.get("faults"), self.problems),
            lies=lies_of(given.get("lies"), self.names, self.problems),
            stacks=self._stacks(given) if kind == "stacks" else {},
            key=rights(given.get("key"), self.problems),
            **expected,
        )

    def _expected(self, given: Fields) -> dict[str, Any]:
        findings, actions = given.get("findings"), given.get("actions")
        return {
            "exit": given.get("exit"),
            "findings": () if findings == "none" else (None if findings is None else self._findings(findings)),
            "includes": self._findings(given.get("includes")) if "includes" in given else (),
            "counts": self._counts(given),
            "actions": None if actions is None else ({} if actions == "none" else dict(actions.values)),
            "deletes": names_of(given.get("deletes"), self.names) if "deletes" in given else None,
            "calls": bounds(given.get("calls"), self.problems),
            "stdout": _said(given.get("stdout")),
            "stderr": _said(given.get("stderr")),
            "kill": given.get("kill"),
            "nth": given.get("nth", 1),
            "during": tuple(self._meanwhile(one) for one in given.get("during", ())),
        }

    def _command(self, given: Fields, commands: Collection[str]) -> tuple[str, ...]:
        try:
            words = tuple(shlex.split(given.get("run")))
        except ValueError as error:
            self.problems.add("RC0812", given.at("run"), f"no command line: {error}", hint="Close the quote.")
            return ()
        first = next((word for word in words if not word.startswith("-")), "")
        if commands and first not in commands:
            hint = meant(first, sorted(commands))
            self.problems.add("RC0812", given.at("run"), f"`{first}` is no command that a case runs", hint=hint)
        if first != "drift":
            for key in ("findings", "includes", "counts"):
                if key in given:
                    hint = "Run `drift` in a step of its own, or look at the `actions` of `plan` and `apply`."
                    self.problems.add("RC0812", given.at(key), f"`{first}` has no {key}", hint=hint)
        if first not in ("plan", "apply") and "actions" in given:
            hint = "Only `plan` and `apply` have them."
            self.problems.add("RC0812", given.at("actions"), f"`{first}` has no actions", hint=hint)
        for name in [name for word in words for name in named_in(word)]:
            self.names.require(Marked(name, given.at("run")))
        return words

    def _counts(self, given: Fields) -> Mapping[str, int] | None:
        counts = given.get("counts")
        if not isinstance(counts, Fields):
            return None if counts is None else {}
        kinds = [one.value for one in FindingKind]
        for kind in counts.values:
            if kind not in kinds:
                hint = meant(kind, kinds)
                self.problems.add("RC0802", counts.at(kind), f"`{kind}` is no kind of finding", hint=hint)
        return dict(counts.values)

    def _stacks(self, given: Fields) -> dict[str, Any]:
        changes: Fields = given.get("stacks")
        for name in changes.values:
            if name not in self.stacks:
                hint = meant(name, self.stacks)
                self.problems.add("RC0804", changes.at(name), f"there is no stack `{name}`", hint=hint)
        return {name: stack_change(one, names=self.names) for name, one in changes.values.items()}

    # -- strangers

    def operation(self, given: Fields) -> Operation | None:
        if len(given.values) != 1:
            self.problems.add("RC0802", given.mark, "one operation a step", hint="Like `do: {kill_server: w1}`.")
            return None
        ((op, found),) = given.values.items()
        if op in STATE_OPERATIONS:
            return self._on_state(op, found)
        if op not in OPERATIONS:
            hint = meant(op, (*OPERATIONS, *STATE_OPERATIONS))
            self.problems.add("RC0801", given.at(op), f"unknown operation `{op}`", hint=hint)
            return None
        if isinstance(found.value, str):
            main = _main(op)
            args = {main: found.value} if main else {}
            label = None if main else found.value
        else:
            args, label = dict(found.value), found.value.get("as")
            args.pop("as", None)
        return self._operation(op, args, label, mark=given.at(op), place=found)

    def _on_state(self, op: str, found: Marked) -> Operation | None:
        """`forget` and `take` a resource of this case, `break_stack` a stack."""
        known: Collection[str] = self.stacks if op == "break_stack" else self.names.made
        if not isinstance(found.value, str) or found.value not in known:
            what = "stack" if op == "break_stack" else "resource that there ever was"
            hint = meant(str(found.value), sorted(known))
            self.problems.add("RC0804", found.mark, f"`{found.value}` is no {what}", hint=hint)
            return None
        return Operation(op=op, args={"name": found.value})

    def _operation(self, op: str, args: dict[str, Any], label: str | None, *, mark: Mark, place: Marked) -> Operation:
        for key, kinds in _NAMED.items():
            if key in args and op not in _MADE:
                self.names.require(Marked(str(args[key]), place.nearest([key])), kinds)
        if "tags" in args:
            tags = args["tags"] if isinstance(args["tags"], list) else [args["tags"]]
            where = place.nearest(["tags"])
            args["tags"] = list(tags_from(list(map(str, tags)), owner=NOBODY, mark=where, problems=self.problems))
        if isinstance(args.get("size"), str):
            try:
                args["size"] = units.size(args["size"])
            except ValueError as error:
                self.problems.add("RC0803", place.nearest(["size"]), str(error), hint="Like `20 GB`.")
        if op in _MADE:
            label = label or str(args.get("name") or "") or None
            if label is None:
                self.problems.add("RC0808", mark, f"`{op}` names nothing", hint=f"Like `{op}: {{as: leak}}`.")
            else:
                self.names.add(label, _MADE[op], mark)
                for part, kind in (("ip", "ip"), ("root", "volume")) if op == "add_server" else ():
                    self.names.add(f"{label}-{part}", kind, mark)
        elif label is not None:
            self.problems.add("RC0801", mark, f"`{op}` makes nothing that `as` could name", hint="Leave it out.")
        return Operation(op=op, args=args, label=label)

    def _meanwhile(self, given: Fields) -> Meanwhile:
        method, _, path = str(given.get("request")).partition(" ")
        if not path:
            hint = "Like `GET /instance/v1/zones/*/servers`."
            self.problems.add("RC0802", given.at("request"), "a request is a method and a path", hint=hint)
        _check_path(path, given.at("request"), self.problems)
        do = self.operation(given.get("do")) or Operation(op="", args={})
        return Meanwhile(method=method, path=path, nth=given.get("nth", 1), do=do)

    # -- findings

    def _findings(self, found: Fields) -> tuple[Expected, ...]:
        read = []
        for key in found.values:
            kind, _, pattern = key.partition(" ")
            mark = found.at(key)
            labels = (
                [key]
                if not is_pattern(pattern)
                else [f"{kind} {one}" for one in self.names.matching(Marked(pattern, mark))]
            )
            read += [one for label in labels if (one := self._finding(label, found.get(key), mark)) is not None]
        return tuple(read)

    def _finding(self, key: str, value: Any, mark: Mark) -> Expected | None:
        kind, _, subject = key.partition(" ")
        kinds = [one.value for one in FindingKind]
        if kind not in kinds or not subject:
            what = f"`{kind}` is no kind of finding" if kind not in kinds else f"`{key}` names no subject"
            self.problems.add("RC0802", mark, what, hint=meant(kind, kinds) if kind not in kinds else _FINDING_HINT)
            return None
        self._subject(subject, mark)
        if isinstance(value, str):
            verdict, _, action = value.partition(" ")
            if verdict not in set(Verdict) or (action and action not in set(ActionKind)):
                self.problems.add("RC0802", mark, f"`{value}` is no verdict and action", hint=_FINDING_HINT)
                return None
            return Expected(label=key, verdict=verdict, action=action or None)
        others = value.get("with")
        return Expected(
            label=key,
            verdict=value.get("verdict"),
            action=value.get("action"),
            reason=value.get("reason"),
            rule=value.get("rule"),
            wait=value.get("wait"),
            eur_month=value.get("eur"),
            changed=value.get("changed"),
            others=None if others is None else tuple(name for one in others for name in self.names.matching(one)),
        )

    def _subject(self, subject: str, mark: Mark) -> None:
        """A name of this case, a worker, FLEET/SLOT, a stack, a fleet, or `KIND PLACE` of a list that was not read."""
        fleet, slash, slot = subject.partition("/")
        fits = subject in {*self.names.kinds, *self.stacks, *self.workers, *self.fleets} or " " in subject
        if fits or (slash and fleet in self.fleets and slot.isdigit()):
            return
        known = [*self.names.kinds, *self.stacks, *self.workers, *(f"{one}/0" for one in self.fleets)]
        self.problems.add("RC0804", mark, f"nothing here is named `{subject}`", hint=meant(subject, known))


def named_in(word: str) -> list[str]:
    """The names in braces of one word of a command line: each stands for an id."""
    return _IN_BRACES.findall(word)


def _main(op: str) -> str | None:
    if op in _MAIN:
        return _MAIN[op]
    if op.startswith(("add_", "set_")):
        return None
    return next((word for word in _BY_WORD if op.endswith(f"_{word}")), "server")


def _said(given: Any) -> Said:
    if given is None:
        return Said()
    if isinstance(given, Fields):
        return Said(has=given.get("has", ()), lacks=given.get("lacks", ()))
    return Said(has=given if isinstance(given, tuple) else (given,))


def names_of(given: Any, names: Names) -> tuple[str, ...]:
    """`none`, one name, or several."""
    if given is None or (isinstance(given, Marked) and given.value == "none"):
        return ()
    listed = given if isinstance(given, tuple) else (given,)
    return tuple(dict.fromkeys(name for one in listed for name in names.matching(one)))


def bounds(given: Fields | None, problems: Problems) -> tuple[Bound, ...]:
    """Counters: `mutating: 0`, `lists: <= 12`, `"DELETE **/ips/*": 1`."""
    found = []
    for counter, text in given.values.items() if given is not None else ():
        match = _BOUND.fullmatch(text)
        assert given is not None
        if match is None:
            problems.add("RC0802", given.at(counter), f"{text!r} is no bound", hint="Like `3`, `<= 12` or `>= 1`.")
        elif counter not in COUNTERS and " " not in counter:
            hint = meant(counter, COUNTERS, otherwise=f"One of {', '.join(COUNTERS)}, or `METHOD PATH` with a glob.")
            problems.add("RC0801", given.at(counter), f"unknown counter `{counter}`", hint=hint)
        else:
            _check_path(counter.partition(" ")[2], given.at(counter), problems)
            found.append(Bound(counter=counter, relation=match[1] or "==", number=int(match[2])))
    return tuple(found)


def _check_path(path: str, mark: Mark, problems: Problems) -> None:
    """A glob is never wrong; an expression may be."""
    try:
        path_pattern(path)
    except re.error as error:
        problems.add("RC0802", mark, f"no regular expression: {error}", hint="Like `/instance/v1/zones/*/servers`.")


def faults_of(given: Any, problems: Problems) -> tuple[Any, ...]:
    """Rules that the simulator takes. `none` and nothing: none."""
    from reconciler.simulator.faults import rule_from_json

    if not isinstance(given, Marked):
        return ()
    rules = []
    for index, rule in enumerate(given.value):
        try:
            read = rule_from_json(rule)
            if read.action in ("hold", "hold_answer"):
                hint = "Take `delay` with `delay_ms`; for what happens in between there is `during`."
                problems.add("RC0811", given.nearest([index]), f"`{read.action}`: nobody would let it go", hint=hint)
            rules.append(read)
        except ConfigError as error:
            problems.add("RC0811", given.nearest([index]), error.message, hint=error.hint)
    return tuple(rules)


def lies_of(given: Any, names: Names, problems: Problems) -> tuple[Any, ...]:
    """Lies that the simulator tells; names of the case in them stand for ids."""
    if not isinstance(given, Marked):
        return ()
    from reconciler.simulator.lies import lie_from_json

    lies = []
    for index, lie in enumerate(given.value):
        try:
            lies.append(lie_from_json(_with_ids(lie, names)))
        except ConfigError as error:
            problems.add("RC0811", given.nearest([index]), error.message, hint=error.hint)
    return tuple(lies)


def _with_ids(value: Any, names: Names) -> Any:
    from reconciler.cases.names import id_of

    if isinstance(value, dict):
        return {key: _with_ids(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_ids(item, names) for item in value]
    return id_of(value) if isinstance(value, str) and value in names.kinds else value
