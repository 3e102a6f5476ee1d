"""What must hold after every step of every run, whatever the cloud said meanwhile.

Each check compares the true cloud, the states and the database with the truth of the world; none asks the product what
it meant to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reconciler.model.finding import ActionKind, Finding, FindingKind, Ledger, Verdict
from reconciler.model.state import StateResource
from tests.worlds.site import Site
from tests.worlds.truth import Thing, Whose

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TOUCHED_BY_NOBODY: Final = frozenset({Whose.STRANGER, Whose.NEVER})
# Interfaces and their addresses go and come with their server at the provider.
_FOLLOW: Final = frozenset({"private_nic", "ipam_ip"})
Picture = Mapping[str, tuple[str, tuple[str, ...]]]
_UNKNOWN: Final = Thing(id="", whose=Whose.NEVER, why="in no truth")


class Watch:
    """Begins with a world as it was made; `after_sweep` and `after_run` return what is violated since."""

    def __init__(self, site: Site, *, comes_back: bool = False) -> None:
        """`comes_back`: what was truly gone may return, so that a finalised id may exist again."""
        self.site, self.truth, self.comes_back = site, site.made.truth, comes_back
        self.start = site.picture()
        self.seen = dict(self.start)
        self.entries: dict[tuple[str, str, str | None], StateResource] = {}
        self.learn_entries()
        self.checks = 0
        self.destroyed: set[str] = set()
        self._closed: set[str] = set()
        self._rows_seen: set[str] = set()
        self._requests = 0

    def learn_entries(self) -> None:
        """What the states hold now belongs there."""
        self.entries |= dict(self._held())

    def after_sweep(self, findings: Iterable[Finding]) -> list[str]:
        return [*self._said(findings), *self._everywhere(blocked=False, sweeping=True)]

    def after_run(self, *, blocked: bool) -> list[str]:
        """`blocked`: a condition holds under which nothing may be decided to be destroyed."""
        return self._everywhere(blocked=blocked, sweeping=False)

    def _everywhere(self, *, blocked: bool, sweeping: bool) -> list[str]:
        now = self.site.picture()
        found = [
            *self._lost(now, blocked=blocked, sweeping=sweeping),
            *self._sent(blocked=blocked, sweeping=sweeping),
            *self._tags(now),
            *self._states(now),
            *self._operations(now),
            *self._finalised(now),
            *self._rows(now),
            *(f"the simulator crashed: {one}" for one in self.site.simulator.crashes),
        ]
        self.seen = dict(now)
        return found

    # -- one check each

    def _lost(self, now: Picture, *, blocked: bool, sweeping: bool) -> Iterator[str]:
        """Rules 1, 3, 5, 7 and 9: what is gone was right to go, and its time had come."""
        for id_, (kind, _) in self.seen.items():
            self.checks += 1
            if id_ in now:
                continue
            self.destroyed.add(id_)
            why = self._wrong(id_, blocked=blocked) or ("by a sweep" if sweeping and kind not in _FOLLOW else None)
            if why is not None:
                yield f"destroyed: {kind} {id_}: {why}"

    def _wrong(self, id_: str, *, blocked: bool) -> str | None:
        """Why this must not be destroyed now."""
        thing = self.truth.things.get(id_, _UNKNOWN)
        if not thing.destroy:
            return f"{thing.whose.value} ({thing.why})"
        if thing.decided:
            return None
        if self.site.clock.now_ms() < thing.from_ms:
            return f"its grace had not passed ({thing.why})"
        return f"nothing may be decided now ({thing.why})" if blocked else None

    def _sent(self, *, blocked: bool, sweeping: bool) -> Iterator[str]:
        """No request that changes anything was even sent about what must not change, whatever became of it."""
        entries = self.site.simulator.traffic.entries()
        fresh = [one for one in entries if one.number > self._requests]
        self._requests = max([self._requests, *(one.number for one in fresh)])
        for one in fresh:
            self.checks += 1
            if one.method in ("GET", "HEAD"):
                continue
            ids = _UUID.findall(one.path.lower())
            id_ = ids[-1] if ids else ""
            if sweeping:
                yield f"a sweep sent {one.method} {one.path}"
            elif one.method == "PATCH":
                if not self.truth.things.get(id_, _UNKNOWN).retag:
                    yield f"tags written on {id_}: {self.truth.things.get(id_, _UNKNOWN).whose.value}"
            else:
                why = self._wrong(id_, blocked=blocked)
                if why is not None:
                    yield f"sent {one.method} {one.path}: {why}"

    def _tags(self, now: Picture) -> Iterator[str]:
        """Nobody's tag is dropped, and what is not ours keeps its tags as they are."""
        for id_, (kind, tags) in now.items():
            self.checks += 1
            before = self.start.get(id_, (kind, tags))[1]
            if id_ in self.start and before is not tags and before != tags:
                whose = self.truth.things.get(id_, _UNKNOWN).whose
                dropped = set(before) - set(tags)
                if dropped or whose in _TOUCHED_BY_NOBODY:
                    yield f"the tags of {kind} {id_} ({whose.value}) lost {sorted(dropped)}, now {tags[:9]}"

    def _states(self, now: Picture) -> Iterator[str]:
        """Rules 2 and 15: what exists is not forgotten, and nothing enters a state but what belongs there."""
        held = dict(self._held())
        for key, entry in self.entries.items():
            self.checks += 1
            if key not in held and (entry.id or "").rpartition("/")[2] in now:
                yield f"the state of {key[0]} forgot {key[1]} ({key[2]}), which exists"
        for stack, urn, id_ in held:
            self.checks += 1
            bare = (id_ or "").rpartition("/")[2]
            if (stack, urn, id_) not in self.entries and self.truth.adoptable.get((stack, urn)) != bare:
                yield f"the state of {stack} took in {urn} as {id_}"

    def _held(self) -> Iterator[tuple[tuple[str, str, str | None], StateResource]]:
        for name, state in self.site.engine.states.items():
            for entry in state.resources:
                if entry.custom and entry.id and not entry.pending_delete:
                    yield (name, entry.urn, entry.id), entry

    def _operations(self, now: Picture) -> Iterator[str]:
        """Rule 15: a pending operation goes when it is adopted, or proved to have made nothing."""
        held = {(key[0], key[1]): key[2] or "" for key, _ in self._held()}
        for one in self.truth.interrupted:
            self.checks += 1
            state = self.site.engine.states[one.stack]
            if any(operation.resource.urn == one.urn for operation in state.pending) or one.may_clear:
                continue
            adopted = held.get((one.stack, one.urn), "").rpartition("/")[2]
            lost = [id_ for id_ in one.made if id_ in now and id_ != adopted]
            if lost:
                yield f"the pending operation on {one.urn} was taken out of {one.stack}, though it made {lost}"

    def _finalised(self, now: Picture) -> Iterator[str]:
        """Rule 6: accepted is not gone."""
        for deletion, refs in self.site.finalised():
            if deletion in self._closed and self.comes_back:
                continue
            self._closed.add(deletion)
            for ref in refs:
                self.checks += 1
                if ref.id in now and not self.comes_back:
                    yield f"the deletion {deletion} was finalised, and {ref} exists"

    def _rows(self, now: Picture) -> Iterator[str]:
        """Rules 2 and 6: the row of a machine that exists does not end but by a deletion that lost the machine (it was
        locked, say, and is reported from then on), and it records that machine and no other."""
        scope = self.site.scope.uuid
        rows = {row.id: row for row in self.site.records.read(scope).workers}
        ended = self.site.ended()
        for worker, machine in self.truth.workers.items():
            self.checks += 1
            row = rows.get(worker)
            decided = ended.get(worker) is not None
            if row is None and worker in self._rows_seen and machine in now and not decided:
                yield f"the row of worker {worker} has ended, and its machine {machine} exists"
            if row is not None and row.machine is not None and row.machine.id != machine:
                yield f"the row of worker {worker} records {row.machine}, and not {machine}"
        self._rows_seen |= rows.keys()

    def _said(self, findings: Iterable[Finding]) -> Iterator[str]:
        """Rule 1: no finding says *absent* of what exists."""
        picture = self.site.picture()
        for finding in findings:
            self.checks += 1
            first = finding.subjects[0]
            absent = finding.ledgers.get(Ledger.INVENTORY) == "absent" or finding.witness is not None
            absent = absent or finding.verdict is Verdict.ACT
            named = [subject.id for subject in finding.subjects if subject.id in picture]
            if finding.kind is FindingKind.MISSING and absent and named:
                yield f"missing, {finding.verdict.value}: {first.id} exists ({finding.witness})"
            elif finding.kind is FindingKind.INTERRUPTED and finding.action is ActionKind.CLEAR:
                made = [one.made for one in self.truth.interrupted if one.urn == first.urn and not one.may_clear]
                if any(id_ in picture for ids in made for id_ in ids):
                    yield f"an interrupted create is to be cleared, and what it made exists: {first.urn}"
