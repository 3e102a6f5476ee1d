"""The three questions of an adoption: what could be adopted, would it work, do it.

In earnest the steps of the rehearsal are taken again, against a gate that proves everything again, on a stack that has
not moved since. What fails then is taken out of the state, never out of the cloud.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from reconciler.engine import checkpoint
from reconciler.engine.adoption import order, verdict
from reconciler.engine.adoption.bench import Bench
from reconciler.engine.adoption.digest import Plan
from reconciler.engine.adoption.job import Job, sort_out
from reconciler.engine.adoption.rehearsal import CliAt, Rehearsed, Stage, bench_at, drop, plan_at, portable
from reconciler.engine.adoption.scratch import scratch
from reconciler.engine.checkpoint import Checkpoint
from reconciler.engine.cli import PulumiCli
from reconciler.engine.project import project_directory
from reconciler.engine.shapes import RawSecretsProvider
from reconciler.engine.stacks import StackName
from reconciler.kernel.errors import EngineError, ReconcilerError, RefusedError
from reconciler.kernel.text import visible
from reconciler.model.resources import Ref
from reconciler.ports.engine import (
    AdoptionRefused,
    AdoptionResult,
    ChildProcess,
    Difference,
    PlannedCreate,
    Rehearsal,
)

_SHOWN: Final = 5
_SETTLE: Final = "Nothing was touched. Settle the differences first, in the program or in the cloud."
_MOVED: Final = "The cloud changed after the rehearsal. What had entered the state was taken out again."
_NO_SECRETS: Final = RawSecretsProvider()


class Adopter:
    """For one backend. `work_dirs`: project -> its directory; `directory`: where else a project may be."""

    def __init__(
        self, cli: PulumiCli, *, cli_at: CliAt, work_dirs: Mapping[str, Path], directory: Path, api_url: str
    ) -> None:
        self._cli, self._cli_at = cli, cli_at
        self._work_dirs, self._directory, self._api_url = work_dirs, directory, api_url

    def planned_creates(self, name: StackName) -> tuple[PlannedCreate, ...]:
        """See the port. Raises EngineError RC0540 (no directory), RC0541 (the program failed)."""
        bench = self._bench(name, on_child=_nobody)
        export = bench.export()
        state = checkpoint.decode(export)
        if not portable(state):
            return _creates(bench.plan())
        with scratch() as place:
            place.add(name, json.loads(export))
            return _creates(plan_at(bench, bench_at(bench, place, self._cli_at), place, state))

    def rehearse(self, name: StackName, targets: Mapping[str, Ref]) -> Rehearsal:
        """See the port."""
        _, found = self._rehearse(self._bench(name, on_child=_nobody), targets)
        return Rehearsal(ok=not found.differences, differences=found.differences)

    def adopt(
        self, name: StackName, targets: Mapping[str, Ref], *, on_child: Callable[[ChildProcess], None]
    ) -> AdoptionResult:
        """See the port. Raises AdoptionRefused RC0640, RefusedError RC0641 to RC0647, EngineError RC0540 to RC0547."""
        bench = self._bench(name, on_child=on_child)
        job, found = self._rehearse(bench, targets)
        if found.differences:
            raise refused(name, found.differences)
        if found.steps is None:  # nothing was to be done
            return AdoptionResult(adopted=(), already=job.already)
        bench = replace(bench, url=found.url)
        if checkpoint.decode(bench.export()).serial != job.state.serial:
            raise RefusedError(
                f"{name.short} was changed while its adoption was rehearsed",
                code="RC0646",
                hint="Nothing was touched. Run again when nothing else works on this stack.",
            )
        seconds = self._in_earnest(bench, job, found)
        return AdoptionResult(adopted=tuple(sorted(job.fresh)), already=job.already, lock_seconds=seconds)

    def _rehearse(self, bench: Bench, targets: Mapping[str, Ref]) -> tuple[Job, Rehearsed]:
        export = bench.export()
        state = checkpoint.decode(export)
        require_no_loss(bench.name, state, targets)
        job = sort_out(state, targets)
        if not job.fresh and not job.pending(state):
            return job, Rehearsed(differences=())
        stage = Stage(bench, export=export, job=job, api_url=self._api_url, cli_at=self._cli_at)
        return job, stage.rehearse()

    def _in_earnest(self, bench: Bench, job: Job, found: Rehearsed) -> float:
        """The steps of the rehearsal on the real stack. Until the state holds what the rehearsed one did, whatever
        fails takes back what came in; from then on it is adopted, and only its pending entry may be left to clear."""
        assert found.steps is not None
        ours = frozenset(job.fresh) | order.along(found.steps.batches)
        try:
            if job.broken:
                bench.remove(job.broken)
            with scratch() as place:
                outcome = replace(found.steps, folder=place.directory).run(bench)
            if outcome.differences:
                raise refused(bench.name, outcome.differences, hint=_MOVED)
            state = self._require_result(bench, found)
        except Exception as error:
            self._take_back(bench, job, ours, error)
            raise
        seconds = outcome.seconds + drop(bench, job, state)
        left = job.pending(checkpoint.decode(bench.export()))
        if left:
            raise EngineError(
                f"{bench.name.short} holds what was adopted, and its interrupted create still: {visible(min(left))}",
                code="RC0547",
                hint="Run the adoption again: it will only clear that entry.",
            )
        return seconds

    def _require_result(self, bench: Bench, found: Rehearsed) -> Checkpoint:
        """The real state, when it holds what the rehearsed one did, for which preview and refresh were clean."""
        after = checkpoint.decode(bench.export())
        present = verdict.entries(after)
        for urn, expected in found.entries.items():
            if urn not in present or not verdict.same_entry(expected, present[urn]):
                raise EngineError(
                    f"{bench.name.short} is not as it was in the rehearsal: {visible(urn)}",
                    code="RC0545",
                    hint="Something changed in between. What entered the state was taken out again; run again.",
                )
        return after

    def _take_back(self, bench: Bench, job: Job, ours: frozenset[str], error: Exception) -> None:
        """Remove from the state what came in with this run; whatever was there before stays."""
        try:
            present = verdict.entries(checkpoint.decode(bench.export()))
            before = verdict.entries(job.state).keys() - frozenset(job.broken)
            # Under a target's URN only what it was to be: anything else came from somebody else meanwhile.
            entered = [
                urn
                for urn in sorted((present.keys() & ours) - before)
                if urn not in job.fresh or present[urn].ref == job.fresh[urn]
            ]
            if entered:
                bench.remove(entered)
        except ReconcilerError as second:
            first = error.message if isinstance(error, ReconcilerError) else type(error).__name__
            raise EngineError(
                f"{bench.name.short} may hold a part of a failed adoption: {first}; and taking it out of the state "
                f"failed: {second.message}",
                code="RC0546",
                hint="Run the adoption again: it begins with what is there. Nothing was changed in the cloud.",
            ) from error

    def _bench(self, name: StackName, *, on_child: Callable[[ChildProcess], None]) -> Bench:
        return Bench(
            cli=self._cli,
            name=name,
            directory=self._project(name),
            on_child=on_child,
            verify=self._cli.env.get("SCW_INSECURE", "").lower() not in ("1", "true"),
        )

    def _project(self, name: StackName) -> Path:
        """The directory of the program. Raises EngineError RC0540 (there is none), RC0515 (it is another project's)."""
        known = self._work_dirs.get(name.project, self._directory)
        with project_directory(name, _NO_SECRETS, configured=self._work_dirs, default=self._directory) as directory:
            if directory == known:
                return directory.absolute()
        raise EngineError(
            f"the program of {name.short} cannot be run: no directory is known for the project {name.project}",
            code="RC0540",
            hint="Name it under [state] projects in reconciler.toml, or run in the directory of its Pulumi.yaml.",
        )


def _creates(plan: Plan) -> tuple[PlannedCreate, ...]:
    return tuple(planned.create for planned in plan.creates.values())


def _nobody(_child: ChildProcess) -> None:
    """Nobody keeps a journal of children that change nothing."""


def refused(name: StackName, differences: tuple[Difference, ...], *, hint: str = _SETTLE) -> AdoptionRefused:
    shown = "; ".join(str(item) for item in differences[:_SHOWN])
    more = f" (and {len(differences) - _SHOWN} more)" if len(differences) > _SHOWN else ""
    return AdoptionRefused(
        f"adopting into {name.short} would not be a no-op: {shown}{more}",
        code="RC0640",
        hint=hint,
        differences=differences,
    )


def require_no_loss(name: StackName, state: Checkpoint, targets: Mapping[str, Ref]) -> None:
    """Raises RefusedError RC0647: an `up` forgets every interrupted operation but creates."""
    lost = [
        item
        for item in state.pending
        if item.operation != "creating" and not (item.operation == "importing" and item.resource.urn in targets)
    ]
    if lost:
        named = visible(", ".join(f"{item.operation} {item.resource.name}" for item in lost[:3]))
        raise RefusedError(
            f"{name.short} has {len(lost)} interrupted operations that an adoption would forget ({named})",
            code="RC0647",
            hint="Resolve them first: they are the evidence of what the interrupted run was doing.",
        )
