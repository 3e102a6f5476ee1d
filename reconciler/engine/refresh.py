"""Targeted refresh: preview through the gate, judge the preview, then refresh through a stricter gate.

Nothing is taken out of state that is not proved absent, by three independent means:

1. the preview: a `delete` for a URN without proof, or any operation on a URN that was not asked for, refuses the run;
2. the gate of the refresh itself: it says "gone" for proved ids only, so the world may move in between;
3. the result: a `delete` that was not proved is an error, loudly, should the first two ever fail.

A refresh drops every pending operation but `creating` (tried): evidence of an interrupted run. So it is refused while
there are others. It takes the stack's lock for as long as the child runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reconciler.engine.checkpoint import STACK_TYPE, Checkpoint
from reconciler.engine.children import message
from reconciler.engine.cli import PulumiCli
from reconciler.engine.events import Events
from reconciler.engine.failures import failure
from reconciler.engine.gate import Gate
from reconciler.engine.gate_rules import ReadRules, proved_ids
from reconciler.engine.process import Finished
from reconciler.engine.project import project_directory
from reconciler.engine.stacks import StackName
from reconciler.engine.upstream import upstream
from reconciler.kernel.errors import AuthenticationError, EngineError, RefusedError
from reconciler.kernel.text import visible
from reconciler.ports.engine import ChildProcess

# The argument list of a process is bounded (2 MB on Linux, environment included); URNs are 100 to 300 bytes.
_BATCH: Final = 1_000
_HARMLESS: Final = frozenset({"same", "update", "delete"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One stack to refresh, as it was read a moment ago."""

    name: StackName
    checkpoint: Checkpoint

    def ids(self, urns: Collection[str]) -> list[str]:
        wanted = frozenset(urns)
        return [
            item.id for item in self.checkpoint.resources if item.urn in wanted and item.id and not item.pending_delete
        ]

    def refreshable(self) -> set[str]:
        """The URNs that a refresh reads: custom resources that are no providers and are not waiting for removal."""
        return {
            item.urn
            for item in self.checkpoint.resources
            if item.custom and item.id and not item.pending_delete and not item.type.startswith("pulumi:")
        }


@dataclass(slots=True)
class Reading:
    """What one or several batches came to."""

    operations: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


