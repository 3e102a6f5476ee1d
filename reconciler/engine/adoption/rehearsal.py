"""The whole adoption on a copy of the stack, and what it says about the real one.

Every step of the real run is taken, with the same program, the same gate and the same secrets. Then a preview must
want nothing for the targets and nothing new for the rest, a refresh must find the targets as they are, and nothing else
in the state may have changed. A name that Pulumi makes up is learned on the way: then the rehearsal starts again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

from reconciler.engine import checkpoint
from reconciler.engine.adoption import address, names, order, verdict
from reconciler.engine.adoption.bench import PROGRAM_FAILED, Bench
from reconciler.engine.adoption.digest import STACK_REFERENCE, Plan
from reconciler.engine.adoption.job import Job, Steps
from reconciler.engine.adoption.scratch import Scratch, at_home, scratch
from reconciler.engine.checkpoint import Checkpoint
from reconciler.engine.cli import PulumiCli
from reconciler.engine.stacks import DIY_ORGANIZATION, StackName
from reconciler.kernel.errors import EngineError, RefusedError
from reconciler.model.state import StateResource
from reconciler.ports.engine import Difference

# Secrets managers whose secrets can be read beside any backend: the state says how, the environment holds the key.
_PORTABLE: Final = frozenset({"", "passphrase", "cloud"})

# A CLI for another backend, by its URL.
CliAt: TypeAlias = Callable[[str], PulumiCli]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """`steps`: to be taken in earnest, with the names that were learned. `entries`: how each target looks in the state
    when the program has run."""

    differences: tuple[Difference, ...]
    steps: Steps | None = None
    url: str = ""
    entries: Mapping[str, StateResource] = field(default_factory=dict)


class Stage:
    """Where rehearsals of one stack take place. `real`: the stack's own bench. `cli_at`: a CLI for another backend."""

    def __init__(self, real: Bench, *, export: bytearray, job: Job, api_url: str, cli_at: CliAt) -> None:
        self._real, self._export, self._job = real, export, job
        self._api_url, self._cli_at = api_url, cli_at
        self._plan: Plan | None = None

    def rehearse(self) -> Rehearsed:
        """Raises RefusedError RC0641 to RC0645, EngineError."""
        require_portable(self._job.state)
        known = names.from_pending(self._job.state)
        for _ in range(1 + len(self._job.fresh)):
            with scratch() as place:
                found, learned = self._once(place, known)
            if not learned:
                break
            known |= learned  # the name of one more target
        return found

    def _once(self, place: Scratch, known: Mapping[str, str]) -> tuple[Rehearsed, Mapping[str, str]]:
        """One rehearsal, and names that make it worth another."""
        bench, plan = self._furnish(place)
        batches = order.batches(plan, self._job.fresh, self._job.state)
        settings = names.configuration(bench.directory, bench.name.stack)
        url = address.api_url(plan, self._job.state, settings, env=bench.cli.env, default=self._api_url)
        bench = replace(bench, url=url)
        steps = Steps(job=self._job, plan=plan, batches=batches, names=known, folder=place.directory)
        outcome = steps.run(bench)
        if outcome.only_names and any(known.get(urn) != name for urn, name in outcome.names.items()):
            return Rehearsed(differences=outcome.differences), outcome.names
        if outcome.differences:
            return Rehearsed(differences=outcome.differences), {}
        return self._inspect(bench, steps), {}

    def _furnish(self, place: Scratch) -> tuple[Bench, Plan]:
        """The copy, with what an earlier run left in part taken out, and the plan of the program for it."""
        bench = self._at(place)
        if self._job.broken:
            bench.remove(self._job.broken)
        if self._plan is None:
            self._plan = plan_at(self._real, bench, place, self._job.state)
        else:
            copy_references(self._real, place, self._plan.references)
        return bench, self._plan

    def _at(self, place: Scratch) -> Bench:
        place.add(self._real.name, json.loads(self._export))
        return bench_at(self._real, place, self._cli_at)

    def _inspect(self, bench: Bench, steps: Steps) -> Rehearsed:
        job, before = self._job, steps.plan
        ran = checkpoint.decode(bench.export())
        drop(bench, job, ran)
        after = checkpoint.decode(bench.export())
        ours = frozenset(job.targets) | order.along(steps.batches)
        refreshed = bench.preview_refresh(job.targets)
        found = chain(
            verdict.of_targets(after, job.targets),
            verdict.of_others(job.state, after, ours=ours),
            verdict.of_plans(before, bench.plan(), targets=job.fresh),
            verdict.of_refresh(refreshed.operations, refreshed.failed(), targets=job.targets),
        )
        present = verdict.entries(ran)
        return Rehearsed(
            differences=tuple(found),
            steps=steps,
            url=bench.url,
            entries={urn: present[urn] for urn in job.fresh if urn in present},
        )


