"""The real engine and the real provider before a simulated Scaleway."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reconciler.engine import processes
from reconciler.engine.adapter import PulumiEngine
from reconciler.engine.cli import EngineLimits
from reconciler.kernel.clock import SystemClock
from reconciler.model.state import StackState
from reconciler.simulator import defaults
from reconciler.simulator.core import Simulator
from reconciler.simulator.faults import FaultRule
from reconciler.simulator.http import Served, serve
from reconciler.simulator.world import World

CLOCK = SystemClock()
PROGRAM = Path(__file__).with_name("program.py")
LIMITS = EngineLimits(read_seconds=60, preview_seconds=60, refresh_seconds=60, await_seconds=60, grace_seconds=20)


class Templates:
    """Backends and clouds after a first deploy, by what was deployed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._kept: dict[str, tuple[Path, World]] = {}

    def keep(self, key: str, real: RealWorld) -> None:
        copy_of = self._directory / str(len(self._kept))
        shutil.copytree(real.backend, copy_of)
        with real.simulator.editing() as world:
            self._kept[key] = (copy_of, copy.deepcopy(world))

    def give(self, key: str, real: RealWorld) -> bool:
        if key not in self._kept:
            return False
        backend, world = self._kept[key]
        shutil.copytree(backend, real.backend, dirs_exist_ok=True)
        real.simulator.replace_world(copy.deepcopy(world))
        return True


class RealWorld:
    """A backend, a home and a cloud of a test's own. Durations in the cloud are a thousandth of the real ones."""

    def __init__(self, root: Path, *, templates: Templates | None = None) -> None:
        self.root = root
        self._templates = templates
        self._fresh = True
        self.backend, self.home, self.empty = root / "backend", root / "home", root / "empty"
        for directory in (self.backend, self.home, self.empty):
            directory.mkdir()
        self.simulator = Simulator(speed=1000)
        self._served: Served | None = None
        self._started: list[subprocess.Popen[str]] = []
        self.mark = f"test-{os.getpid()}-{root.name}"

    def __enter__(self) -> Self:
        self._served = serve(self.simulator)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._started:
            processes.kill_session(child.pid, clock=CLOCK)
            child.communicate()
        if self._served is not None:
            self._served.close()

    @property
    def url(self) -> str:
        assert self._served is not None
        return self._served.url

    @property
    def env(self) -> dict[str, str]:
        return {
            **defaults.environment(self.url),
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PULUMI_HOME": str(self.home / ".pulumi"),
            "PULUMI_BACKEND_URL": f"file://{self.backend}",
            "PULUMI_CONFIG_PASSPHRASE": "correct horse",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "SCW_CONFIG_PATH": str(self.home / "no-scw-config"),
            "ENGINE_TEST_WORLD": self.mark,
            "KEY": defaults.SECRET_KEY,
        }

    def engine(
        self, *, limits: EngineLimits = LIMITS, work_dirs: Mapping[str, Path] | None = None, **env: str
    ) -> PulumiEngine:
        return PulumiEngine(env={**self.env, **env}, directory=self.empty, limits=limits, work_dirs=work_dirs)

    def up(self, **spec: Any) -> None:
        """Deploy. The first deploy of a kind is run, and what it came to is copied for the tests that begin alike."""
        key = json.dumps(spec, sort_keys=True)
        reusable = self._fresh and self._templates is not None and "explicit" not in spec
        if reusable and self._templates is not None and self._templates.give(key, self):
            return
        child = self.start_up(**spec)
        output, _ = child.communicate(timeout=120)
        assert child.returncode == 0, output
        if reusable and self._templates is not None:
            self._templates.keep(key, self)

    def start_up(self, **spec: Any) -> subprocess.Popen[str]:
        self._fresh = False
        return self.start([sys.executable, str(PROGRAM), "up", json.dumps(spec)], self.root)

    def pulumi(self, *args: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        """The CLI itself, past everything of ours."""
        return subprocess.run(
            ["pulumi", *args, "--non-interactive", "--color", "never"],
            env={**self.env, **env},
            cwd=cwd or self.empty,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def start(self, argv: Sequence[str], cwd: Path) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            argv,
            env=self.env,
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._started.append(child)
        return child

    def state(self) -> StackState:
        return self.engine().read("proj/dev")

    def raw(self) -> dict[str, Any]:
        """The checkpoint as it lies in the backend."""
        loaded: dict[str, Any] = json.loads(self.checkpoint_file.read_text())
        return loaded

    @property
    def checkpoint_file(self) -> Path:
        return self.backend / ".pulumi" / "stacks" / "proj" / "dev.json"

    def lock_files(self) -> list[Path]:
        return sorted((self.backend / ".pulumi" / "locks").rglob("*.json"))

    def fault(self, **rule: Any) -> None:
        self.simulator.faults.add(FaultRule(**rule))

    def await_held(self) -> None:
        """Until a request has met a `hold` rule: then the provider runs, and waits for an answer."""

        def held() -> bool:
            return any(count["action"] == "hold" and count["fired"] for count in self.simulator.faults.counts())

        assert processes.wait_until(held, seconds=60, clock=CLOCK)

    def mutating_calls(self) -> list[str]:
        return [f"{e.method} {e.path}" for e in self.simulator.traffic.entries() if e.method not in ("GET", "HEAD")]

    def strays(self) -> list[tuple[str, ...]]:
        """Processes that carry this test's environment, those that the test still holds left out."""
        held = {child.pid for child in self._started if child.poll() is None}
        marked = f"ENGINE_TEST_WORLD={self.mark}".encode()
        found = []
        for process in processes.table():
            try:
                environ = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if marked in environ and process.session not in held:
                found.append(processes.command_line(process.pid) or ())
        return found
