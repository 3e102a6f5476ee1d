"""When a request may be sent again: one layer, pure, and for reads only.

A GET is sent again after no answer, 429 or a server error (501 says that the route does not exist, so it is final).
Scaleway throttles with an empty 429 without Retry-After (incident R148) and old products throttle with 503 (R153), so
both take the same way. The wait is full jitter: uniform between zero and a window that doubles.

Nothing else is ever sent again from here. A lost answer to a POST may have created something; a DELETE or a terminate
acts on a world that may have changed since it was checked; a PATCH of tags replaces a list that somebody else may have
changed in between. Those callers read the world again and decide anew (`tags`, `destroy`).
"""

from __future__ import annotations

from typing import Final

from reconciler.kernel.randomness import Randomness

MAX_ATTEMPTS: Final = 6
FIRST_WINDOW_SECONDS: Final = 0.5
LAST_WINDOW_SECONDS: Final = 10.0


def retryable(status: int | None) -> bool:
    """Whether an answer (None: no answer) says "not now" rather than "no"."""
    return status is None or status == 429 or (status >= 500 and status != 501)


def next_delay(attempt: int, status: int | None, retry_after: float | None, rng: Randomness) -> float | None:
    """Seconds to wait before the next GET, or None to give up.

    `attempt` is the number of requests sent so far, from 1. `retry_after` (seconds) is a lower bound where the API
    names one. The caller gives up, too, when its deadline comes first.
    """
    if not retryable(status) or attempt >= MAX_ATTEMPTS:
        return None
    window = min(LAST_WINDOW_SECONDS, FIRST_WINDOW_SECONDS * 2 ** (attempt - 1))
    return max(rng.uniform(0.0, window), retry_after or 0.0)
