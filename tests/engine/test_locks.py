"""Locks of a file backend: all are seen, and only our own child's is ever removed."""

from __future__ import annotations

import json
from pathlib import Path

from reconciler.engine import locks
from reconciler.engine.stacks import StackName
from reconciler.kernel.clock import parse_instant

NAME = StackName("organization", "proj", "dev")
STAMP = "2026-11-30T01:07:45.891197926Z"
SINCE = parse_instant(STAMP)


def put(
    root: Path, file: str = "a.json", *, text: str | None = None, name: StackName = NAME, **content: object
) -> Path:
    directory = locks.directory_of(root, name)
    directory.mkdir(parents=True, exist_ok=True)
    full = {"pid": 1, "username": "ci", "hostname": locks.host(), "timestamp": STAMP, **content}
    path = directory / file
    path.write_text(json.dumps(full) if text is None else text)
    return path


def test_no_directory_is_no_lock(tmp_path: Path) -> None:
    assert locks.read(tmp_path, NAME) == ()


def test_a_lock_says_who_and_since_when(tmp_path: Path) -> None:
    put(tmp_path, pid=4711, hostname="build-7")
    (lock,) = locks.read(tmp_path, NAME)
    assert (lock.created_by, lock.pid, lock.created_ms, lock.source) == ("ci@build-7", 4711, SINCE, "a.json")
    assert locks.describe(lock) == "ci@build-7 (pid 4711) since 2026-11-30T01:07:45.891Z"


def test_every_lock_counts_and_another_stacks_does_not(tmp_path: Path) -> None:
    put(tmp_path, "a.json")
    put(tmp_path, "b.json")
    put(tmp_path, "c.json", name=StackName("organization", "proj", "prod"))
    assert len(locks.read(tmp_path, NAME)) == 2


def test_a_file_that_cannot_be_decoded_is_a_lock_too(tmp_path: Path) -> None:
    put(tmp_path, text="half of som")
    (lock,) = locks.read(tmp_path, NAME)
    assert lock.created_by == "unknown"


def test_attributes_beside_a_lock_are_none(tmp_path: Path) -> None:
    put(tmp_path, "a.json.attrs", text="{}")
    assert locks.read(tmp_path, NAME) == ()


def test_a_name_that_would_steer_a_terminal_is_shown_harmless(tmp_path: Path) -> None:
    put(tmp_path, username="\x1b[2Jevil")
    (lock,) = locks.read(tmp_path, NAME)
    assert "\x1b" not in lock.created_by


def test_the_lock_of_our_child_is_removed_with_its_attributes(tmp_path: Path) -> None:
    path = put(tmp_path, pid=42)
    attributes = put(tmp_path, "a.json.attrs", text="{}")
    assert locks.remove(tmp_path, NAME, pid=42, since_ms=SINCE - 1000) == 1
    assert not path.exists()
    assert not attributes.exists()


def test_nobody_elses_lock_is_removed(tmp_path: Path) -> None:
    kept = [
        put(tmp_path, "other-pid.json", pid=43),
        put(tmp_path, "other-host.json", pid=42, hostname="elsewhere"),
        put(tmp_path, "older.json", pid=42, timestamp="2026-11-29T01:07:45Z"),
        put(tmp_path, "undated.json", pid=42, timestamp="yesterday"),
        put(tmp_path, "garbage.json", text="{"),
        put(tmp_path, "a.json", pid=42, name=StackName("organization", "proj", "prod")),
    ]
    assert locks.remove(tmp_path, NAME, pid=42, since_ms=SINCE) == 0
    assert all(path.exists() for path in kept)
