"""The story: declare, break, look, wait, repair, and be in sync again with nobody else's things touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from reconciler.cli.demo.commands import Shell
from reconciler.cli.demo.stage import FLEET, REPLICAS, Stage
from reconciler.cli.demo.world import DemoWorld
from reconciler.kernel.clock import Clock

_HOURS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    stage: Stage
    world: DemoWorld
    shell: Shell
    clock: Clock

    def tell(self) -> None:
        """The whole demo. Raises ReconcilerError RC0151 at the first thing that is not as it is told."""
        self.shell.pulumi("stack", "init", "dev")
        began = self.clock.monotonic()
        self.declare()
        stranger = self.break_things()
        self.look_at_once()
        waste = self.look_later()
        saved = self.repair()
        self.fill_the_slot()
        self.check_the_stranger(stranger)
        self.shell.title("The end")
        self.shell.say(f"saved {saved:.2f} EUR/month of {waste:.2f} EUR/month of waste")
        self.shell.say(f"{self.clock.monotonic() - began:.0f} s since the first `pulumi up`")

    def declare(self) -> None:
        self.shell.title(f"A fleet of {REPLICAS} is declared")
        self.shell.pulumi("up", "--yes", "--skip-preview", "--suppress-outputs")
        self.shell.title("Its root volumes get owner tags, which the provider cannot give them")
        self.shell.reconciler("apply", "--mode", "repair", "-y", expect=0)
        self.shell.reconciler("drift", expect=0)

    def break_things(self) -> list[dict[str, Any]]:
        """What goes wrong with fleets, all at once. Returns the stranger's things as they are."""
        self.shell.title("The world breaks")
        self.shell.say(f"- {FLEET}-0 is terminated in the console: Pulumi knows nothing, its SBS root stays and bills")
        self.world.mutate(op="kill_server", server=f"{FLEET}-0")
        self.shell.say("- a deploy ran out of stock twice, and each try left its flexible IP")
        for slot in ("1", "2"):
            self.world.mutate(op="add_ip", tags=self._owner_tags(slot))
        self.shell.say(f"- somebody takes the tag role=ci off {FLEET}-1")
        tags = [tag for tag in self._tags_of(f"{FLEET}-1") if tag != "role=ci"]
        self.world.mutate(op="set_tags", id=f"{FLEET}-1", tags=tags)
        self.shell.say("- and a colleague puts a bastion into the same project")
        theirs = self.world.mutate(op="add_server", name="bastion", tags=["owner=alice"])
        return self.world.objects(*theirs.values())

    def look_at_once(self) -> None:
        self.shell.title("Seen at once: what is new may still be somebody's, so it waits for its grace")
        self.shell.reconciler("drift", "-o", "console", "-o", "json=at-once.json", expect=2)
        verdicts = self._verdicts("at-once.json", "detached")
        self.shell.require(verdicts == ["wait"] * 3, f"three leftovers that wait, and got {verdicts}")

    def look_later(self) -> float:
        """Returns the waste in EUR a month."""
        self.shell.title(f"{_HOURS:g} hours later")
        self.world.advance(_HOURS)
        self.shell.reconciler("drift", "-o", "console", "-o", "json=later.json", expect=2)
        verdicts = self._verdicts("later.json", "detached")
        self.shell.require(verdicts == ["act"] * 3, f"three leftovers to remove, and got {verdicts}")
        waste = float(self.shell.json("later.json")["cost"]["month"])
        self.shell.require(waste > 0, "the waste to have a price")
        return waste

    def repair(self) -> float:
        """Returns what is saved in EUR a month."""
        self.shell.title("The plan, with its conditions and limits")
        self.shell.reconciler("plan", "--out", "plan.json", expect=2)
        self.shell.title("Carried out")
        self.shell.reconciler("apply", "-y", "-m", "demo", "-o", "console", "-o", "json=run.json", expect=0)
        (run,) = self.shell.json("run.json")["runs"]
        done = all(one["status"] == "done" for one in run["outcomes"])
        self.shell.require(done, "every action of the plan to be done")
        return float(run["saves"]["month"])

    def fill_the_slot(self) -> None:
        self.shell.title("The vacant slot is Pulumi's to fill")
        self.shell.reconciler("drift", expect=2)
        self.shell.pulumi("up", "--yes", "--skip-preview", "--suppress-outputs")
        self.shell.reconciler("apply", "--mode", "repair", "-y", expect=0)
        self.shell.title("Everything is in sync, for us and for Pulumi")
        self.shell.reconciler("drift", expect=0)
        self.shell.pulumi("preview", "--expect-no-changes")

    def check_the_stranger(self, before: list[dict[str, Any]]) -> None:
        after = self.world.objects(*(entry["id"] for entry in before))
        self.shell.require(bool(before) and before == after, "the bastion to be as its owner left it")
        self.shell.say("the bastion, its volume and its address are as their owner left them")

    def _verdicts(self, name: str, kind: str) -> list[str]:
        return [finding["verdict"] for finding in self.shell.json(name)["findings"] if finding["kind"] == kind]

    def _owner_tags(self, slot: str) -> list[str]:
        """Those of a machine of the fleet, for another slot."""
        prefix = "reconciler:slot="
        ours = [tag for tag in self._tags_of(f"{FLEET}-{slot}") if tag.startswith("reconciler")]
        return [f"{prefix}{slot}" if tag.startswith(prefix) else tag for tag in ours]

    def _tags_of(self, name: str) -> list[str]:
        (server,) = [entry for entry in self.world.named(name) if entry["kind"] == "server"]
        return [str(tag) for tag in server["tags"]]
