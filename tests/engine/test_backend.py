"""A file backend is found where the CLI finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.engine.backend import backend_of

CWD = Path("/work/here")
ENV = {"HOME": "/home/ci"}


@pytest.mark.parametrize(
    ("url", "directory"),
    [
        ("file:///var/state", "/var/state"),
        ("file://~", "/home/ci"),
        ("file://~/state", "/home/ci/state"),
        ("file://./state", "/work/here/state"),
        ("file://state", "/work/here/state"),
        ("file://../state", "/work/state"),
        ("file:///var/state?no_tmp_dir=true", "/var/state"),
        ("file:///var/my%20state", "/var/my state"),
    ],
)
def test_a_file_backend_lies_in(url: str, directory: str) -> None:
    assert backend_of(url, env=ENV, cwd=CWD).directory == Path(directory)


def test_a_relative_backend_means_the_same_place_in_another_directory() -> None:
    found = backend_of("file://./state?no_tmp_dir=true", env=ENV, cwd=CWD)
    assert backend_of(found.url, env=ENV, cwd=Path("/elsewhere")).directory == found.directory
    assert found.url.endswith("?no_tmp_dir=true")


@pytest.mark.parametrize("url", ["s3://bucket", "gs://b", "azblob://b", "postgres://u:p@host/db"])
def test_an_object_store_tells_no_locks(url: str) -> None:
    found = backend_of(url, env=ENV, cwd=CWD)
    assert found.directory is None
    assert not found.cloud
    assert found.url == url


def test_pulumi_cloud_is_one() -> None:
    assert backend_of("https://api.pulumi.com", env=ENV, cwd=CWD).cloud


def test_a_password_in_a_url_is_not_in_the_repr() -> None:
    assert "hunter2" not in repr(backend_of("postgres://u:hunter2@host/db", env=ENV, cwd=CWD))