def bench_at(real: Bench, place: Scratch, cli_at: CliAt) -> Bench:
    """The same stack and program, in the scratch backend."""
    return replace(
        real,
        cli=cli_at(place.url),
        name=at_home(real.name),
        # Nobody has to wait for a child of a rehearsal: its backend is a copy, and its gate dies with this process.
        on_child=lambda _: None,
        env={**real.env, "PULUMI_CREDENTIALS_PATH": str(place.credentials())},
    )


def plan_at(real: Bench, bench: Bench, place: Scratch, state: Checkpoint) -> Plan:
    """The plan of the program, made beside the real backend: a plugin that outlives a killed preview then belongs to
    a place that is gone, and not to a stack that somebody waits for.

    A program that reads outputs of other stacks fails there until those are copied. Which they are, the state says; if
    it does not, a preview in the real backend does, which also tells a program that fails anywhere.
    """
    copy_references(real, place, _references(state))
    try:
        return bench.plan()
    except EngineError as error:
        if error.code != PROGRAM_FAILED:
            raise
        copy_references(real, place, real.plan().references)
        return bench.plan()


def _references(state: Checkpoint) -> list[str]:
    names = [item.inputs.get("name") for item in state.resources if item.type == STACK_REFERENCE]
    return [name for name in names if isinstance(name, str)]


def copy_references(real: Bench, place: Scratch, references: Iterable[str]) -> None:
    """Stacks whose outputs the program reads. One that cannot be read is left out; then the program says so."""
    for name in references:
        parts = name.split("/")
        if len(parts) in (1, 3):
            project = parts[1] if len(parts) == 3 else real.name.project
            with suppress(EngineError):
                export = real.cli.output("stack", "export", "--stack", name)
                place.add(StackName(DIY_ORGANIZATION, project, parts[-1]), json.loads(export))


def drop(bench: Bench, job: Job, state: Checkpoint) -> float:
    """Clear the unfinished creates of the targets that are in the state now. A run that was killed twice has two for
    one URN, and the CLI takes one at a time."""
    seconds = 0.0
    for _ in range(1 + len(state.pending)):
        waiting = job.pending(state)
        if not waiting:
            break
        seconds += bench.drop_pending(waiting)
        state = checkpoint.decode(bench.export())
    return seconds


def portable(state: Checkpoint) -> bool:
    """Whether the secrets of a stack can be read beside its backend."""
    return state.secrets.type in _PORTABLE


def require_portable(state: Checkpoint) -> None:
    """Raises RefusedError RC0645 for secrets that can only be read in the backend where the stack is."""
    kind = state.secrets.type
    if not portable(state):
        what = "Pulumi Cloud" if kind == "service" else f"the secrets provider {kind!r}"
        raise RefusedError(
            f"no adoption without a rehearsal, and none is possible: {what} decrypts this stack's secrets for the "
            "stack itself alone and not for a copy",
            code="RC0645",
            hint="`pulumi stack change-secrets-provider` with a passphrase or a KMS key makes it possible.",
        )
