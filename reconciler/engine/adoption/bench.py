"""One stack in one backend with its program: the commands that an adoption is made of.

The same commands run in the rehearsal and in earnest; only the backend differs. Each is in a session of its own with a
deadline, through a gate where it talks to the cloud, and carries a mark by which a later run can find it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reconciler.engine.adoption import digest
from reconciler.engine.adoption.book import Book
from reconciler.engine.adoption.gate import AdoptionGate
from reconciler.engine.children import message
from reconciler.engine.cli import PulumiCli
from reconciler.engine.events import Events
from reconciler.engine.failures import failure
from reconciler.engine.gate import Gate
from reconciler.engine.gate_rules import ReadRules
from reconciler.engine.process import Finished
from reconciler.engine.stacks import StackName
from reconciler.kernel.errors import AuthenticationError, EngineError
from reconciler.ports.engine import ChildProcess

PROGRAM_FAILED: Final = "RC0541"
_NOTHING: Final[Mapping[str, str]] = {}
_OnStart = Callable[[int, int, tuple[str, ...]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What became of one `up`. `why`: the words of the engine where it failed; None when it did not."""

    why: str | None
    operations: Mapping[str, str]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """`directory`: the project's. `on_child`: told of each child that may hold the stack's lock. `env`: more of the
    environment. `url`: the API behind the gates; empty until it is known, and then only a plan can be made."""

    cli: PulumiCli
    name: StackName
    directory: Path
    on_child: Callable[[ChildProcess], None]
    url: str = ""
    verify: bool = True
    env: Mapping[str, str] = field(default_factory=dict)

    def plan(self) -> digest.Plan:
        """`pulumi preview`, through a gate for reads once the API is known. Raises EngineError RC0541 with the words of
        the program when it fails, RC0504."""
        lines: list[bytes] = []
        # `--show-sames`: that nothing is wanted for a target has to be said, not left unsaid.
        args = ["preview", "--json", "--show-sames", "--refresh=false", *self._stack()]
        gate = Gate(self.url, ReadRules(observe=True), verify=self.verify) if self.url else None
        with gate or nullcontext():
            # The digest and not the stream of events: only there are dependencies.
            env = {"PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "false"} | ({"SCW_API_URL": gate.url} if gate else {})
            finished = self._run(args, env=env, on_line=lines.append, deadline=self.cli.limits.preview_seconds)
        self._require_credential(gate)
        if finished.timed_out or (finished.status != 0 and not lines):
            raise failure(finished, what="`pulumi preview`", scrubber=self.cli.scrubber)
        plan, errors = digest.decode(b"\n".join(lines))
        if finished.status != 0 or errors:
            raise self._program_failed(finished, errors)
        return plan

    def _program_failed(self, finished: Finished, errors: Sequence[str]) -> Exception:
        told = failure(finished, what="`pulumi preview`", scrubber=self.cli.scrubber, detail="\n".join(errors))
        if told.code != EngineError.default_code:
            return told
        said = self.cli.scrubber.message(" | ".join(errors) or finished.stderr)
        return EngineError(
            f"the program of {self.name.short} failed: {said}",
            code=PROGRAM_FAILED,
            hint="Run `pulumi preview` in its directory: it has to work before anything of it can be adopted.",
        )

    def up(self, targets: Collection[str], book: Book, *, config: Path | None = None) -> Ran:
        """`pulumi up` of these URNs and no others, before the gate that answers for them. What it was answered and
        refused is in the book. Raises AuthenticationError RC0513, EngineError RC0502, RC0504, RefusedError RC0611."""
        events = Events(self.cli.scrubber)
        chosen = [argument for urn in sorted(targets) for argument in ("--target", urn)]
        file = [] if config is None else ["--config-file", str(config)]
        args = ["up", "--yes", "--skip-preview", "--refresh=false", "--json", *file, *chosen, *self._stack()]
        with AdoptionGate(self.url, book, verify=self.verify) as gate:
            finished = self._run(args, env={"SCW_API_URL": gate.url}, on_line=events.feed, journal=True)
            self._require_credential(gate)
            gate.settle()
        if finished.timed_out:
            raise failure(finished, what="`pulumi up`", scrubber=self.cli.scrubber)
        if finished.status == 0 and not events.streamed:
            raise _no_events("`pulumi up`")
        why = None if finished.status == 0 else self._why(finished, events, refused=bool(book.differences))
        return Ran(why=why, operations=dict(events.operations), seconds=finished.seconds)

    def _why(self, finished: Finished, events: Events, *, refused: bool) -> str:
        """The engine's words for a failed `up`. Raises what is no failure of a resource: a lock, a lost passphrase."""
        said = [*events.failed().values(), *events.errors]
        told = failure(finished, what="`pulumi up`", scrubber=self.cli.scrubber, detail="\n".join(said))
        if not refused and told.code != EngineError.default_code:
            raise told
        return self.cli.scrubber.message(" | ".join(said) or finished.stderr)

    def preview_refresh(self, urns: Collection[str]) -> Events:
        """What a refresh would say of these URNs, read through a gate that lets nothing else pass."""
        events = Events(self.cli.scrubber)
        args = ["refresh", "--preview-only", *self._refresh(urns)]
        with Gate(self.url, ReadRules(observe=True), verify=self.verify) as gate:
            env = {"SCW_API_URL": gate.url, "PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true"}
            deadline = self.cli.limits.preview_seconds
            finished = self._run(args, env=env, on_line=events.feed, deadline=deadline)
        self._require_credential(gate)
        self._require_events(finished, events, what="the preview of a refresh")
        return events

    def drop_pending(self, ids: Mapping[str, str]) -> float:
        """Take the `creating` entries of these URNs, and of no others, out of the pending operations.

        The CLI has no command for that. But it turns one into `importing` when it is told its id, and the next write
        drops what is pending and not `creating` (tried); a refresh of the same resources is that write. Returns for how
        long the child ran.
        """
        pairs = [text for urn, identity in sorted(ids.items()) for text in (urn, identity)]
        told = [argument for text in pairs for argument in ("--import-pending-creates", text)]
        events = Events(self.cli.scrubber)
        args = ["refresh", "--yes", "--skip-preview", *told, *self._refresh(ids)]
        with Gate(self.url, ReadRules(), verify=self.verify) as gate:
            finished = self._run(args, env={"SCW_API_URL": gate.url}, on_line=events.feed, journal=True)
        self._require_credential(gate)
        self._require_events(finished, events, what="clearing a pending operation")
        return finished.seconds

    def remove(self, urns: Collection[str]) -> None:
        """`pulumi state delete`: out of the state and never out of the cloud. Pending operations stay (tried)."""
        args = ["state", "delete", *sorted(urns), "--yes", "--force", *self._stack()]
        finished = self._run(args, on_line=lambda _: None, journal=True, marked=False)
        if finished.timed_out or finished.status != 0:
            raise failure(finished, what="`pulumi state delete`", scrubber=self.cli.scrubber)

    def export(self) -> bytearray:
        return self.cli.output("stack", "export", *self._stack())

    def _stack(self) -> list[str]:
        return ["--stack", str(self.name)]

    def _refresh(self, urns: Collection[str]) -> list[str]:
        chosen = [argument for urn in sorted(urns) for argument in ("--target", urn)]
        return ["--skip-pending-creates", "--run-program=false", "--json", *chosen, *self._stack()]

    def _run(
        self,
        args: Sequence[str],
        *,
        on_line: Callable[[bytes], None],
        env: Mapping[str, str] = _NOTHING,
        deadline: float | None = None,
        journal: bool = False,
        marked: bool = True,
    ) -> Finished:
        mark = self.cli.new_mark()

        def started(pid: int, started_ms: int, argv: tuple[str, ...]) -> None:
            self.on_child(self.cli.child(pid=pid, started_ms=started_ms, name=self.name, argv=argv))

        return self.cli.stream(
            [*args, *(message(mark) if journal and marked else ())],
            cwd=self.directory,
            env=self.cli.environment(mark=mark, **self.env, **env),
            deadline_seconds=self.cli.limits.refresh_seconds if deadline is None else deadline,
            on_line=on_line,
            on_start=started if journal else None,
        )

    def _require_credential(self, gate: Gate | None) -> None:
        if gate is not None and gate.tally.status(401):
            raise AuthenticationError("Scaleway's API refused the credential of the program (401)", code="RC0513")

    def _require_events(self, finished: Finished, events: Events, *, what: str) -> None:
        if finished.timed_out or finished.status != 0:
            said = "\n".join([*finished.stderr.splitlines(), *events.errors, *events.failed().values()])
            raise failure(finished, what=what, scrubber=self.cli.scrubber, detail=said)
        if not events.streamed:
            raise _no_events(what)


def _no_events(what: str) -> EngineError:
    return EngineError(
        f"{what} printed no event stream",
        code="RC0504",
        hint="The CLI is too old: it must print events with `--json`.",
    )
