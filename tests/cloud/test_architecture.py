"""What the tree itself must show: one door, one client, and nothing heavy at import time."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import reconciler
from reconciler.cloud import ScalewayCloud
from reconciler.cloud.credentials import Credentials, Secret
from reconciler.kernel.clock import VirtualClock
from reconciler.ports.cloud import Cloud
from tests.cloud.wire import PROJECT, SECRET

ROOT = Path(reconciler.__file__).parent
DOOR = ROOT / "cloud" / "destroy.py"
# These answer such requests from others, and send none to the provider.
SERVERS = (ROOT / "simulator", ROOT / "engine" / "adoption")
DESTRUCTIVE = re.compile(r"DELETE|terminate|.*stop-and-delete.*", re.DOTALL)


def sources(*, without: tuple[Path, ...] = ()) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        if not any(path.is_relative_to(folder) for folder in without):
            yield path, ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def docstrings(tree: ast.Module) -> set[int]:
    """The ids of the constant nodes that are docstrings or bare strings."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def destructive_words(tree: ast.Module) -> list[str]:
    prose = docstrings(tree)
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in prose
        and DESTRUCTIVE.fullmatch(node.value)
    ]


def test_the_door_holds_the_destructive_requests() -> None:
    assert {"DELETE", "terminate"} <= set(destructive_words(ast.parse(DOOR.read_text(encoding="utf-8"))))


def test_no_other_module_holds_one() -> None:
    found = {str(path): destructive_words(tree) for path, tree in sources(without=(DOOR, *SERVERS))}
    assert {path: words for path, words in found.items() if words} == {}


def calls_of(tree: ast.Module, name: str) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
    ]


def test_the_methods_of_all_other_writes_to_the_cloud_are_spelled_out_and_harmless() -> None:
    """Whoever calls `Api.send` outside of the door names PATCH as a constant."""
    for path, tree in sources(without=(DOOR, *SERVERS)):
        if not path.is_relative_to(ROOT / "cloud"):
            continue
        for call in calls_of(tree, "send"):
            method = call.args[0]
            assert isinstance(method, ast.Constant), path
            assert method.value == "PATCH", path


def test_in_the_cloud_room_one_module_speaks_http() -> None:
    users = {
        path.name
        for path, tree in sources(without=SERVERS)
        if path.is_relative_to(ROOT / "cloud")
        for node in ast.walk(tree)
        if isinstance(node, ast.Import) and any(name.name == "httpx2" for name in node.names)
    }
    # client.py names a type of it, under TYPE_CHECKING.
    assert users == {"transport.py", "client.py"}


@pytest.mark.parametrize("word", ["time.time", "time.sleep", "random.random", "datetime.now", "monotonic_ns"])
def test_time_and_chance_come_from_outside(word: str) -> None:
    for path in sorted((ROOT / "cloud").rglob("*.py")):
        assert word not in path.read_text(encoding="utf-8"), path


def test_every_error_of_the_room_has_its_own_code() -> None:
    """One code, one condition: RC03 for keys, RC04 for the cloud; a code may recur only inside one module."""
    seen: dict[str, set[str]] = {}
    for path in sorted((ROOT / "cloud").rglob("*.py")):
        for code in re.findall(r'code="(RC\d{4})"', path.read_text(encoding="utf-8")):
            assert code[:4] in ("RC03", "RC04"), path
            seen.setdefault(code, set()).add(path.name)
    assert {code: files for code, files in seen.items() if len(files) > 1} == {}
    assert len(seen) >= 20


def test_importing_the_room_loads_neither_httpx2_nor_pydantic() -> None:
    code = "import sys, reconciler.cloud; print([m for m in ('httpx2', 'pydantic', 'structlog') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_making_a_client_loads_no_httpx2_before_the_first_call() -> None:
    code = (
        "import sys\nfrom reconciler.cloud import ScalewayCloud, Credentials\n"
        "from reconciler.cloud.credentials import Secret\nfrom reconciler.kernel.clock import SystemClock\n"
        f"ScalewayCloud(Credentials(secret_key=Secret('{SECRET}'), project='{PROJECT}'), clock=SystemClock())\n"
        "print('httpx2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_client_is_the_port() -> None:
    cloud: Cloud = ScalewayCloud(Credentials(secret_key=Secret(SECRET), project=PROJECT), clock=VirtualClock())
    assert cloud.project == PROJECT
    assert len(cloud.zones()) == len(set(cloud.zones())) == 10
