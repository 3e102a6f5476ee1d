"""Ids of our own: UUIDv7, so that they sort by time of birth in any index."""

from __future__ import annotations

import hashlib
import uuid

from reconciler.kernel.clock import Clock
from reconciler.kernel.randomness import Randomness


class Ids:
    """Makes ids from an injected clock and randomness; two runs with the same seed make the same ids."""

    def __init__(self, *, clock: Clock, randomness: Randomness) -> None:
        self._clock, self._randomness = clock, randomness

    def new(self) -> str:
        """A UUIDv7 as text (RFC 9562 §5.7)."""
        stamp = self._clock.now_ms() & ((1 << 48) - 1)
        value = (
            (stamp << 80) | (0x7 << 76) | (self._randomness.bits(12) << 64) | (0b10 << 62) | self._randomness.bits(62)
        )
        return str(uuid.UUID(int=value))


def fingerprint(*parts: str) -> str:
    """32 hex digits that stay the same for the same parts; the separator cannot occur inside a part's length prefix."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()
