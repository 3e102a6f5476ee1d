"""One adoption: the stack as it was read, what is to be taken in, and the steps, the same in both runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reconciler.engine.adoption import names
from reconciler.engine.adoption.bench import Bench
from reconciler.engine.adoption.book import Book
from reconciler.engine.adoption.digest import Plan
from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.order import Batch
from reconciler.engine.adoption.verdict import entries
from reconciler.engine.checkpoint import Checkpoint
from reconciler.kernel.errors import EngineError, RefusedError
from reconciler.kernel.text import visible
from reconciler.model.resources import Kind, Ref
from reconciler.ports.engine import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """`fresh`: what has to go through the gate. `broken`: those of them that the state has in part, as a run that was
    killed leaves them; they are taken out first. `already`: those that the state has whole."""

    state: Checkpoint
    targets: Mapping[str, Ref]
    fresh: Mapping[str, Ref]
    broken: tuple[str, ...]
    already: tuple[str, ...]

    def pending(self, state: Checkpoint) -> dict[str, str]:
        """URN -> Pulumi's id, of targets that are in the state and still have an unfinished create."""
        ids = {urn: item.id for urn, item in entries(state).items() if urn in self.targets and item.id}
        waiting = {item.resource.urn for item in state.pending if item.operation in ("creating", "importing")}
        return {urn: identity for urn, identity in ids.items() if urn in waiting}


def sort_out(state: Checkpoint, targets: Mapping[str, Ref]) -> Job:
    """Raises RefusedError RC0644: the state has something else under this URN, or the same thing under another."""
    present, fresh, broken, already = entries(state), dict[str, Ref](), list[str](), list[str]()
    owners = {item.ref: urn for urn, item in present.items() if item.ref is not None}
    if len(set(targets.values())) < len(targets):
        raise _taken("one object of the cloud is named for two URNs")
    for urn, ref in sorted(targets.items()):
        item = present.get(urn)
        if "*" in urn:
            raise _taken(f"{visible(urn)} holds a `*`, which the CLI takes for a pattern")
        if owners.get(ref, urn) != urn:
            raise _taken(f"{ref} is in the state already, as {visible(owners[ref])}")
        if item is None:
            fresh[urn] = ref
        elif item.ref != ref or item.external:
            raise _taken(f"the state has {visible(str(item.id))} under {visible(urn)}, not {ref}")
        elif item.init_errors:
            fresh[urn] = ref
            broken.append(urn)
        else:
            already.append(urn)
    return Job(state=state, targets=targets, fresh=fresh, broken=tuple(broken), already=tuple(already))


def _taken(why: str) -> RefusedError:
    return RefusedError(
        f"nothing to adopt: {why}", code="RC0644", hint="Read the stack again; `pulumi stack --show-urns` lists it."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The runs of one job on one bench. `names`: URN -> the name that Pulumi shall take for it."""

    job: Job
    plan: Plan
    batches: tuple[Batch, ...]
    names: Mapping[str, str]
    # For a copy of the stack's settings.
    folder: Path

    def run(self, bench: Bench) -> Outcome:
        """All runs in order; stops at the first that is not answered in full. Raises EngineError RC0542 when the
        inventory could not be read, RC0544 when a run failed though everything was answered."""
        seconds = 0.0
        for batch in self.batches:
            book = self._book(batch)
            ran = bench.up([*batch.targets, *batch.along], book, config=self._config(bench, batch))
            seconds += ran.seconds
            if book.unread:
                raise EngineError(
                    f"the inventory could not be read: {visible(book.unread[0], limit=300)}",
                    code="RC0542",
                    hint="Nothing can be proved without it. Check the rights of the key, or run again when it answers.",
                )
            if book.differences:
                return Outcome(differences=tuple(book.differences), names=dict(book.names), seconds=seconds)
            if ran.why is not None:
                raise EngineError(
                    f"the program's create failed: {ran.why}",
                    code="RC0544",
                    hint="Every call was answered and the provider was not content. Nothing reached the cloud.",
                )
        return Outcome(seconds=seconds)

    def _book(self, batch: Batch) -> Book:
        state = [item.ref for item in self.job.state.resources if item.ref is not None and not item.pending_delete]
        known = {ref.id for ref in [*state, *self.job.targets.values()] if ref.kind is Kind.NIC}
        return Book((self._expectation(urn) for urn in batch.targets), known_nics=known)

    def _expectation(self, urn: str) -> Expectation:
        planned = self.plan.creates[urn]
        inputs = planned.create.inputs
        return Expectation(urn=urn, ref=self.job.fresh[urn], inputs=inputs, auto_named=planned.auto_named)

    def _config(self, bench: Bench, batch: Batch) -> Path | None:
        """Settings with the names that this run needs; None when it needs none."""
        wanted = {}
        for urn in batch.targets:
            planned = self.plan.creates[urn]
            if planned.auto_named and urn in self.names:
                wanted[planned.create.type] = self.names[urn]
        if not wanted:
            return None
        settings = names.configuration(bench.directory, bench.name.stack)
        return names.write(self.folder / "settings.yaml", names.with_names(settings, wanted))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the gate refused, and names that would settle it."""

    differences: tuple[Difference, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def only_names(self) -> bool:
        return bool(self.names) and all(item.path == "name" for item in self.differences)
