"""A `pulumi` that does what a test says, and small pieces of checkpoints."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

from reconciler.engine.adapter import PulumiEngine
from reconciler.engine.cli import EngineLimits

STACK = "urn:pulumi:dev::proj::pulumi:pulumi:Stack::proj-dev"
PROVIDER = "urn:pulumi:dev::proj::pulumi:providers:scaleway::default"
PROVIDER_ID = "c4bf9c66-807e-42e3-b982-59f446cf66bb"

_SCRIPT = """\
#!{python} -S
import json, os, sys
here = {here!r}
args = sys.argv[1:]
kind = "preview" if "--preview-only" in args else " ".join(args[:2]) if args[0] == "stack" else args[0]
with open(os.path.join(here, "calls.jsonl"), "a") as log:
    log.write(json.dumps({{"kind": kind, "args": args, "cwd": os.getcwd(), "env": dict(os.environ),
                           "files": {{n: open(n).read() for n in os.listdir(".") if n.startswith("Pulumi")}}}}) + "\\n")
answer = json.load(open(os.path.join(here, "answers.json"))).get(kind, {{}})
if answer.get("script"):
    exec(answer["script"])
sys.stdout.write(answer.get("stdout", ""))
sys.stderr.write(answer.get("stderr", ""))
sys.exit(answer.get("status", 0))
"""


class FakePulumi:
    """An executable `pulumi` below `root`. Kinds of commands: `stack export`, `stack ls`, `whoami`, `version`,
    `preview` (a refresh with `--preview-only`), `refresh`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.state = root / "state"
        self.work = root / "work"
        for directory in (self.bin, self.state, self.work):
            directory.mkdir()
        self.path = self.bin / "pulumi"
        self.path.write_text(_SCRIPT.format(python=sys.executable, here=str(root)))
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)
        self._answers: dict[str, dict[str, Any]] = {}
        self._save()

    def answer(self, kind: str, stdout: str = "", *, stderr: str = "", status: int = 0, script: str = "") -> None:
        self._answers[kind] = {"stdout": stdout, "stderr": stderr, "status": status, "script": script}
        self._save()

    def _save(self) -> None:
        (self.root / "answers.json").write_text(json.dumps(self._answers))

    def calls(self, kind: str) -> list[dict[str, Any]]:
        log = self.root / "calls.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [call for call in map(json.loads, lines) if call["kind"] == kind]

    def engine(self, *, backend: str | None = "", limits: EngineLimits | None = None, **env: str) -> PulumiEngine:
        """`backend`: a file backend below `root` by default."""
        return PulumiEngine(
            backend=f"file://{self.state}" if backend == "" else backend,
            directory=self.work,
            env={"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.root), **env},
            limits=limits or EngineLimits(read_seconds=30, preview_seconds=30, refresh_seconds=30, grace_seconds=5),
        )

    def lock(self, name: str = "lock.json", *, stack: str = "dev", **content: Any) -> Path:
        directory = self.state / ".pulumi" / "locks" / "organization" / "proj" / stack
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / name
        path.write_text(json.dumps({"timestamp": "2026-11-30T01:07:45.891197926Z", **content}))
        return path


def urn(name: str, kind: str = "scaleway:instance/ip:Ip") -> str:
    return f"urn:pulumi:dev::proj::{kind}::{name}"


def uuid_of(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


def resource(name: str, number: int = 1, *, kind: str = "scaleway:instance/ip:Ip", **fields: Any) -> dict[str, Any]:
    return {
        "urn": urn(name, kind),
        "custom": True,
        "id": f"fr-par-1/{uuid_of(number)}",
        "type": kind,
        "inputs": {"zone": "fr-par-1", "tags": ["t"]},
        "outputs": {"zone": "fr-par-1", "tags": ["t"]},
        "parent": STACK,
        "provider": f"{PROVIDER}::{PROVIDER_ID}",
        **fields,
    }


def export(*resources: dict[str, Any], pending: list[dict[str, Any]] | None = None, **fields: Any) -> dict[str, Any]:
    """What `stack export` prints, with the stack and a provider in front."""
    base: list[dict[str, Any]] = [
        {"urn": STACK, "custom": False, "type": "pulumi:pulumi:Stack", "outputs": fields.pop("outputs", {})},
        {
            "urn": PROVIDER,
            "custom": True,
            "id": PROVIDER_ID,
            "type": "pulumi:providers:scaleway",
            "inputs": {"version": "1.60.0", **fields.pop("config", {})},
        },
    ]
    deployment: dict[str, Any] = {"resources": [*base, *resources], **fields.pop("deployment", {})}
    if pending is not None:
        deployment["pending_operations"] = pending
    return {"version": 3, "deployment": deployment, **fields}


def result(name: str, op: str, *, kind: str = "scaleway:instance/ip:Ip") -> dict[str, Any]:
    return {"sequence": 1, "resOutputsEvent": {"metadata": {"op": op, "urn": urn(name, kind), "type": kind}}}


def read_error(name: str, message: str) -> dict[str, Any]:
    return {"sequence": 2, "diagnosticEvent": {"severity": "error", "urn": urn(name), "message": message}}


def lines(*events: dict[str, Any]) -> str:
    return "".join(json.dumps(event) + "\n" for event in [*events, {"sequence": 9, "cancelEvent": {}}])
