"""Official releases: downloaded from a loopback server, and used only if the published checksum fits."""

from __future__ import annotations

import hashlib
import io
import platform
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.tools.fakes import make_tree
from tools.console import ToolError
from tools.pins import LANGUAGE, PULUMI, SCALEWAY, Pins
from tools.release import Downloader, Release, Unreachable, published_digest, pulumi_release, scaleway_release, within
from tools.shelf import Shelf


class Site:
    """A server of files, which remembers what was asked of it."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                body = site.files.get(self.path)
                self.send_response(200 if body is not None else 404)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    def publish(self, release: Release, archive: bytes, checksums: str) -> None:
        self.files[release.url("", release.archive)] = archive
        self.files[release.url("", release.checksums)] = checksums.encode()


@pytest.fixture
def site() -> Iterator[Site]:
    opened = Site()
    yield opened
    opened.close()


@pytest.fixture
def pins(tmp_path: Path) -> Pins:
    return make_tree(tmp_path / "tree")


@pytest.fixture
def downloader(site: Site, tmp_path: Path) -> Downloader:
    return Downloader(Shelf(tmp_path / "cache"), base=site.url)


def bundle(*members: tuple[str, int]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, mode in members:
            body = f"#!/bin/sh\necho {name}\n".encode()
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(body), mode
            archive.addfile(member, io.BytesIO(body))
    return buffer.getvalue()


PULUMI_BUNDLE = bundle(("pulumi/pulumi", 0o755), (f"pulumi/{LANGUAGE}", 0o755), (f"pulumi/{LANGUAGE}-exec", 0o755))


def sha256(data: bytes, name: str) -> str:
    return f"{hashlib.sha256(data).hexdigest()}  {name}\n"


def test_a_release_with_the_published_checksum_is_used(site: Site, downloader: Downloader, pins: Pins) -> None:
    release = pulumi_release(pins)
    site.publish(release, PULUMI_BUNDLE, sha256(PULUMI_BUNDLE, release.archive))
    directory = downloader.fetch(release)
    assert sorted(path.name for path in directory.iterdir()) == [PULUMI, LANGUAGE, f"{LANGUAGE}-exec"]


def test_a_release_is_downloaded_once(site: Site, downloader: Downloader, pins: Pins) -> None:
    release = pulumi_release(pins)
    site.publish(release, PULUMI_BUNDLE, sha256(PULUMI_BUNDLE, release.archive))
    assert downloader.fetch(release) == downloader.fetch(release)
    assert len(site.asked) == 2


def test_a_release_with_another_checksum_is_refused_and_not_kept(
    site: Site, downloader: Downloader, pins: Pins, tmp_path: Path
) -> None:
    release = pulumi_release(pins)
    site.publish(release, PULUMI_BUNDLE, sha256(b"something else", release.archive))
    with pytest.raises(ToolError, match="not what its publisher says") as caught:
        downloader.fetch(release)
    assert caught.value.code == "RC8003"
    assert downloader.had(release) is None
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["lock"]


def test_the_plugins_release_publishes_sha1_of_names_with_a_dot(site: Site, downloader: Downloader, pins: Pins) -> None:
    release, archive = scaleway_release(pins), bundle((SCALEWAY, 0o755), ("README.md", 0o644))
    digest = hashlib.sha1(archive, usedforsecurity=False).hexdigest()
    site.publish(release, archive, f"{'0' * 40}  ./other.tar.gz\n{digest}  ./{release.archive}\n")
    assert (downloader.fetch(release) / SCALEWAY).read_bytes().endswith(b"pulumi-resource-scaleway\n")


def test_a_release_without_a_published_checksum_is_not_downloaded(
    site: Site, downloader: Downloader, pins: Pins
) -> None:
    release = pulumi_release(pins)
    site.publish(release, PULUMI_BUNDLE, "<html>please log in</html>")
    with pytest.raises(Unreachable, match="no checksum"):
        downloader.fetch(release)
    assert len(site.asked) == 1


def test_an_archive_without_the_executable_is_refused(site: Site, downloader: Downloader, pins: Pins) -> None:
    release, archive = scaleway_release(pins), bundle((SCALEWAY, 0o644))
    site.publish(release, archive, sha256(archive, release.archive))
    with pytest.raises(ToolError, match="has no") as caught:
        downloader.fetch(release)
    assert caught.value.code == "RC8004"


def test_an_archive_writes_nothing_outside_its_own_directory(
    site: Site, downloader: Downloader, pins: Pins, tmp_path: Path
) -> None:
    release, archive = (
        scaleway_release(pins),
        bundle((SCALEWAY, 0o755), ("../../escaped", 0o755), ("/tmp/x/abs", 0o755)),
    )
    site.publish(release, archive, sha256(archive, release.archive))
    directory = downloader.fetch(release)
    assert [path.name for path in directory.iterdir()] == [SCALEWAY]
    assert not list(tmp_path.rglob("escaped"))


def test_a_publisher_without_one_release_is_still_asked_for_another(
    site: Site, downloader: Downloader, pins: Pins
) -> None:
    release, archive = scaleway_release(pins), bundle((SCALEWAY, 0o755))
    site.publish(release, archive, sha256(archive, release.archive))
    with pytest.raises(Unreachable, match="404"):
        downloader.fetch(pulumi_release(pins))
    assert downloader.fetch(release).is_dir()


def test_a_publisher_that_does_not_answer_is_asked_once(
    tmp_path: Path, pins: Pins, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloader = Downloader(Shelf(tmp_path / "cache"), base="http://127.0.0.1:1")
    with pytest.raises(Unreachable, match="does not answer"):
        downloader.fetch(pulumi_release(pins))
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("asked again"))
    with pytest.raises(Unreachable, match="does not answer"):
        downloader.fetch(scaleway_release(pins))


def test_a_network_that_never_answers_costs_no_more_than_the_deadline() -> None:
    never = threading.Event()
    with pytest.raises(Unreachable, match="no answer"):
        within(0.05, lambda: str(never.wait(30)))
    never.set()


@pytest.mark.parametrize(("system", "machine"), [("FreeBSD", "amd64"), ("Linux", "riscv64")])
def test_a_platform_without_a_release_is_unreachable(
    pins: Pins, monkeypatch: pytest.MonkeyPatch, system: str, machine: str
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    for release in (pulumi_release, scaleway_release):
        with pytest.raises(Unreachable, match=machine):
            release(pins)


def test_each_publisher_names_the_processor_in_its_own_way(pins: Pins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert pulumi_release(pins).archive == "pulumi-v3.274.1-linux-x64.tar.gz"
    assert scaleway_release(pins).archive == "pulumi-resource-scaleway-v1.60.0-linux-amd64.tar.gz"


@pytest.mark.parametrize("line", ["{d}  a.tar.gz", "{d} *a.tar.gz", "{d}  ./a.tar.gz"])
def test_a_checksum_is_found_in_each_notation_of_shasum(line: str) -> None:
    digest = "ab" * 32
    found = published_digest("junk\n" + line.format(d=digest.upper()) + "\n", "a.tar.gz")
    assert found == digest
