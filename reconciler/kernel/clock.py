"""Time as a parameter.

Wall time is epoch milliseconds in UTC (an `int`, never a naive datetime: reports R121 and R123 are two products
that mixed them up). Deadlines use the monotonic clock, which no one can step. Nothing in the product calls
`time.time()` or `time.sleep()` except here, so that a whole run can live on a virtual clock.

`SharedClock` reads an offset from a small file, so that a simulator and the product beside it agree on what time it
is: whoever writes the file moves both (`simulate serve` does, for the demo).
"""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    def now_ms(self) -> int:
        """Wall time, epoch milliseconds UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never steps back."""
        ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


class SharedClock(SystemClock):
    """The machine's clock plus an offset kept in a file that several processes read and one writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._offset_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.offset_ms()

    def offset_ms(self) -> int:
        """The offset now in force; an absent file means none."""
        with self._lock:
            try:
                stat = self._path.stat()
            except FileNotFoundError:
                return 0
            mark = (stat.st_mtime_ns, stat.st_ino)
            if mark != self._seen:
                self._offset_ms = int(json.loads(self._path.read_text())["offset_ms"])
                self._seen = mark
            return self._offset_ms

    def advance(self, seconds: float) -> None:
        """Move this clock and everybody else's who reads the same file."""
        offset = self.offset_ms() + int(seconds * 1000)
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        fresh.write_text(json.dumps({"offset_ms": offset}))
        fresh.replace(self._path)


class AcceleratedClock:
    """Time that runs `rate` times faster than `base` does; sleeping is as much shorter."""

    def __init__(self, base: Clock, *, rate: float) -> None:
        if rate <= 0:
            raise ValueError("rate must be above 0")
        self._base, self._rate = base, rate
        self._start_ms, self._start_mono = base.now_ms(), base.monotonic()

    def now_ms(self) -> int:
        return self._start_ms + int((self._base.now_ms() - self._start_ms) * self._rate)

    def monotonic(self) -> float:
        return self._start_mono + (self._base.monotonic() - self._start_mono) * self._rate

    def sleep(self, seconds: float) -> None:
        self._base.sleep(seconds / self._rate)


class VirtualClock:
    """Time that moves only when it is told to, or when somebody sleeps."""

    def __init__(self, *, start_ms: int = 1_790_000_000_000) -> None:
        self._now_ms = start_ms
        self._mono = 0.0
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic(self) -> float:
        return self._mono

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._now_ms += int(seconds * 1000)
            self._mono += seconds


def clock_from_environment() -> Clock:
    """The shared clock of `RECONCILER_CLOCK_FILE` where that is set, else the machine's."""
    path = os.environ.get("RECONCILER_CLOCK_FILE")
    return SharedClock(Path(path)) if path else SystemClock()


def iso(epoch_ms: int) -> str:
    """`2026-11-30T01:02:03.456Z`: the one textual form of an instant in the product."""
    moment = datetime.fromtimestamp(epoch_ms / 1000, tz=UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{epoch_ms % 1000:03d}Z"


def parse_instant(text: str) -> int:
    """Epoch milliseconds of an RFC 3339 text; both of Scaleway's forms (`+00:00` and `Z`) are read.

    Raises ValueError for text without a zone: a naive time has no place on a time line.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"an instant without a zone: {text!r}")
    return round(moment.timestamp() * 1000)
