"""The environment of the policy pack: made once, whole or not at all, and a clear word where it cannot be had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.console import ToolError
from tools.policy_env import REQUIREMENTS, ensure

# Stands in for uv: `venv DIR` makes an interpreter, `pip install` notes the call and ends as it is told.
UV = """#!/bin/sh
if [ "$1" = venv ]; then
  for last; do :; done
  mkdir -p "$last/bin" && printf '#!/bin/sh\\n' > "$last/bin/python" && chmod +x "$last/bin/python"
else
  echo "$@" >> "$CALLS"
  if [ -n "$FAIL" ]; then echo "no index" >&2; exit 1; fi
fi
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "uv").write_text(UV)
    (tools / "uv").chmod(0o755)
    return {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "RECONCILER_TOOLCHAIN_DIR": str(tmp_path / "cache"),
        "CALLS": str(tmp_path / "calls"),
        "FAIL": "",
    }


def test_it_is_made_once_from_the_packs_own_requirements(environ: dict[str, str]) -> None:
    first = ensure(environ)
    assert ensure(environ) == first
    calls = Path(environ["CALLS"]).read_text().splitlines()
    assert len(calls) == 1
    assert str(REQUIREMENTS) in calls[0]
    assert os.access(first / "bin" / "python", os.X_OK)


def test_one_that_cannot_be_made_leaves_nothing_that_looks_finished(environ: dict[str, str]) -> None:
    with pytest.raises(ToolError, match="no index") as caught:
        ensure({**environ, "FAIL": "1"})
    assert caught.value.code == "RC0850"
    assert not list(Path(environ["RECONCILER_TOOLCHAIN_DIR"]).glob("*policy*"))
    assert ensure(environ).is_dir()
