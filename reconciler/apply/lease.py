"""Holding a scope's lease for the length of a run.

The lease saves two runs from doing the same work; safety rests on decisions and ids, not on it (rule 13). A thread
renews it at a third of its life; every fenced transaction checks the token, so a run that lost it stops at its next
decision.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from reconciler.kernel.errors import ReconcilerError
from reconciler.ports.store import Lease, Store

TTL_SECONDS: Final = 60.0


@contextmanager
def held_lease(store: Store, *, name: str, holder: str, heartbeat: bool = True) -> Iterator[Lease]:
    """Acquire, renew in the background, release. Raises NotLeaderError (75) while somebody else holds it."""
    lease = store.acquire_lease(name, holder=holder, ttl_seconds=TTL_SECONDS)
    done = threading.Event()
    thread: threading.Thread | None = None
    if heartbeat:
        thread = threading.Thread(target=_renew, args=(store, lease, done), name="reconciler-lease", daemon=True)
        thread.start()
    try:
        yield lease
    finally:
        done.set()
        if thread is not None:
            thread.join(timeout=TTL_SECONDS)
        store.release_lease(lease)


def _renew(store: Store, lease: Lease, done: threading.Event) -> None:
    while not done.wait(TTL_SECONDS / 3):
        try:
            lease = store.renew_lease(lease, ttl_seconds=TTL_SECONDS)
        except ReconcilerError:
            return  # lost: the next fenced transaction of the run says so, and stops it
