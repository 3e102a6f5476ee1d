"""Rule 8 as code: no transaction is open during a network call or a subprocess.

A unit of work marks its context; every wrapper that leaves the process asks first. `ThreadExecutor` copies the
context into its threads, so work handed to a pool from inside a transaction is caught as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from reconciler.kernel.errors import InternalError

_open: ContextVar[str | None] = ContextVar("reconciler_open_transaction", default=None)


@contextmanager
def transaction(name: str) -> Iterator[None]:
    """Mark this context as inside the database transaction `name`."""
    token = _open.set(name)
    try:
        yield
    finally:
        _open.reset(token)


def assert_outside_transaction(what: str) -> None:
    """Raise InternalError RC0901 when a transaction is open in this context; `what` names the call."""
    name = _open.get()
    if name is not None:
        raise InternalError(f"{what} was about to run inside the transaction {name!r}", code="RC0901")
