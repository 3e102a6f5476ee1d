"""Randomness as a parameter: the system's in production, a seed in simulation."""

from __future__ import annotations

import random
import secrets
from typing import Protocol


class Randomness(Protocol):
    def bits(self, count: int) -> int: ...

    def uniform(self, low: float, high: float) -> float: ...


class SystemRandomness:
    def bits(self, count: int) -> int:
        return secrets.randbits(count)

    def uniform(self, low: float, high: float) -> float:
        return random.uniform(low, high)  # jitter, not a secret


class SeededRandomness:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # a simulation must repeat itself

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)
