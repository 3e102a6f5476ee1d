"""A Pulumi CLI that is a function: the same arguments, the same events, the same checkpoint files, no process.

It answers what `PulumiEngine` asks of the real one: `stack export`, `stack ls`, `refresh` (preview or not, targeted,
clearing pending creates) and `state delete`. What was tried with the real engine holds here too: a refresh drops every
pending operation but the creates; `stack export` checks nothing.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from reconciler.cases import provider
from reconciler.cases.doors import Killed
from reconciler.cases.statefile import Document, States
from reconciler.engine.cli import PulumiCli
from reconciler.engine.environment import Scrubber
from reconciler.engine.gate import Gate
from reconciler.engine.gate_rules import ReadRules
from reconciler.engine.process import Finished
from reconciler.engine.stacks import not_found
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import InternalError

if TYPE_CHECKING:
    from types import TracebackType

    import httpx2

_FOR_EVER: Final = 86_400.0
NOBODY: Final = (1 << 22) + 1  # a pid above the largest that there is
_CREATING: Final = "creating"


class ModelGate(Gate):
    """The product's gate without its server: the child is in this process. Every answer is judged as ever."""

    def __init__(
        self, upstream: str, rules: ReadRules, *, gates: dict[str, Gate], transport: httpx2.BaseTransport | None
    ) -> None:
        super().__init__(upstream, rules)
        self._gates, self._transport = gates, transport
        self._name = f"http://gate-{len(gates)}.invalid"

    def __enter__(self) -> Self:
        import httpx2

        self._client = httpx2.Client(transport=self._transport, trust_env=False)
        self._gates[self._name] = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._client.close()

    @property
    def url(self) -> str:
        return self._name


