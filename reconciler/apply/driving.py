"""Drive a decided deletion to its end: send, wait, clean up survivors, prove, finalise (rules 5 to 7).

*Accepted is not gone*: every captured id is asked for until it is proved absent. A server's volumes and IPs outlive
it and are deleted by their own APIs, each after a live GET. What cannot be finished in the patience of one run stays
decided; the next run goes on, for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reconciler.apply.deciding import children_of
from reconciler.apply.guard import refusal
from reconciler.apply.setting import POLL_SECONDS, Setting, known_ids
from reconciler.kernel.errors import CloudError
from reconciler.model.inventory import Presence, Probe
from reconciler.model.memory import NO_MEMORY, Memory
from reconciler.model.plan import Action, ActionOutcome, ActionStatus
from reconciler.model.resources import Kind, Ref, Server
from reconciler.model.warrant import DestroyAnswer, Warrant


@dataclass(slots=True)
class _Drive:
    """One deletion on its way. Mutable, and nobody else's."""

    action: Action
    setting: Setting
    warrant: Warrant
    struck: list[Ref] = field(default_factory=list)
    sent: set[Ref] = field(default_factory=set)
    memory: Memory = NO_MEMORY
    last: str = "nothing was answered yet"
    said: bool = False  # whether this round has told why it is not over

    def run(self) -> ActionOutcome:
        setting = self.setting
        deadline = setting.clock.monotonic() + setting.patience_seconds
        attempt = 0
        while True:
            left = self._round()
            if not left and self._finalise():
                return self._outcome()
            if setting.clock.monotonic() >= deadline or setting.stopped():
                setting.store.note_error(self.warrant, error=self.last, retry_seconds=30.0, lease=setting.lease)
                return ActionOutcome(
                    action=self.action,
                    status=ActionStatus.WAITING,
                    text=f"decided and sent; not yet proved gone: {self.last}",
                    struck=tuple(self.struck),
                )
            setting.clock.sleep(POLL_SECONDS[min(attempt, len(POLL_SECONDS) - 1)])
            attempt += 1

    def _round(self) -> set[Ref]:
        """One look at every id, with at most one destructive call each; the ids that are not gone yet."""
        left: set[Ref] = set()
        self.said = False
        self.memory = self.setting.memory()
        for ref in self._order():
            if ref in self.struck:
                continue
            probe = self.setting.cloud.probe(ref)
            if probe.presence is Presence.ABSENT:
                continue
            if ref.kind is Kind.IP and probe.status == 403 and ref in self.sent:
                continue  # the API answers 403 for a deleted IP; the final proof is by two complete lists
            if probe.presence is Presence.UNKNOWN or probe.resource is None:
                self._say(f"{ref} cannot be read: {probe.reason or probe.status}")
                left.add(ref)
            elif not self._strike_if_refused(ref, probe):
                left.add(ref)
                self._send(ref, probe)
        return left

    def _order(self) -> list[Ref]:
        """The server first; while it is there, its children are attached and wait."""
        rest = sorted(self.warrant.refs - {self.warrant.target} - set(self.struck))
        return [*([] if self.warrant.target in self.struck else [self.warrant.target]), *rest]

    def _strike_if_refused(self, ref: Ref, probe: Probe) -> bool:
        assert probe.resource is not None
        doomed, scope = self.warrant.refs, self.setting.scope
        why = refusal(probe.resource, target=self.warrant.target, doomed=doomed, scope=scope, memory=self.memory)
        if why is not None:
            self._strike(ref, why)
        return why is not None

    def _strike(self, ref: Ref, why: str) -> None:
        """A refused target takes everything with it that hangs on it; a refused child goes alone."""
        setting = self.setting
        for each in self.warrant.refs if ref == self.warrant.target else (ref,):
            if each not in self.struck:
                self.warrant = setting.store.strike(self.warrant, ref=each, why=why, lease=setting.lease)
                self.struck.append(each)
                setting.journal.write(self.action, "struck", ref=str(each), why=why)
        self._say(f"{ref}: {why}")

    def _say(self, text: str) -> None:
        """Why it is not over. The first of a round counts: what comes after it waits for the server, and says so."""
        if not self.said:
            self.last, self.said = text, True

    def _send(self, ref: Ref, probe: Probe) -> None:
        setting = self.setting
        if isinstance(probe.resource, Server) and not self._covers_children(probe.resource):
            return
        if ref not in self.sent:
            setting.store.note_sent(self.warrant, lease=setting.lease)
            setting.journal.write(self.action, "sending", ref=str(ref))
        try:
            answer = setting.cloud.destroy(self.warrant, ref)
        except CloudError as error:
            text = f"{ref}: {error.message}"
            self._say(text)
            setting.store.note_error(self.warrant, error=text, retry_seconds=1.0, lease=setting.lease)
            return
        if answer.answer in (DestroyAnswer.ACCEPTED, DestroyAnswer.ALREADY_GONE):
            self.sent.add(ref)
            setting.journal.write(self.action, "sent", ref=str(ref), answer=answer.answer.value)
        elif answer.answer is DestroyAnswer.REFUSED:
            self._strike(ref, answer.text)
        self._say(f"{ref}: {answer.text}")

    def _covers_children(self, server: Server) -> bool:
        """Local storage that appeared since the decision would die with the server: then nothing is sent."""
        late = [ref for ref in children_of(server) if ref.kind is Kind.INSTANCE_VOLUME and ref not in self.warrant.refs]
        if late:
            self._strike(self.warrant.target, f"{late[0]} was attached after the decision")
        return not late

    def _finalise(self) -> bool:
        setting = self.setting
        refs = tuple(self.warrant.refs - set(self.struck))
        states, _ = setting.authorities()
        probes = setting.cloud.prove_absent(refs, known_ids=known_ids(states)) if refs else {}
        proved = {ref for ref in refs if (probe := probes.get(ref)) is not None and probe.presence is Presence.ABSENT}
        for ref in sorted(set(refs) - proved):
            probe = probes.get(ref)
            self.last = (
                f"{ref} is not proved absent: {probe.reason or probe.status if probe is not None else 'not asked'}"
            )
        if proved != set(refs):
            return False
        setting.journal.write(self.action, "absent", refs=[str(ref) for ref in sorted(proved)])
        return setting.store.finalise_deletion(self.warrant, proved_absent=proved, lease=setting.lease)

    def _outcome(self) -> ActionOutcome:
        gone = tuple(sorted(self.warrant.refs - set(self.struck)))
        if not gone:
            return ActionOutcome(
                action=self.action, status=ActionStatus.SKIPPED, text=f"refused: {self.last}", struck=tuple(self.struck)
            )
        spared = f"; {len(self.struck)} spared" if self.struck else ""
        return ActionOutcome(
            action=self.action,
            status=ActionStatus.DONE,
            text=f"{len(gone)} proved gone{spared}",
            refs_gone=gone,
            struck=tuple(self.struck),
            saves=self.action.cost,
        )


def drive(action: Action, warrant: Warrant, setting: Setting) -> ActionOutcome:
    """Carry out one committed decision."""
    return _Drive(action, setting, warrant).run()
