"""The pipelines in the documentation are pipelines: they parse, and check before they deploy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.cli.table import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.M | re.S)
PIPELINES = [
    pytest.param(page, block, id=f"{page.stem}-{number}")
    for page in sorted((ROOT / "docs").glob("*.md"))
    for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
]


def commands(value: Any) -> list[str]:
    """Everything that a pipeline runs, in order."""
    if isinstance(value, dict):
        found = [value["run"]] if isinstance(value.get("run"), str) else []
        return found + [line for key, child in value.items() if key != "run" for line in commands(child)]
    if isinstance(value, list):
        return [line for child in value for line in ([child] if isinstance(child, str) else commands(child))]
    return []


@pytest.mark.parametrize(("page", "text"), PIPELINES)
def test_every_pipeline_parses_and_runs_commands_that_exist(page: Path, text: str) -> None:
    named = re.findall(r"\breconciler ([a-z]+)", "\n".join(commands(yaml.safe_load(text))))
    assert set(named) <= COMMANDS.keys(), page.name


def test_each_deploy_of_the_preflight_page_checks_first() -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "preflight.md").read_text(encoding="utf-8"))
    assert len(blocks) == 2
    for block in blocks:
        lines = [line for line in commands(yaml.safe_load(block)) if "preflight" in line or "pulumi up" in line]
        assert ["preflight" in line for line in lines] == [True, False]
