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


# -- what is wrong, and what each command says to it


@dataclass(frozen=True)
class Bad:
    """`prepare` makes it wrong on disk or in the cloud, `env` for the command. (status, code) of `drift` and of
    `apply -y`."""

    name: str
    drift: tuple[int, str]
    apply: tuple[int, str]
    prepare: Callable[[Rig], object] = lambda rig: None
    env: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def locked(rig: Rig) -> None:
    project, stack = STACK.split("/")
    folder = rig.backend / ".pulumi" / "locks" / "organization" / project / stack
    folder.mkdir(parents=True, exist_ok=True)
    since = datetime.now(UTC).isoformat()
    lock = {"pid": 4711, "username": "ci", "hostname": "elsewhere", "timestamp": since}
    (folder / f"{uuid.uuid4()}.json").write_text(json.dumps(lock))


def newer_checkpoint(rig: Rig) -> None:
    edit_checkpoint(rig, lambda document: document.update(version=9))


def duplicate_urns(rig: Rig) -> None:
    def edit(document: dict[str, Any]) -> None:
        resources = document["checkpoint"]["latest"]["resources"]
        resources.append(resources[-1])

    edit_checkpoint(rig, edit)


def dangling_provider(rig: Rig) -> None:
    def edit(document: dict[str, Any]) -> None:
        resources = document["checkpoint"]["latest"]["resources"]
        resources[:] = [item for item in resources if not item["type"].startswith("pulumi:providers:")]

    edit_checkpoint(rig, edit)


def newer_schema(rig: Rig) -> None:
    with sqlite3.connect(rig.root / "memory.db") as connection:
        connection.execute("UPDATE reconciler_version SET version_num = 'v9999'")
    connection.close()


def config(text: str) -> Callable[[Rig], object]:
    return lambda rig: (rig.root / CONFIG_FILE).write_text(text)


DOWN = {"RECONCILER_DATABASE_URL": "postgresql://u:swordfish@127.0.0.1:9/x"}
BAD = (
    Bad("a wrong key", (3, "RC0309"), (3, "RC0309"), env={"SCW_SECRET_KEY": "00000000-0000-4000-8000-000000000000"}),
    Bad("an API that cannot be reached", (7, "RC0401"), (7, "RC0401"), env={"SCW_API_URL": "http://127.0.0.1:9"}),
    Bad("no state backend", (7, "RC0509"), (7, "RC0509"), env={"PULUMI_BACKEND_URL": "file:///nowhere/at/all"}),
    Bad("a locked stack", (7, "RC0712"), (7, "RC0712"), locked),
    Bad("a checkpoint of a newer engine", (7, "RC0505"), (7, "RC0505"), newer_checkpoint),
    Bad("a checkpoint with a URN twice", (7, "RC0506"), (7, "RC0506"), duplicate_urns),
    Bad("a checkpoint without its provider", (7, "RC0506"), (7, "RC0506"), dangling_provider),
    Bad("an unknown table", (64, "RC0113"), (64, "RC0113"), config(f"{CONFIG}\n[limit]\nx = 1\n")),
    Bad("an unknown key", (64, "RC0113"), (64, "RC0113"), config(CONFIG.replace("zones", "zone"))),
    Bad("an unknown zone", (64, "RC0116"), (64, "RC0116"), config(CONFIG.replace(ZONE, "mars-1"))),
    Bad("a database that is down", (7, "RC0201"), (6, "RC0144"), env=DOWN),
    Bad(
        "a database that cannot be made",
        (7, "RC0202"),
        (6, "RC0144"),
        env={"RECONCILER_DATABASE_URL": "sqlite:////proc/x"},
    ),
    Bad("a database of a newer version", (7, "RC0203"), (6, "RC0144"), newer_schema),
)


def explained(said: Said, expected: tuple[int, str]) -> None:
    status, code = expected
    assert said.status == status, said
    assert code in said.codes, said
    for line, after in zip(said.stderr.splitlines(), [*said.stderr.splitlines()[1:], ""], strict=True):
        assert not line.startswith("error[") or (after.startswith("hint: ") and len(after) > 10), said.stderr
    assert "hint: " in said.stdout + said.stderr, said
    assert "swordfish" not in said.stdout + said.stderr


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_bad_input_is_named_and_nothing_is_touched(bad: Bad, rig: Rig) -> None:
    bad.prepare(rig)
    before = everything(rig)
    drift, apply = run(rig, "drift", **bad.env), run(rig, "apply", "-y", **bad.env)
    assert everything(rig) == before
    explained(drift, bad.drift)
    explained(apply, bad.apply)


def test_a_sweep_with_a_wrong_key_is_not_remembered(rig: Rig) -> None:
    def sweeps() -> Any:
        with sqlite3.connect(rig.root / "memory.db") as connection:
            found = connection.execute("SELECT count(*) FROM sweeps").fetchone()
        connection.close()
        return found

    before = sweeps()
    assert run(rig, "drift", SCW_SECRET_KEY=str(uuid.uuid4())).status == 3
    assert sweeps() == before


def test_the_same_fleet_with_the_right_input_is_repaired_and_then_in_sync(rig: Rig) -> None:
    """The control: there is work to do, two refreshes of one stack among it; a stack without fleets is no error."""
    rig.stranger("protect", server=rig.provider_ids()["linux-0-server"])
    assert run(rig, "drift").status == 2
    assert run(rig, "apply", "-y").status == 0
    assert run(rig, "drift").status == 0