class Refresher:
    """Runs `pulumi refresh`. `api_url` is the API where neither the environment nor the stack's provider names one.
    `gate`: makes what the child reads through."""

    def __init__(
        self,
        cli: PulumiCli,
        *,
        work_dirs: Mapping[str, Path],
        api_url: str,
        gate: Callable[[str, ReadRules, bool], Gate] = lambda url, rules, verify: Gate(url, rules, verify=verify),
    ) -> None:
        self._cli, self._work_dirs, self._api_url, self._gate = cli, work_dirs, api_url, gate

    def preview(self, target: Target, urns: Collection[str], *, rules: ReadRules) -> Reading:
        """`refresh --preview-only`: no lock, no write. All refreshable URNs at once when `urns` is all of them.

        Raises EngineError, RefusedError RC0614, AuthenticationError RC0513.
        """
        reading = Reading()
        for batch in self._batches(target, urns):
            finished, events = self._run(
                target,
                ["refresh", "--preview-only", *_targets(batch)],
                rules=rules,
                covered=batch or urns,
                deadline=self._cli.limits.preview_seconds,
            )
            self._take(reading, finished, events, covered=batch or urns, what="the preview of the refresh")
        return reading

    def refresh(
        self, target: Target, urns: Sequence[str], *, proved: Collection[str], on_child: Callable[[ChildProcess], None]
    ) -> Reading:
        """The refresh itself, of URNs that a preview has let pass."""
        reading = Reading()
        rules = rules_for(target, urns, proved=proved)
        for start in range(0, len(urns), _BATCH):
            batch = urns[start : start + _BATCH]
            finished, events = self._run(
                target,
                # `--skip-pending-creates`: without it an interactive CLI would ask; they stay in state either way.
                ["refresh", "--yes", "--skip-preview", "--skip-pending-creates", *_targets(batch)],
                rules=rules,
                covered=batch,
                deadline=self._cli.limits.refresh_seconds,
                on_child=on_child,
            )
            reading.seconds += finished.seconds
            lost = sorted(u for u, op in events.operations.items() if op == "delete" and u not in frozenset(proved))
            if lost:
                raise EngineError(
                    f"the refresh took {visible(', '.join(lost))} out of state without a proof",
                    code="RC0514",
                    hint="This must not happen: report it. The state before it is in the backend's history.",
                )
            self._take(reading, finished, events, covered=batch, what="the refresh")
        return reading

    def forget(self, target: Target, *, creates: bool, on_child: Callable[[ChildProcess], None]) -> float:
        """Let the engine write the state without its pending operations: without all of them, or with `creates`
        False without those that are no creates. The one target is the stack itself, so nothing is read of the cloud
        (tried). Returns the seconds that the child ran.

        Raises EngineError, RefusedError RC0611 (locked), RC0672 (no stack resource).
        """
        stack = next((item.urn for item in target.checkpoint.resources if item.type == STACK_TYPE), None)
        if stack is None:
            raise RefusedError(
                f"{target.name.short} holds no stack resource, so no refresh can be narrowed to it",
                code="RC0672",
                hint="When nothing of the interrupted run is in the cloud: `pulumi refresh --clear-pending-creates`.",
            )
        finished, events = self._run(
            target,
            [
                "refresh",
                "--yes",
                "--skip-preview",
                "--clear-pending-creates" if creates else "--skip-pending-creates",
                *_targets([stack]),
            ],
            rules=rules_for(target, (), proved=()),
            covered=(),
            deadline=self._cli.limits.refresh_seconds,
            on_child=on_child,
        )
        if finished.timed_out or finished.status != 0:
            what = "clearing the pending operations"
            raise failure(finished, what=what, scrubber=self._cli.scrubber, detail=_detail(finished, events))
        return finished.seconds

    def _batches(self, target: Target, urns: Collection[str]) -> Iterator[list[str]]:
        """Lists of URNs for `--target`; one empty list for "everything"."""
        if frozenset(urns) == target.refreshable() and len(urns) > _BATCH:
            yield []
            return
        ordered = sorted(urns)
        for start in range(0, len(ordered), _BATCH):
            yield ordered[start : start + _BATCH]

    def _run(
        self,
        target: Target,
        args: list[str],
        *,
        rules: ReadRules,
        covered: Collection[str],
        deadline: float,
        on_child: Callable[[ChildProcess], None] | None = None,
    ) -> tuple[Finished, Events]:
        cli, name = self._cli, target.name
        url = upstream(target.checkpoint, covered, env=cli.env, default=self._api_url)
        mark = cli.new_mark()
        events = Events(cli.scrubber)

        def started(pid: int, started_ms: int, argv: tuple[str, ...]) -> None:
            if on_child is not None:
                on_child(cli.child(pid=pid, started_ms=started_ms, name=name, argv=argv))

        with self._place(target) as directory, self._gate(url, rules, not _insecure(cli.env)) as gate:
            finished = cli.stream(
                [*args, "--stack", str(name), "--run-program=false", "--json", *message(mark)],
                cwd=directory,
                env=cli.environment(mark=mark, SCW_API_URL=gate.url, PULUMI_ENABLE_STREAMING_JSON_PREVIEW="true"),
                deadline_seconds=deadline,
                on_line=events.feed,
                on_start=started,
            )
        if gate.tally.status(401):
            raise AuthenticationError("Scaleway's API refused the credential of the refresh (401)", code="RC0513")
        return finished, events

    @contextmanager
    def _place(self, target: Target) -> Iterator[Path]:
        found = project_directory(
            target.name, target.checkpoint.secrets, configured=self._work_dirs, default=self._cli.directory
        )
        with found as directory:
            yield directory

    def _take(
        self, reading: Reading, finished: Finished, events: Events, *, covered: Collection[str], what: str
    ) -> None:
        """Add one command's results. A non-zero status is normal while some reads failed; it is an error when the
        engine ended for another reason."""
        failed = events.failed()
        if finished.timed_out or (finished.status != 0 and not failed):
            raise failure(finished, what=what, scrubber=self._cli.scrubber, detail=_detail(finished, events))
        if not events.streamed or finished.truncated:
            raise EngineError(
                f"{what} printed no event stream",
                code="RC0504",
                hint="The CLI is too old: it must know PULUMI_ENABLE_STREAMING_JSON_PREVIEW.",
            )
        reading.operations.update(events.operations)
        reading.failed.update(failed)
        for urn in covered:
            if urn not in reading.operations:
                reading.failed.setdefault(urn, "the engine gave no result for it")


def rules_for(target: Target, urns: Collection[str], *, proved: Collection[str], observe: bool = False) -> ReadRules:
    return ReadRules(proved=proved_ids(target.ids(proved)), types=frozenset(map(type_of, urns)), observe=observe)


def judge(operations: Mapping[str, str], *, urns: Collection[str], proved: Collection[str]) -> None:
    """Refuse what a preview wants beyond what was asked and proved. Raises RefusedError RC0610."""
    unproved = sorted(urn for urn, op in operations.items() if op == "delete" and urn not in frozenset(proved))
    foreign = sorted(urn for urn, op in operations.items() if op != "same" and urn not in frozenset(urns))
    strange = sorted(f"{op} {urn}" for urn, op in operations.items() if op not in _HARMLESS)
    for wrong, why in (
        (unproved, "would take out of state what is not proved absent"),
        (foreign, "would change what was not asked for"),
        (strange, "wants operations that a refresh does not have"),
    ):
        if wrong:
            more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
            raise RefusedError(
                f"the refresh {why}: {visible(', '.join(wrong[:3]), limit=600)}{more}",
                code="RC0610",
                hint="Nothing was written. What is not proved absent may be hidden by a missing right.",
            )


def type_of(urn: str) -> str:
    """The type token in a URN, the last of its parents' chain: `urn:pulumi:S::P::a$TYPE::NAME`."""
    parts = urn.split("::")
    return parts[2].rpartition("$")[2] if len(parts) >= 4 else ""


def _targets(urns: Sequence[str]) -> list[str]:
    return [argument for urn in urns for argument in ("--target", urn)]


def _detail(finished: Finished, events: Events) -> str:
    return "\n".join([*finished.stderr.splitlines(), *events.errors])


def _insecure(env: Mapping[str, str]) -> bool:
    return env.get("SCW_INSECURE", "").lower() in ("1", "true")
