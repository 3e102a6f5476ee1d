"""A PostgreSQL server of its own for a test run, which is gone afterwards whatever happens to the run.

::

    with temporary_cluster() as cluster:
        engine = create_engine(cluster.url())

The server listens on a Unix socket in a private directory alone, so it meets no other server and no other user.
PostgreSQL refuses to run as root: then it runs as `postgres`, or as `nobody`.

A watchdog process ends it. The watchdog reads from a pipe that only the test run holds open; when the run closes it
(`stop`) or dies in any way, the read ends, and the watchdog stops the server and removes its directory.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

_PROGRAMS = ("initdb", "pg_ctl", "postgres")
_SUPERUSER = "postgres"
_PACKAGED = Path("/usr/lib/postgresql")
_STOP_SECONDS = 30
# Nothing here outlives the run, so nothing is worth an fsync; a deadlock is found sooner than a test gives up.
SETTINGS: Mapping[str, str] = {
    "autovacuum": "off",
    "deadlock_timeout": "200ms",
    "fsync": "off",
    "full_page_writes": "off",
    "jit": "off",
    "listen_addresses": "",
    "log_timezone": "UTC",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "synchronous_commit": "off",
    "timezone": "UTC",
}
# $1 pg_ctl, $2 data directory, $3 directory to remove. `cat` ends when the other end of the pipe is closed.
_WATCHDOG = 'cat >/dev/null; "$1" -D "$2" -m immediate -w stop >/dev/null 2>&1; rm -rf -- "$3"'


class PostgresUnavailable(Exception):
    """This machine cannot run a PostgreSQL server; the message says why and how to change that."""


def find_server(
    environment: Mapping[str, str] = os.environ, *, packaged: Path = Path("/usr/lib/postgresql")
) -> Path | None:
    """The directory with `initdb`, `pg_ctl` and `postgres`: on PATH, else the newest that Debian packaged."""
    on_path = shutil.which("pg_ctl", path=environment.get("PATH", ""))
    candidates = [Path(on_path).resolve().parent] if on_path else []
    versions = [path for path in packaged.glob("*/bin") if path.parent.name.split(".")[0].isdigit()]
    candidates += sorted(versions, key=lambda path: float(path.parent.name), reverse=True)
    for directory in candidates:
        if all(os.access(directory / program, os.X_OK) for program in _PROGRAMS):
            return directory
    return None


def server_user() -> str | None:
    """The user that the server is to run as; None is oneself. Raises PostgresUnavailable when there is none."""
    if os.geteuid() != 0:
        return None
    for name in (_SUPERUSER, "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    raise PostgresUnavailable("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


class Cluster:
    """A running server. Use `start` or `temporary_cluster` to get one."""

    def __init__(self, *, programs: Path, directory: Path, watchdog: subprocess.Popen[bytes]) -> None:
        self.programs = programs
        self.directory = directory
        self.watchdog = watchdog.pid
        self._finalizer = weakref.finalize(self, _end, watchdog)  # also at exit

    def url(self, database: str = _SUPERUSER, *, driver: str = "psycopg") -> str:
        """An SQLAlchemy URL; with `driver=""` one for libpq. The superuser needs no password on this socket."""
        scheme = f"postgresql+{driver}" if driver else "postgresql"
        return f"{scheme}://{_SUPERUSER}@/{quote(database)}?host={quote(str(self.directory), safe='')}"

    def create_database(self, name: str) -> str:
        """Make an empty database and return its URL. For tests that must not see each other's rows."""
        self.sql(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, ending the connections to it."""
        self.sql(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def sql(self, statement: str) -> str:
        """Run one statement with `psql` and return its unaligned output."""
        command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.url(driver=""), "-c", statement]
        command[0] = str(self.programs / "psql")
        return _run(command)

    def stop(self) -> None:
        """Stop the server and remove its files; the second call does nothing."""
        self._finalizer()


def _end(watchdog: subprocess.Popen[bytes]) -> None:
    assert watchdog.stdin is not None
    watchdog.stdin.close()
    watchdog.wait(timeout=_STOP_SECONDS)


def _group(user: str | None) -> int | None:
    return pwd.getpwnam(user).pw_gid if user else None


def _run(command: list[str], user: str | None = None) -> str:
    # PGHOST, PGOPTIONS and the like are meant for the user's own servers.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    done = subprocess.run(
        command,
        cwd="/",
        env={**environment, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        user=user,
        group=_group(user),
        extra_groups=[] if user else None,
    )
    if done.returncode != 0:
        raise PostgresUnavailable(f"{Path(command[0]).name} failed: {done.stdout.strip()[-1000:]}")
    return done.stdout.strip()


def _directory(user: str | None) -> Path:
    """A private directory of the server's user, short enough for a socket path and reachable for that user."""
    base = Path(tempfile.gettempdir())
    reachable = all(parent.stat().st_mode & 0o001 for parent in (base, *base.parents))
    if len(str(base)) > 60 or (user and not reachable):
        base = Path("/tmp")
    directory = Path(tempfile.mkdtemp(prefix="reconciler-pg-", dir=base))
    if user:
        entry = pwd.getpwnam(user)
        os.chown(directory, entry.pw_uid, entry.pw_gid)
    return directory


def start(settings: Mapping[str, str] = SETTINGS) -> Cluster:
    """Start a server and return it, ready for connections, in about two seconds.

    Raises PostgresUnavailable when there are no server programs, no user to run them as, or when they fail.
    """
    programs = find_server()
    if programs is None:
        raise PostgresUnavailable("no PostgreSQL server on this machine: `apt-get install -y postgresql` brings one")
    user = server_user()
    directory = _directory(user)
    data = directory / "data"
    watchdog = subprocess.Popen(
        ["/bin/sh", "-c", _WATCHDOG, "watchdog", str(programs / "pg_ctl"), str(data), str(directory)],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C in the terminal is for the test run
        user=user,
        group=_group(user),
        extra_groups=[] if user else None,
    )
    cluster = Cluster(programs=programs, directory=directory, watchdog=watchdog)
    try:
        _initialise(cluster, data, user, settings)
    except BaseException:
        cluster.stop()
        raise
    return cluster


def _initialise(cluster: Cluster, data: Path, user: str | None, settings: Mapping[str, str]) -> None:
    initdb = ["initdb", "-D", str(data), "-U", _SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
    initdb[0] = str(cluster.programs / "initdb")
    _run(initdb, user)
    options = {**settings, "unix_socket_directories": str(cluster.directory)}
    flags = " ".join(f"-c {name}='{value}'" for name, value in options.items())
    log = str(cluster.directory / "log")
    pg_ctl = [str(cluster.programs / "pg_ctl"), "-D", str(data), "-l", log, "-o", flags, "-w", "-t", "60", "start"]
    _run(pg_ctl, user)


@contextmanager
def temporary_cluster(settings: Mapping[str, str] = SETTINGS) -> Iterator[Cluster]:
    """A server for the length of a `with` block. Raises PostgresUnavailable as `start` does."""
    cluster = start(settings)
    try:
        yield cluster
    finally:
        cluster.stop()