class ModelPulumi(PulumiCli):
    """`gates`: by URL, those that children may read through. `hanging`: stacks that a command does not end with."""

    def __init__(
        self, *, states: States, gates: Mapping[str, Gate], hanging: Collection[str], clock: Clock, **kwargs: Any
    ) -> None:
        super().__init__(clock=clock, **kwargs)
        self._states, self._gates, self._hanging, self._clock = states, gates, hanging, clock
        self.scrubber = Scrubber({})

    def required(self) -> str:
        return "pulumi"

    def output(self, *args: str) -> bytearray:
        match args:
            case ("stack", "export", "--stack", name):
                return self._export(_short(name))
            case ("stack", "ls", *_):
                rows = [{"name": f"organization/{name}"} for name in self._states.names()]
                return bytearray(json.dumps(rows).encode())
            case _:
                raise InternalError(f"the model of the CLI does not know `pulumi {' '.join(args)}`", code="RC0820")

    def _export(self, name: str) -> bytearray:
        path = self._states.path(name)
        if not path.is_file():
            raise not_found(name)
        text = path.read_text(encoding="utf-8")
        try:
            document = json.loads(text)
        except ValueError:
            return bytearray(text.encode())
        deployment = document["checkpoint"]["latest"]
        return bytearray(json.dumps({"version": document["version"], "deployment": deployment}).encode())

    def stream(
        self,
        args: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        deadline_seconds: float,
        on_line: Callable[[bytes], None],
        on_start: Callable[[int, int, tuple[str, ...]], None] | None = None,
    ) -> Finished:
        del cwd
        argv = ("pulumi", *args, "--non-interactive", "--color", "never")
        if on_start is not None:
            on_start(NOBODY, self._clock.now_ms(), argv)
        name = _short(_after(args, "--stack")[0])
        if name in self._hanging:
            return self._ended(deadline_seconds)
        match args[0], args[1]:
            case "refresh", _:
                for event in self._refresh(name, args, env):
                    on_line(json.dumps(event).encode())
            case "state", "delete":
                self._delete(name, args)
            case _:
                raise InternalError(f"the model of the CLI does not know `pulumi {args[0]}`", code="RC0820")
        return Finished(
            pid=NOBODY,
            status=0,
            stdout=bytearray(),
            stderr="",
            seconds=0.1,
            timed_out=False,
            killed=False,
            truncated=False,
        )

    def _ended(self, deadline_seconds: float) -> Finished:
        """A command that hangs, ended at its deadline. Without one the whole process hangs, and the case ends it."""
        if deadline_seconds > _FOR_EVER:
            raise Killed("a Pulumi command without a deadline")
        self._clock.sleep(deadline_seconds)
        return Finished(
            pid=NOBODY,
            status=-signal.SIGINT,
            stdout=bytearray(),
            stderr="",
            seconds=deadline_seconds,
            timed_out=True,
            killed=False,
            truncated=False,
        )

    # -- state delete

    def _delete(self, name: str, args: Sequence[str]) -> None:
        gone = {arg for arg in args[2:] if arg.startswith("urn:")}

        def change(document: Document) -> None:
            document["resources"] = [one for one in document["resources"] if one["urn"] not in gone]

        self._states.change(name, change, now_ms=self._clock.now_ms())

    # -- refresh

    def _refresh(self, name: str, args: Sequence[str], env: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        document = self._states.read(name)
        targets = set(_after(args, "--target")) or None
        get = self._reader(env)
        kept: list[Document] = []
        number = 0
        for one in document["resources"]:
            if not _refreshable(one) or (targets is not None and one["urn"] not in targets):
                kept.append(one)
                continue
            reading = provider.read(one["type"], one["id"], get)
            number += 1
            fresh = _taken_in(one, reading)
            yield _event(number, one, reading, fresh)
            if not reading.gone:
                kept.append(fresh)
        if "--preview-only" not in args:
            creates = "--clear-pending-creates" not in args
            pending = [one for one in document.get("pending_operations", []) if creates and one["type"] == _CREATING]
            written = {**document, "resources": kept, "pending_operations": pending}
            self._states.write(name, written, now_ms=self._clock.now_ms())
        yield {"sequence": number + 1, "summaryEvent": {"result": "succeeded"}}

    def _reader(self, env: Mapping[str, str]) -> provider.Get:
        gate = self._gates[env["SCW_API_URL"]]
        token = [("X-Auth-Token", env["SCW_SECRET_KEY"])]

        def get(path: str) -> tuple[int, Any]:
            status, _, body = gate.get(path, token)
            return status, decoded(body)

        return get


def decoded(body: bytes) -> Any:
    """A JSON body; None for what is none."""
    try:
        return json.loads(body)
    except ValueError:
        return None


def _refreshable(one: Document) -> bool:
    return bool(one.get("custom") and one.get("id") and one["type"] in provider.TYPES and not one.get("delete"))


def _taken_in(one: Document, reading: provider.Reading) -> Document:
    """The entry with what was read of it; an image that was declared by its label stays a label."""
    if reading.outputs is None:
        return one
    before, outputs = one.get("outputs", {}), dict(reading.outputs)
    if "image" in before and "/" not in str(before["image"]):
        outputs["image"] = before["image"]
    inputs = {key: outputs.get(key, value) if key != "image" else value for key, value in one.get("inputs", {}).items()}
    return {**one, "outputs": outputs, "inputs": inputs}


def _event(number: int, one: Document, reading: provider.Reading, fresh: Document) -> Mapping[str, Any]:
    metadata = {"urn": one["urn"], "type": one["type"]}
    if reading.outputs is None and not reading.gone:
        said = {"urn": one["urn"], "severity": "error", "message": f"the read failed with status {reading.status}"}
        return {"sequence": number, "diagnosticEvent": said}
    same = fresh.get("outputs") == one.get("outputs")
    return {
        "sequence": number,
        "resOutputsEvent": {"metadata": {**metadata, "op": "delete" if reading.gone else "same" if same else "update"}},
    }


def _after(args: Sequence[str], flag: str) -> list[str]:
    return [args[place + 1] for place, arg in enumerate(args) if arg == flag]


def _short(name: str) -> str:
    return name.removeprefix("organization/")
