"""The whole adoption on a copy of the stack, and what it says about the real one.

Every step of the real run is taken, with the same program, the same gate and the same secrets. Then a preview must
want nothing for the targets and nothing new for the rest, a refresh must find the targets as they are, and nothing else
in the state may have changed. A name that Pulumi makes up is learned on the way: then the rehearsal starts again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

from reconciler.engine import checkpoint
from reconciler.engine.adoption import address, names, order, verdict
from reconciler.engine.adoption.bench import Bench
from reconciler.engine.adoption.digest import Plan
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
        real = self._real
        plan = self._plan = self._plan or real.plan()
        place.add(real.name, json.loads(self._export))
        for name in plan.references:
            self._copy_reference(place, name)
        bench = replace(
            real,
            cli=self._cli_at(place.url),
            name=at_home(real.name),
            # Nobody has to wait for a child of a rehearsal: without its gate it fails, and its backend is a copy.
            on_child=lambda _: None,
            env={**real.env, "PULUMI_CREDENTIALS_PATH": str(place.credentials())},
        )
        if not self._job.broken:
            return bench, plan
        bench.remove(self._job.broken)
        return bench, bench.plan()

    def _copy_reference(self, place: Scratch, name: str) -> None:
        """A stack whose outputs the program reads. One that cannot be read is left out; then the program says so."""
        parts = name.split("/")
        if len(parts) == 3:
            target = StackName(DIY_ORGANIZATION, parts[1], parts[2])
        elif len(parts) == 1:
            target = StackName(DIY_ORGANIZATION, self._real.name.project, name)
        else:
            return
        with suppress(EngineError):
            place.add(target, json.loads(self._real.cli.output("stack", "export", "--stack", name)))

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


def require_portable(state: Checkpoint) -> None:
    """Raises RefusedError RC0645 for secrets that can only be read in the backend where the stack is."""
    kind = state.secrets.type
    if kind not in _PORTABLE:
        what = "Pulumi Cloud" if kind == "service" else f"the secrets provider {kind!r}"
        raise RefusedError(
            f"no adoption without a rehearsal, and none is possible: {what} decrypts this stack's secrets for the "
            "stack itself alone and not for a copy",
            code="RC0645",
            hint="`pulumi stack change-secrets-provider` with a passphrase or a KMS key makes it possible.",
        )
