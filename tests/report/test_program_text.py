"""The declarations that `adopt --write-code` writes."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.resources import Kind, Nic, Other, Resource, Volume
from reconciler.report.program_text import WRITABLE, program_text
from tests.builders import HOSTILE, PROJECT, ZONE, ip, machine, nic, uid, volume, with_parts

ONE = machine(0)
NET = Other(
    id=uid("net"), zone="fr-par", project=PROJECT, kind=Kind.PRIVATE_NETWORK, name="net", details=(("vpc", "v"),)
)
CARD = nic("card", server_id=ONE.server.id)
DATA = volume("data", server_id=ONE.server.id, tags=("a" * 60, "b" * 60))
SERVER = with_parts(ONE.server, ONE.root, DATA, ONE.ip, CARD)
ALL: tuple[Resource, ...] = (SERVER, ONE.ip, DATA, CARD, NET)


def written(*resources: Resource, roots: tuple[Volume, ...] = (ONE.root,)) -> str:
    return program_text(resources or ALL, roots={one.id: one for one in roots})


def calls(text: str) -> dict[str, ast.Call]:
    """Variable -> the call that it is."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
            found[node.targets[0].id] = node.value
    return found


def argument(call: ast.Call, name: str) -> str:
    return next(ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg == name)


def test_the_order_of_the_ids_does_not_matter() -> None:
    assert written(*reversed(ALL)) == written(*ALL)


def test_it_is_written_as_the_formatter_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "found.py"
    path.write_text(written())
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--isolated", "--diff", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "")


def test_what_is_declared_here_is_referred_to_by_its_variable() -> None:
    found = calls(written())
    server = found["linux_0"]
    assert argument(server, "ip_ids") == "[ip_51_15_0_1.id]"
    assert argument(server, "additional_volume_ids") == "[ubuntu_24_04_noble_numbat_sbs_volume_0.id]"
    assert argument(found[f"nic_{CARD.id[:8]}"], "server_id") == "linux_0.id"
    assert argument(found[f"nic_{CARD.id[:8]}"], "private_network_id") == "net.id"


def test_what_is_not_is_referred_to_by_its_id() -> None:
    assert argument(calls(written(SERVER))["linux_0"], "ip_ids") == f"['{ZONE}/{ONE.ip.id}']"


def test_user_data_is_not_written_and_said_not_to_be() -> None:
    text = written(SERVER)
    assert "# user_data and cloud_init are not written" in text
    assert not {"user_data", "cloud_init"} & {keyword.arg for keyword in calls(text)["linux_0"].keywords}


def test_two_of_one_name_get_names_of_their_own() -> None:
    one, two = volume("x"), volume("y")
    names = [ast.literal_eval(call.args[0]) for call in calls(written(one, two)).values()]
    assert len(set(names)) == 2


@pytest.mark.parametrize("name", [HOSTILE, "class", "1st", "", "scaleway", "a::b", "\ud800"])
def test_any_name_is_a_python_name_and_a_literal(name: str) -> None:
    text = written(volume("x", name=name))
    (call,) = calls(text).values()
    assert argument(call, "name") == repr(name)
    assert text.isascii()
    assert "::" not in ast.literal_eval(call.args[0])


@given(tags=st.lists(st.text(max_size=90), max_size=6))
def test_any_tags_come_back_as_they_are(tags: list[str]) -> None:
    (call,) = calls(written(ip("x", tags=tuple(tags)))).values()
    given_tags = [ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg == "tags"]
    assert given_tags == ([tags] if tags else [])


def test_a_comment_cannot_end_its_line() -> None:
    text = written(ip("x", reverse="a\nimport os"))
    assert "\nimport os" not in text


def test_every_kind_that_is_offered_can_be_written() -> None:
    assert {one.ref.kind for one in ALL} == WRITABLE
    assert len(calls(written())) == len(ALL)
    assert isinstance(CARD, Nic)
