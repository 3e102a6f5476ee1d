"""A rig with a project directory: a program that the CLI runs by itself, as a user has it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from reconciler.engine import processes
from reconciler.engine.adapter import PulumiEngine
from reconciler.engine.cli import EngineLimits
from reconciler.model.resources import Ref
from reconciler.model.state import StackState
from reconciler.ports.engine import AdoptionResult, ChildProcess
from reconciler.simulator import FaultRule
from tests.e2e.rig import ROOT, Rig

PROJECT: Final = "fleet"
STACK: Final = f"{PROJECT}/prod"
FULL_NAME: Final = f"organization/{STACK}"
LIMITS: Final = EngineLimits(
    read_seconds=120, preview_seconds=180, refresh_seconds=180, await_seconds=90, grace_seconds=20
)
_SECONDS: Final = 280
_PROGRAM: Final = f"""
import json, pathlib, sys
sys.path.insert(0, {str(ROOT)!r})
from tests.e2e.rig_program import declare
declare(json.loads(pathlib.Path(__file__).with_name("description.json").read_text()))
"""


@dataclass
class Site(Rig):
    """`children`: what the product reported of its own children."""

    children: list[ChildProcess] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.project = self.root / "project"
        self.project.mkdir(exist_ok=True)
        (self.project / "Pulumi.yaml").write_text(f"name: {PROJECT}\nruntime: python\n")
        self.write_program(_PROGRAM)

    @property
    def env(self) -> dict[str, str]:
        return {**super().env, "RECONCILER_TOOLCHAIN_PYTHON": sys.executable}

    # -- the program

    def write_program(self, source: str) -> None:
        (self.project / "__main__.py").write_text(source)

    def describe(self, resources: Sequence[Mapping[str, Any]]) -> None:
        (self.project / "description.json").write_text(json.dumps({"resources": list(resources)}))

    def run(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        """The CLI in the project's directory, past everything of ours."""
        return subprocess.run(
            ["pulumi", *args, "--stack", FULL_NAME, "--non-interactive", "--color", "never"],
            env={**self.env, **env},
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def must(self, *args: str, **env: str) -> str:
        done = self.run(*args, **env)
        assert done.returncode == 0, f"pulumi {' '.join(args)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def begin(self) -> None:
        self.must("stack", "init")

    def deploy(self) -> None:
        self.must("up", "--yes", "--skip-preview")

    def changes(self, *args: str) -> dict[str, int]:
        """What a preview would do: op -> how many."""
        found: dict[str, int] = json.loads(self.must("preview", "--json", *args))["changeSummary"]
        return found

    # -- how a thing comes to be in the cloud and not in the state

    def forget(self, urns: Collection[str]) -> None:
        self.must("state", "delete", *urns, "--yes", "--force")

    def interrupt(self, *, servers: int) -> None:
        """A deploy whose CLI is killed while so many servers are being created. Its provider lives on, finishes the
        machines, and is ended then; the lock is given back as a user would."""
        self.simulator.faults.set([FaultRule(method="POST", path="/instance/v1/zones/*/servers", action="hold_answer")])
        child = self.start(
            ["pulumi", "up", "--yes", "--skip-preview", "--stack", FULL_NAME, "--non-interactive"], cwd=self.project
        )
        self._wait(lambda: self.simulator.faults.counts()[0]["fired"] >= servers, what="the servers are not created")
        os.kill(child.pid, signal.SIGKILL)
        self.simulator.faults.set([])
        self._wait(self._still, what="the provider does not come to an end")
        processes.kill_session(child.pid, clock=self.clock)
        child.wait()
        self.must("cancel", "--yes")

    def _still(self) -> bool:
        """All servers run, and nobody has changed anything for a while."""
        with self.simulator.editing() as world:
            running = all(server.state == "running" for server in world.servers)
        calls = len(self.mutating_calls())
        busy = processes.wait_until(lambda: len(self.mutating_calls()) != calls, seconds=1.5, clock=self.clock)
        return running and not busy

    def _wait(self, ready: Any, *, what: str) -> None:
        assert processes.wait_until(ready, seconds=60, clock=self.clock), what

    # -- the product

    def engine(self, **env: str) -> PulumiEngine:
        return PulumiEngine(env={**self.env, **env}, directory=self.project, clock=self.clock, limits=LIMITS)

    def state(self) -> StackState:
        return self.engine().read(STACK)

    def refs(self) -> dict[str, Ref]:
        """URN -> what it is in the cloud, by the state."""
        return {item.urn: ref for item in self.state().resources if (ref := item.ref) is not None}

    def adopt(self, targets: Mapping[str, Ref]) -> AdoptionResult:
        return self.engine().adopt(STACK, targets, on_child=self.children.append)

    # -- what must hold

    def require_quiet(self) -> None:
        """Preview, refresh and `up` want nothing, and `up` calls nothing that changes anything."""
        assert set(self.changes()) <= {"same"}, self.changes("--diff")
        refresh = self.run("refresh", "--preview-only", "--expect-no-changes", "--run-program=false")
        assert refresh.returncode == 0, refresh.stdout[-4000:]
        calls = len(self.mutating_calls())
        self.must("up", "--yes", "--skip-preview", "--expect-no-changes")
        assert self.mutating_calls()[calls:] == []

    def require_clean(self) -> None:
        assert self.lock_files() == []
        assert self.strays() == []
        assert self.simulator.crashes == []

    def checkpoint(self) -> bytes:
        return self.checkpoint_file.read_bytes()

    @property
    def checkpoint_file(self) -> Path:
        return self.backend / ".pulumi" / "stacks" / PROJECT / "prod.json"