def test_a_kind_without_the_right_is_unknown_and_nothing_of_it_is_deleted(rig: Rig) -> None:
    with rig.simulator.editing() as world:
        addresses = {ip.id for ip in world.ips}
    kinds = ["server", "volume", "block_volume", "private_nic", "ipam_ip", "catalog", "product"]
    rig.stranger("set_key", access_key=ACCESS_KEY, kinds=kinds)
    drift = run(rig, "drift", "-o", "json")
    assert drift.status == 7
    applied = run(rig, "apply", "-y")
    assert applied.status == 7
    with rig.simulator.editing() as world:
        assert {ip.id for ip in world.ips} == addresses
    unread = [one for one in drift.document["incomplete"] if one["kind"] == "ip"]
    assert [one["reason"] for one in unread] == ["HTTP 403 permissions_denied insufficient permissions"]
    assert [(one["code"], len(one["hint"]) > 20) for one in unread] == [("RC0710", True)]
    assert "RC0710" in applied.codes


# -- plan files


def edited(text: str) -> str:
    return text.replace('"prune"', '"repair"', 1)


def test_an_edited_plan_is_refused(rig: Rig) -> None:
    plan = rig.root / "plan.json"
    plan.write_text(edited(plan.read_text()))
    before = everything(rig)
    explained(run(rig, "apply", "plan.json"), (6, "RC0602"))
    assert everything(rig) == before


def test_an_expired_plan_is_refused(rig: Rig) -> None:
    rig.clock.advance(TWO_HOURS)
    before = everything(rig)
    explained(run(rig, "apply", "plan.json"), (6, "RC0604"))
    assert everything(rig) == before


def test_a_plan_is_applied_once(rig: Rig) -> None:
    assert run(rig, "apply", "plan.json").status == 0
    before = everything(rig)
    explained(run(rig, "apply", "plan.json"), (6, "RC0606"))
    assert everything(rig) == before


def test_a_plan_whose_stack_was_written_since_is_refused(rig: Rig) -> None:
    edit_checkpoint(rig, lambda document: document["checkpoint"]["latest"]["resources"].pop())
    before = everything(rig)
    explained(run(rig, "apply", "plan.json"), (6, "RC0608"))
    assert everything(rig) == before


# -- text from outside

EVIL = (
    'he said "no"',
    "two\nlines",
    "bell\x07",
    "\x1b[31mred",
    "right\u202eleft",
    "zero\u200bwidth",
    "back\\slash",
    "<b>",
)


def printable(text: str) -> bool:
    return all(char == "\n" or unicodedata.category(char) not in ("Cc", "Cf") for char in text)


def test_tags_with_control_and_bidi_characters_are_kept_and_never_shown_raw(rig: Rig) -> None:
    root = root_of(rig, rig.provider_ids()["linux-2-server"])
    rig.stranger("set_tags", id=root, tags=list(EVIL))
    rig.stranger("add_server", name=f"name{EVIL[3]}{EVIL[4]}", tags=[*EVIL, *slot_tags(7)])
    said, document = run(rig, "drift", "-v"), run(rig, "drift", "-o", "json")
    plan = run(rig, "plan")
    for text in (said.stdout, said.stderr, plan.stdout, plan.stderr):
        assert printable(text)
        assert EVIL[1] not in text
    assert said.status == document.status == 2
    assert document.document["exit_code"] == 2
    assert run(rig, "apply", "-y").status == 0  # the newcomer waits for its grace
    with rig.simulator.editing() as world:
        volume = world.block_volumes.get(root)
        assert volume is not None
        assert set(volume.tags) >= {*EVIL, *OWNER}


def test_ten_megabytes_of_user_data_are_not_read_by_a_sweep_and_do_not_stop_a_refresh(rig: Rig) -> None:
    assert run(rig, "apply", "-y").status == 0
    server = rig.provider_ids()["linux-0-server"]
    rig.stranger("set_user_data", server=server, key="blob", value="x" * 10_000_000)
    rig.stranger("protect", server=server)
    rig.simulator.traffic.reset()
    assert run(rig, "drift").status == 2
    assert [entry.path for entry in rig.simulator.traffic.entries() if "user_data" in entry.path] == []
    assert run(rig, "apply", "-y").status == 0
    assert run(rig, "drift").status == 0


# -- databases that others run


@pytest.mark.postgres
def test_a_read_only_database_is_named_and_nothing_is_touched(rig: Rig) -> None:
    try:
        with temporary_cluster() as cluster:
            explained_read_only(rig, cluster)
    except PostgresUnavailable as error:
        pytest.skip(str(error))


def explained_read_only(rig: Rig, cluster: Cluster) -> None:
    url = cluster.create_database("memory")
    upgrade(url)
    cluster.sql("ALTER DATABASE memory SET default_transaction_read_only = on")
    before = everything(rig)
    explained(run(rig, "drift", RECONCILER_DATABASE_URL=url), (7, "RC0202"))
    explained(run(rig, "apply", "-y", RECONCILER_DATABASE_URL=url), (6, "RC0144"))
    assert everything(rig) == before


@pytest.mark.postgres
def test_a_database_without_a_schema_is_named_and_left_alone(rig: Rig) -> None:
    """On PostgreSQL only `db upgrade` makes tables."""
    try:
        with temporary_cluster() as cluster:
            url = cluster.create_database("empty")
            explained(run(rig, "apply", "-y", RECONCILER_DATABASE_URL=url), (6, "RC0144"))
            query = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            assert cluster.sql(query) == "0"
    except PostgresUnavailable as error:
        pytest.skip(str(error))
