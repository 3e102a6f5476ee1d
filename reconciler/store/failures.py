"""What a driver's error means to us.

Drivers are asked for codes, never for words: SQLSTATE on PostgreSQL, the extended result code on SQLite. Messages are
cut to their first line, because the second may quote a row, and lose every password.
"""

from __future__ import annotations

import sqlite3
from enum import StrEnum
from typing import Final

from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from reconciler.kernel.errors import StoreError
from reconciler.kernel.text import visible
from reconciler.store import urls

DATABASE_ERRORS: Final = (SQLAlchemyError, sqlite3.Error)

# serialization failure, deadlock, lock not available: the whole unit of work is tried again
_RETRY_STATES: Final = frozenset({"40001", "40P01", "55P03"})
_READ_ONLY_STATE: Final = "25006"
_FULL_STATES: Final = frozenset({"53100", "53200"})
_MISSING_STATES: Final = frozenset({"42P01", "3F000"})
_DOWN_CLASSES: Final = ("08", "57P", "28", "3D", "53300")
_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Broken(StrEnum):
    """Which kind of constraint refused."""

    FOREIGN_KEY = "foreign key"
    UNIQUE = "unique"
    OTHER = "other"


class ConstraintBroken(StoreError):
    """The database itself refused a row. Rooms that expect it turn it into a refusal; else it is RC0215."""

    def __init__(self, message: str, *, broken: Broken) -> None:
        super().__init__(message, code="RC0215", hint="This is a bug in reconciler; please report it.")
        self.broken = broken


def _original(error: Exception) -> BaseException:
    return error.orig if isinstance(error, DBAPIError) and error.orig is not None else error


def _state(error: Exception) -> str:
    return str(getattr(_original(error), "sqlstate", None) or "")


def _extended(error: Exception) -> int:
    return int(getattr(_original(error), "sqlite_errorcode", None) or 0)


def retryable(error: Exception) -> bool:
    """Contention that goes away by itself; nothing of the unit of work was kept."""
    return _state(error) in _RETRY_STATES or (_extended(error) & 0xFF) in _BUSY


def _broken(error: Exception) -> Broken | None:
    state, extended = _state(error), _extended(error)
    if state in ("23503", "23001") or extended in (
        sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY,
        sqlite3.SQLITE_CONSTRAINT_TRIGGER,  # what SQLite calls a RESTRICT that fires
    ):
        return Broken.FOREIGN_KEY
    if state == "23505" or extended in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
        return Broken.UNIQUE
    if state.startswith("23") or (extended & 0xFF) == sqlite3.SQLITE_CONSTRAINT:
        return Broken.OTHER
    return None


def translated(error: Exception, url: URL) -> StoreError:
    """The error as the product says it. `error` is SQLAlchemy's or the driver's own."""
    where = urls.shown(url)
    lines = urls.scrubbed(str(_original(error)), url).strip().splitlines()
    said = visible(lines[0] if lines else type(error).__name__, limit=300)
    broken = _broken(error)
    if broken is not None:
        return ConstraintBroken(f"{where}: {said}", broken=broken)
    code, what, hint = _meaning(error, url)
    return StoreError(f"{where}: {what}: {said}", code=code, hint=hint)


def _meaning(error: Exception, url: URL) -> tuple[str, str, str]:
    state, basic = _state(error), _extended(error) & 0xFF
    if retryable(error) or isinstance(error, PoolTimeout):
        return "RC0205", "the database stays busy", "Another process writes for long; look for it, then run again."
    if state == _READ_ONLY_STATE or basic == sqlite3.SQLITE_READONLY or _cannot_write_beside(basic, url):
        return "RC0202", "the database is read-only", "Give the account the right to write, or name the primary server."
    if basic in _DAMAGED:
        return "RC0206", "the file is damaged or no database", "Restore it from a copy, or move it away to begin anew."
    if state in _FULL_STATES or basic == sqlite3.SQLITE_FULL:
        return "RC0207", "the database has no room left", "Free some space, then run again."
    if state in _MISSING_STATES:
        return "RC0204", "the schema is not there", "Run `reconciler db upgrade`."
    if _unreachable(error, state, basic):
        return "RC0201", "the database cannot be reached", "Check that it runs, and RECONCILER_DATABASE_URL."
    return "RC0200", "the database failed", StoreError.default_hint


def _cannot_write_beside(basic: int, url: URL) -> bool:
    """SQLite says "cannot open" when it may not write its journal beside a file that is there."""
    if basic != sqlite3.SQLITE_CANTOPEN or not urls.is_sqlite(url):
        return False
    try:
        return urls.path_of(url).is_file()
    except OSError:
        return False


def _unreachable(error: Exception, state: str, basic: int) -> bool:
    if basic == sqlite3.SQLITE_CANTOPEN or state.startswith(_DOWN_CLASSES):
        return True
    if not isinstance(error, DBAPIError):
        return False
    # libpq gives no SQLSTATE when there was no server to give one
    return error.connection_invalidated or (not state and not basic and type(error).__name__ == "OperationalError")
