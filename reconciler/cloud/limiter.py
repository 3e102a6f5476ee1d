"""How many requests a second: a token bucket whose size adapts to what the API bears.

The bucket holds `rate` tokens and a token comes back one second after it was spent, so no window of one second ever
sees more than `rate` requests, bursts included. Scaleway throttles at about 100 a second per token (recorded: first
429 after 100 to 180 calls within one second), and shares that with whatever else uses the key; the default is 50.

A 429 carries no Retry-After, so the size is found by additive increase, multiplicative decrease: halved by a 429 (once
a second: one burst of refusals is one signal), raised by one for every quiet second up to `rate` again.

Thread-safe. A waiter reserves its moment under the lock and sleeps outside of it.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Final

from reconciler.kernel.clock import Clock

DEFAULT_RATE: Final = 50
_WINDOW_SECONDS: Final = 1.0


class Limiter:
    def __init__(self, *, clock: Clock, rate: int = DEFAULT_RATE) -> None:
        if rate < 1:
            raise ValueError("rate must be at least 1")
        self._clock = clock
        self._rate = rate
        self._size = rate
        self._granted: deque[float] = deque(maxlen=rate)
        self._recovered = clock.monotonic()
        self._halved: float | None = None
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Requests a second that are allowed now."""
        with self._lock:
            self._recover()
            return self._size

    def acquire(self, *, deadline: float) -> bool:
        """Wait for a token. False, without waiting or spending one, when it would come after `deadline` (monotonic)."""
        with self._lock:
            self._recover()
            now = self._clock.monotonic()
            # First come, first served: nobody overtakes a moment that is already promised.
            moment = max(now, self._granted[-1]) if self._granted else now
            if len(self._granted) >= self._size:
                moment = max(moment, self._granted[-self._size] + _WINDOW_SECONDS)
            if moment > deadline:
                return False
            self._granted.append(moment)
        if moment > now:
            self._clock.sleep(moment - now)
        return True

    def throttled(self) -> None:
        """Tell of a 429."""
        with self._lock:
            self._recover()
            now = self._clock.monotonic()
            if self._halved is not None and now - self._halved < _WINDOW_SECONDS:
                return
            self._size = max(1, self._size // 2)
            self._halved = self._recovered = now

    def _recover(self) -> None:
        quiet = int(self._clock.monotonic() - self._recovered)
        if quiet >= 1:
            self._size = min(self._rate, self._size + quiet)
            self._recovered += quiet
