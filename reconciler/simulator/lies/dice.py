"""Chance that repeats itself: thrown from a seed and from what is asked, not from who asked first."""

from __future__ import annotations

from hashlib import blake2b
from zlib import crc32

from reconciler.kernel.randomness import SeededRandomness


def dice(seed: int, *what: str) -> SeededRandomness:
    """The same for the same seed and words, whatever else was thrown before."""
    text = "\x1f".join((str(seed), *what))
    return SeededRandomness(int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big"))


def share(seed: int, item: str) -> float:
    """A number from 0 to 1 that belongs to `item`: the same in every call, so that a share of a list is the same
    objects on every page. A checksum, because it is asked for every object of a list."""
    return crc32(item.encode(), seed & 0xFFFFFFFF) / 0x1_0000_0000
