"""The real engine, the real provider and the real product before one simulated Scaleway.

A `Rig` is a directory: a file backend, a home, a clock file that the simulator, the product and its children share, and
a SQLite database. The program runs in a child process (`rig_program`), because a test must be able to hold it or kill
it. Every process that is started carries a mark in its environment, so that `strays` finds what was left behind.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reconciler.engine import processes
from reconciler.kernel.clock import SharedClock
from reconciler.kernel.randomness import SeededRandomness
from reconciler.simulator import Served, Simulator, Timings, defaults, serve, worldfile
from reconciler.simulator import World as CloudWorld
from reconciler.simulator.strangers import mutate
from tests.e2e.product import STACK, Product

PROGRAM = Path(__file__).with_name("rig_program.py")
ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("pulumi", "pulumi-resource-scaleway")
_MARK = "RIG_MARK"
_UP_SECONDS = 280


def missing_tool() -> str | None:
    """The first tool of the real engine that PATH lacks."""
    return next((tool for tool in TOOLS if shutil.which(tool) is None), None)


@dataclass
class Rig:
    """`world`: what is in the cloud from the start. Transitions are instant unless `timings` says otherwise."""

    root: Path
    world: CloudWorld | None = None
    seed: int = 1
    timings: Timings = field(default_factory=Timings.instant)
    database: str = ""  # a SQLite file in `root` when empty

    def __post_init__(self) -> None:
        self.backend, self.home, self.empty = self.root / "backend", self.root / "home", self.root / "empty"
        for directory in (self.backend, self.home, self.empty):
            directory.mkdir(parents=True, exist_ok=True)
        self.clock_file = self.root / "clock.json"
        self.clock = SharedClock(self.clock_file)
        self.database = self.database or f"sqlite:///{self.root / 'memory.db'}"
        self.mark = f"{os.getpid()}-{self.root}"
        self.simulator = Simulator(
            self.world, clock=self.clock, randomness=SeededRandomness(self.seed), timings=self.timings
        )
        self._served: Served | None = None
        self._started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Self:
        self._served = serve(self.simulator)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._started:
            processes.kill_session(child.pid, clock=self.clock)
            child.communicate()
        if self._served is not None:
            self._served.close()

    # -- the environment

    @property
    def url(self) -> str:
        assert self._served is not None
        return self._served.url

    @property
    def env(self) -> dict[str, str]:
        """What every child gets, ours and Pulumi's."""
        return {
            **defaults.environment(self.url),
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PULUMI_HOME": str(self.home / ".pulumi"),
            "PULUMI_BACKEND_URL": f"file://{self.backend}",
            "PULUMI_CONFIG_PASSPHRASE": "correct horse",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "RECONCILER_CLOCK_FILE": str(self.clock_file),
            "RECONCILER_DATABASE_URL": self.database,
            _MARK: self.mark,
        }

    # -- the program and the CLI

    def up(self, resources: Sequence[Mapping[str, Any]], *, outputs: Mapping[str, Any] | None = None) -> None:
        """Deploy these resources, and nothing else, in the stack."""
        child = self.start_up(resources, outputs=outputs)
        text, _ = child.communicate(timeout=_UP_SECONDS)
        assert child.returncode == 0, text[-8000:]

    def start_up(
        self, resources: Sequence[Mapping[str, Any]], *, outputs: Mapping[str, Any] | None = None
    ) -> subprocess.Popen[str]:
        project, stack = STACK.split("/")
        description = {"project": project, "stack": stack, "resources": list(resources), "outputs": dict(outputs or {})}
        path = self.root / "description.json"
        path.write_text(json.dumps(description))
        return self.start([sys.executable, str(PROGRAM), "up", str(path)])

    def start(
        self, argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """A child in a session of its own, ended with the rig if it still runs then."""
        child = subprocess.Popen(
            argv,
            env={**self.env, **(env or {})},
            cwd=cwd or self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._started.append(child)
        return child

    def pulumi(self, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
        """The CLI itself, past everything of ours."""
        return subprocess.run(
            ["pulumi", *args, "--non-interactive", "--color", "never"],
            env={**self.env, **env},
            cwd=self.empty,
            capture_output=True,
            text=True,
            timeout=_UP_SECONDS,
            check=False,
        )

    @property
    def product(self) -> Product:
        return Product(self.env, self.empty)

    # -- what there is

    @property
    def checkpoint_file(self) -> Path:
        project, stack = STACK.split("/")
        return self.backend / ".pulumi" / "stacks" / project / f"{stack}.json"

    def provider_ids(self) -> dict[str, str]:
        """Name of a resource -> its id at the provider, from the checkpoint as it lies in the backend."""
        resources = json.loads(self.checkpoint_file.read_text())["checkpoint"]["latest"]["resources"]
        return {
            str(item["urn"]).rsplit("::", 1)[-1]: str(item["id"]).rsplit("/", 1)[-1]
            for item in resources
            if "id" in item
        }

    def lock_files(self) -> list[Path]:
        return sorted((self.backend / ".pulumi" / "locks").rglob("*.json"))

    def stranger(self, op: str, **args: Any) -> dict[str, Any]:
        with self.simulator.editing() as world:
            return mutate(world, self.simulator.mint, {"op": op, **args}, now_ms=self.clock.now_ms())

    def cloud_text(self) -> str:
        """The whole simulated cloud as a world file."""
        with self.simulator.editing() as world:
            return worldfile.dump(world)

    def mutating_calls(self) -> list[str]:
        return [f"{e.method} {e.path}" for e in self.simulator.traffic.entries() if e.method not in ("GET", "HEAD")]

    def strays(self) -> list[str]:
        """Command lines of processes that carry this rig's mark, those that the rig still holds left out."""
        held = {child.pid for child in self._started if child.poll() is None}
        marked = f"{_MARK}={self.mark}".encode()
        found = []
        for process in processes.table():
            try:
                environ = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if marked in environ and process.session not in held:
                found.append(" ".join(processes.command_line(process.pid) or ("?",)))
        return found
