"""What is wrong around the product is named with a code, a hint and an exit status before anything is touched.

The real command, the real engine, a broken fleet that there is work for: were the input right, `apply` would tag,
refresh and delete.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import unicodedata
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reconciler.simulator import ACCESS_KEY, PROJECT_ID, ZONE
from reconciler.store import upgrade
from tests.e2e.broken_fleet import OWNER, Base, make_base, root_of, slot_tags
from tests.e2e.product import SCOPE_UUID, STACK
from tests.e2e.rig import Rig
from tools.postgres import Cluster, PostgresUnavailable, temporary_cluster

pytestmark = pytest.mark.engine

COMMAND = str(Path(sys.executable).with_name("reconciler"))
CONFIG = f"""
[state]
stacks = ["{STACK}"]

[[scope]]
name = "ci"
uuid = "{SCOPE_UUID}"
project = "{PROJECT_ID}"
zones = ["{ZONE}"]
ownership = "tags"

[limits]
reconcile = {{ count = 50, percent = 100, eur_month = 5000 }}
"""
CONFIG_FILE = "reconciler.toml"
TWO_HOURS = 7200
ERROR = re.compile(r"^(?:error\[|warning: )(RC\d{4})", re.MULTILINE)


@dataclass(frozen=True)
class Said:
    """What a command came to."""

    status: int
    stdout: str
    stderr: str

    @property
    def codes(self) -> set[str]:
        return set(ERROR.findall(self.stderr)) | set(re.findall(r"RC\d{4}", self.stdout))

    @property
    def document(self) -> Any:
        return json.loads(self.stdout)


def run(rig: Rig, *args: str, **env: str) -> Said:
    done = subprocess.run(
        [COMMAND, *args],
        env={**rig.env, "NO_COLOR": "1", **env},
        cwd=rig.root,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    return make_base(tmp_path_factory.mktemp("base"))


@pytest.fixture
def rig(base: Base, tmp_path: Path) -> Iterator[Rig]:
    with base.copy(tmp_path) as made:
        (tmp_path / CONFIG_FILE).write_text(CONFIG)
        yield made


def everything(rig: Rig) -> tuple[str, bytes, list[Path]]:
    return rig.cloud_text(), rig.checkpoint_file.read_bytes(), rig.lock_files()


def edit_checkpoint(rig: Rig, edit: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(rig.checkpoint_file.read_text())
    edit(document)
    rig.checkpoint_file.write_text(json.dumps(document))
