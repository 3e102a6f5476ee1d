"""One error tree. Each error has a stable code, a message, a hint and an exit status.

::

    ReconcilerError                exit 1
    ├── UsageError                 exit 64   the command line or a configuration file is wrong
    │   └── ConfigError            exit 64
    ├── AuthenticationError        exit 3    401: the credential itself is refused
    ├── RefusedError               exit 6    a rail, a stale plan, a missing approval, a locked stack
    ├── IncompleteError            exit 7    a zone, kind or ledger could not be read
    ├── NotLeaderError             exit 75   another process holds the lease
    ├── CloudError                 exit 1    the provider's API answered, but not with what was asked
    ├── EngineError                exit 1    the Pulumi engine failed
    ├── StoreError                 exit 1    the database failed
    └── InternalError              exit 1    our own bug: please report it

The message says what happened, the hint what to do. Neither ever holds a secret (rule 16).
`code` is `RC` and four digits; docs/errors.md lists them all and a test holds the two equal.
"""

from __future__ import annotations

from typing import ClassVar, Final

EXIT_OK: Final = 0
EXIT_ERROR: Final = 1
EXIT_DRIFT: Final = 2
EXIT_AUTH: Final = 3
EXIT_PARTIAL: Final = 4
EXIT_POLICY: Final = 5
EXIT_REFUSED: Final = 6
EXIT_INCOMPLETE: Final = 7
EXIT_USAGE: Final = 64
EXIT_NOT_LEADER: Final = 75
EXIT_SIGINT: Final = 130
EXIT_SIGTERM: Final = 143

# When several apply, the first in this order wins.
_PRECEDENCE: Final = (
    EXIT_SIGINT,
    EXIT_SIGTERM,
    EXIT_ERROR,
    EXIT_AUTH,
    EXIT_USAGE,
    EXIT_NOT_LEADER,
    EXIT_REFUSED,
    EXIT_PARTIAL,
    EXIT_INCOMPLETE,
    EXIT_POLICY,
    EXIT_DRIFT,
    EXIT_OK,
)


def worst_exit(*statuses: int) -> int:
    """The exit status that wins among several; 0 when none is given."""
    known = [status for status in statuses if status in _PRECEDENCE]
    if len(known) != len(statuses):
        return EXIT_ERROR
    return min(known, key=_PRECEDENCE.index, default=EXIT_OK)


class ReconcilerError(Exception):
    """The root of everything that the product raises on purpose."""

    exit_status: ClassVar[int] = EXIT_ERROR
    default_code: ClassVar[str] = "RC0001"
    default_hint: ClassVar[str] = "Run again with -v; report it if it stays."

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.hint = hint or self.default_hint


class UsageError(ReconcilerError):
    exit_status = EXIT_USAGE
    default_code = "RC0100"
    default_hint = "See `reconciler --help`."


class ConfigError(UsageError):
    default_code = "RC0110"
    default_hint = "`reconciler config validate` names each key."


class AuthenticationError(ReconcilerError):
    exit_status = EXIT_AUTH
    default_code = "RC0300"
    default_hint = "Check SCW_ACCESS_KEY and SCW_SECRET_KEY, or the active profile of the scw config file."


class RefusedError(ReconcilerError):
    exit_status = EXIT_REFUSED
    default_code = "RC0600"
    default_hint = "Nothing was touched."


class IncompleteError(ReconcilerError):
    exit_status = EXIT_INCOMPLETE
    default_code = "RC0700"
    default_hint = "What could not be read is unknown, not absent; run again when it answers."


class NotLeaderError(ReconcilerError):
    exit_status = EXIT_NOT_LEADER
    default_code = "RC0750"
    default_hint = "Another process holds the lease; wait for it or look at `reconciler doctor`."


class CloudError(ReconcilerError):
    default_code = "RC0400"
    default_hint = "The provider's API did not do what was asked; the request id is in the log."


class EngineError(ReconcilerError):
    default_code = "RC0500"
    default_hint = "Run the same `pulumi` command by hand to see all of its output."


class StoreError(ReconcilerError):
    default_code = "RC0200"
    default_hint = "`reconciler db check` says what is wrong with the database."


class InternalError(ReconcilerError):
    default_code = "RC0900"
    default_hint = "This is a bug in reconciler; please report it with the log."
