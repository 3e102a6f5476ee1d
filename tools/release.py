"""Downloads official releases from GitHub and checks them against the checksums published beside them.

A closed network must cost little: the checksum file, small, is asked for first, with a short timeout and a
deadline for everything before the answer, name resolution included.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import platform
import shutil
import tarfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.console import ToolError, say
from tools.pins import LANGUAGE, PULUMI, SCALEWAY, Pins
from tools.shelf import Shelf

GITHUB = "https://github.com"
CONNECT_SECONDS = 3.0
PROBE_SECONDS = 6.0
READ_SECONDS = 60.0
_CHUNK = 1024 * 1024
# By the length of the digest in hexadecimal. The Scaleway plugin's releases publish SHA-1 only.
_ALGORITHMS = {40: "sha1", 64: "sha256", 128: "sha512"}


class Unreachable(Exception):
    """The release cannot be had here: no network, no such platform, or not what was expected."""


class NoAnswer(Unreachable):
    """There is no way to the publisher at all, so there is no use in asking it for anything else."""


@dataclass(frozen=True, slots=True)
class Release:
    """One archive of one release. `executables` must be in it; `prefix` is the directory that holds them."""

    tool: str
    version: str
    repository: str
    archive: str
    checksums: str
    prefix: str
    executables: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.tool}-release-{self.version}"

    def url(self, base: str, file: str) -> str:
        return f"{base}/{self.repository}/releases/download/v{self.version}/{file}"


def _platform(machines: dict[str, str]) -> str:
    system, machine = platform.system().lower(), machines.get(platform.machine().lower())
    if system not in ("linux", "darwin") or machine is None:
        raise Unreachable(f"there is no release for {platform.system()} on {platform.machine()}")
    return f"{system}-{machine}"


def pulumi_release(pins: Pins) -> Release:
    """Raises Unreachable on a platform without a release."""
    where = _platform({"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"})
    return Release(
        tool=PULUMI,
        version=pins.pulumi,
        repository="pulumi/pulumi",
        archive=f"pulumi-v{pins.pulumi}-{where}.tar.gz",
        checksums=f"pulumi-{pins.pulumi}-checksums.txt",
        prefix="pulumi",
        executables=(PULUMI, LANGUAGE, f"{LANGUAGE}-exec"),
    )


def scaleway_release(pins: Pins) -> Release:
    """Raises Unreachable on a platform without a release."""
    where = _platform({"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"})
    return Release(
        tool=SCALEWAY,
        version=pins.scaleway,
        repository="pulumiverse/pulumi-scaleway",
        archive=f"{SCALEWAY}-v{pins.scaleway}-{where}.tar.gz",
        checksums=f"pulumi-scaleway_{pins.scaleway}_checksums.txt",
        prefix="",
        executables=(SCALEWAY,),
    )


def published_digest(text: str, archive: str) -> str | None:
    """The digest of `archive` in the output of shasum, where names may carry "./" or "*"."""
    for line in text.splitlines():
        digest, _, name = line.strip().partition(" ")
        if name.strip().lstrip("*").removeprefix("./") == archive and len(digest) in _ALGORITHMS:
            return digest.lower()
    return None


def file_digest(path: Path, published: str) -> str:
    """The file's digest by the algorithm that the published one has."""
    digest = hashlib.new(_ALGORITHMS[len(published)], usedforsecurity=False)
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def within(seconds: float, function: Callable[[], str]) -> str:
    """The function's result, or NoAnswer after so many seconds: no timeout covers name resolution."""
    results: list[str] = []
    errors: list[BaseException] = []

    def attempt() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise NoAnswer(f"no answer within {seconds:.0f} s")
    return results[0]


class Downloader:
    """Fetches releases from `base`. When that does not answer it stays off the network."""

    def __init__(self, shelf: Shelf, *, base: str = GITHUB, probe_seconds: float = PROBE_SECONDS) -> None:
        self._shelf = shelf
        self._base = base
        self._probe_seconds = probe_seconds
        self._unreachable: str | None = None

    def had(self, release: Release) -> Path | None:
        """The directory of a release that was downloaded before."""
        return self._shelf.entry(release.name) if self._shelf.has(release.name, release.executables) else None

    def fetch(self, release: Release) -> Path:
        """The directory with the release's executables. Raises Unreachable, or ToolError RC8003 for a bad digest."""
        had = self.had(release)
        if had is not None:
            return had
        if self._unreachable is not None:
            raise Unreachable(self._unreachable)
        try:
            published = self._published(release)
        except NoAnswer as error:
            self._unreachable = f"{self._base} does not answer: {error}"
            raise Unreachable(self._unreachable) from error
        with self._shelf.locked():
            return self.had(release) or self._shelf.make(
                release.name, lambda part: self._download(release, published, part)
            )

    def _published(self, release: Release) -> str:
        url = release.url(self._base, release.checksums)
        text = within(self._probe_seconds, lambda: _get_text(url))
        digest = published_digest(text, release.archive)
        if digest is None:
            raise Unreachable(f"{url} has no checksum of {release.archive}")
        return digest

    def _download(self, release: Release, published: str, part: Path) -> None:
        url = release.url(self._base, release.archive)
        say(f"downloading {url}")
        archive = part / ".download"
        _get_file(url, archive)
        found = file_digest(archive, published)
        if found != published:
            raise ToolError(
                f"{url} is not what its publisher says it is: digest {found}, published {published}",
                code="RC8003",
                hint="try again; if it stays, do not use it: `--source modules` builds from checked sources",
            )
        _extract(archive, part, release)
        archive.unlink()


def _get_text(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=CONNECT_SECONDS) as answer:
            return str(answer.read(_CHUNK).decode("utf-8", errors="replace"))
    except urllib.error.HTTPError as error:
        raise Unreachable(f"{url}: {error}") from error
    except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
        raise NoAnswer(_reason(error)) from error


def _get_file(url: str, target: Path) -> None:
    try:
        with urllib.request.urlopen(url, timeout=READ_SECONDS) as answer, target.open("wb") as output:
            shutil.copyfileobj(answer, output, _CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"{url}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return str(error.reason) if isinstance(error, urllib.error.URLError) else str(error)


def _extract(archive: Path, part: Path, release: Release) -> None:
    """Take the files directly below the prefix; anything else in the archive is left there."""
    try:
        with tarfile.open(archive, "r:gz") as bundle:
            for member in bundle:
                directory, _, name = member.name.removeprefix("./").rpartition("/")
                if member.isfile() and directory == release.prefix and name:
                    _write(bundle, member, part / name)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise _unusable(release, str(error)) from error
    missing = [name for name in release.executables if not os.access(part / name, os.X_OK)]
    if missing:
        raise _unusable(release, f"it has no {', '.join(missing)}")


def _write(bundle: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    source = bundle.extractfile(member)
    assert source is not None  # it is a file
    with source, target.open("wb") as output:
        shutil.copyfileobj(source, output, _CHUNK)
    target.chmod(0o755 if member.mode & 0o111 else 0o644)


def _unusable(release: Release, reason: str) -> ToolError:
    return ToolError(
        f"the archive {release.archive} cannot be used: {reason}",
        code="RC8004",
        hint="`--source modules` builds the same version from Go modules",
    )
