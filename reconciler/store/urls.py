"""Which database a URL means, and how it may be shown.

Three schemes are taken: `sqlite:///path`, `postgresql://` and `postgres://` (both spoken through psycopg). A password
is never shown, neither from the user part nor from a query key; an error of the driver goes through `scrubbed` first.
An in-memory SQLite is refused, because what it remembers is gone before anybody can rely on it, and so is one on a
network file system, where SQLite's locks do not hold (sqlite.org/faq.html, question 5).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from reconciler.kernel.errors import ConfigError, StoreError

_SECRET_KEYS: Final = ("password", "sslpassword")
_NETWORK_FILE_SYSTEMS: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "ceph", "glusterfs", "fuse.glusterfs", "fuse.sshfs", "lustre"}
)
_HINT: Final = (
    "RECONCILER_DATABASE_URL is sqlite:///relative/path, sqlite:////absolute/path or postgresql://user@host/database."
)


def parse(text: str) -> URL:
    """The URL with the driver we use. Raises ConfigError RC0210 for anything but the three schemes."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise _refused("is not a database URL") from None  # the text itself may hold a password
    match url.drivername:
        case "postgresql" | "postgres" | "postgresql+psycopg":
            return url.set(drivername="postgresql+psycopg")
        case "sqlite" | "sqlite+pysqlite":
            if url.database in (None, "", ":memory:") or str(url.database).startswith("file:") or url.query:
                raise _refused(f"{shown(url)} is no plain file: memory remembers nothing, options are not taken")
            return url.set(drivername="sqlite+pysqlite")
        case other:
            raise _refused(f"uses {other!r}, which is neither SQLite nor PostgreSQL")


def _refused(what: str) -> ConfigError:
    return ConfigError(f"the database URL {what}", code="RC0210", hint=_HINT)


def is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def path_of(url: URL) -> Path:
    """The file of a SQLite URL."""
    return Path(str(url.database))


def shown(url: URL) -> str:
    """The URL as it may be printed: `***` for every password in it."""
    masked = {key: "***" for key in url.query if key in _SECRET_KEYS}
    plain = url.set(drivername=url.get_backend_name()).update_query_dict(masked)
    return plain.render_as_string(hide_password=True)


def scrubbed(text: str, url: URL) -> str:
    """A driver's message without any password of the URL."""
    secrets = [url.password, *(url.query.get(key) for key in _SECRET_KEYS)]
    for secret in secrets:
        if isinstance(secret, str) and secret:
            text = text.replace(secret, "***")
    return text


def refuse_network_file_system(path: Path, *, mounts: Path = Path("/proc/self/mountinfo")) -> None:
    """Raise StoreError RC0209 when `path` is on one; silent where the mount table cannot be read (not Linux)."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    place, kind = Path("/"), ""
    where = path.resolve()
    for line in table.splitlines():
        fields, _, after = line.partition(" - ")
        point = Path(fields.split(" ")[4].encode().decode("unicode_escape"))
        if (where.is_relative_to(point)) and len(point.parts) >= len(place.parts):
            place, kind = point, after.split(" ")[0]
    if kind in _NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{path} is on {place}, a network file system ({kind}), where SQLite's locks do not hold",
            code="RC0209",
            hint="Put the file on a local disk, or use PostgreSQL.",
        )
