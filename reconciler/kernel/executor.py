"""Concurrency as a port: bounded threads in production, one by one and in order in simulation.

Results keep the order of the items. An error in one item is its own result and never hides the others
(rule 12), so `map` returns outcomes instead of raising.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What one item came to: a value, or the error that it raised."""

    value: Value | None
    error: Exception | None = None

    def unwrap(self) -> Value:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # without an error the value is what the callable returned


def _attempt(function: Callable[[Item], Value], item: Item) -> Outcome[Value]:
    try:
        return Outcome(function(item))
    except Exception as error:
        return Outcome(None, error)


class Executor(Protocol):
    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> Sequence[Outcome[Value]]: ...


class SerialExecutor:
    """One item after the other, in order: the executor of tests and simulation."""

    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> Sequence[Outcome[Value]]:
        return [_attempt(function, item) for item in items]


class ThreadExecutor:
    """At most `workers` threads at a time."""

    def __init__(self, *, workers: int = 8) -> None:
        self._workers = workers

    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> Sequence[Outcome[Value]]:
        with ThreadPoolExecutor(max_workers=self._workers, thread_name_prefix="reconciler") as pool:
            # The context goes along, so that a guard set by the caller (kernel/guards.py) holds in the threads too.
            jobs = [pool.submit(contextvars.copy_context().run, _attempt, function, item) for item in items]
            return [job.result() for job in jobs]
