"""What the engine says: `pulumi refresh --preview-only` over the whole stack, past everything of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.e2e.product import STACK
from tests.e2e.rig import Rig


@dataclass(frozen=True)
class EngineVerdict:
    """`operation` is `same`, `update`, `delete`, or `failed` for a resource that could not be read. `paths` are those
    of the engine's detailed difference, without its own bookkeeping (`__meta`)."""

    operation: str
    paths: tuple[str, ...] = ()
    text: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.operation, ", ".join(self.paths), self.text)))


@dataclass(frozen=True)
class EngineSide:
    verdicts: Mapping[str, EngineVerdict]  # by URN
    calls: int


def ask_engine(rig: Rig) -> EngineSide:
    """Raises RuntimeError when the command fails for another reason than reads that fail."""
    project, _ = STACK.split("/")
    (rig.empty / "Pulumi.yaml").write_text(f"name: {project}\nruntime: python\n")
    rig.simulator.traffic.reset()
    done = rig.pulumi(
        "refresh",
        "--preview-only",
        "--run-program=false",
        "--json",
        "--stack",
        f"organization/{STACK}",
        PULUMI_ENABLE_STREAMING_JSON_PREVIEW="true",
        PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER="true",
    )
    verdicts = dict(_verdicts(done.stdout))
    if done.returncode != 0 and not any(one.operation == "failed" for one in verdicts.values()):
        raise RuntimeError(f"pulumi refresh ended with {done.returncode}: {done.stderr[-4000:]}{done.stdout[-4000:]}")
    return EngineSide(verdicts, rig.simulator.traffic.stats()["total"])


def _verdicts(text: str) -> dict[str, EngineVerdict]:
    found: dict[str, EngineVerdict] = {}
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        said = event.get("resOutputsEvent")
        if said is not None and not said["metadata"]["type"].startswith("pulumi:"):
            found[said["metadata"]["urn"]] = _of(said["metadata"])
        diagnostic = event.get("diagnosticEvent") or {}
        urn = diagnostic.get("urn")
        if diagnostic.get("severity") == "error" and urn and "pulumi:pulumi:Stack" not in urn:
            found.setdefault(urn, EngineVerdict("failed", text=diagnostic["message"].strip()[:200]))
    return found


def _of(metadata: Mapping[str, Any]) -> EngineVerdict:
    paths = sorted(path for path in metadata.get("detailedDiff") or {} if not path.startswith("__"))
    return EngineVerdict(str(metadata["op"]), tuple(paths))
