"""Many cases, one after the other or in several processes, each in a world of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from reconciler.cases.doors import Invoke
from reconciler.cases.judge import Failure
from reconciler.cases.model import Case
from reconciler.cases.problems import InvalidCase
from reconciler.cases.reader import load
from reconciler.cases.runner import Verdict, run_case
from reconciler.cases.setting import Setting, unplayable
from reconciler.kernel.clock import Clock, SystemClock
from reconciler.kernel.errors import ConfigError, UsageError
from reconciler.kernel.text import visible

_SUFFIXES: Final = (".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How cases run. `seed` replaces the one of every case; `keep`: folders of cases stay, below this one."""

    invoke: Invoke
    commands: Collection[str]
    setting: Setting = field(default_factory=Setting)
    seed: int | None = None
    keep: Path | None = None


def find(places: Sequence[Path]) -> list[Path]:
    """The case files: those named, and all below the folders named, in order.

    Raises UsageError RC0813 for a place that is not there, or when there is no case.
    """
    found: dict[Path, None] = {}
    for place in places:
        if place.is_dir():
            found |= dict.fromkeys(sorted(path for path in place.rglob("*") if path.suffix in _SUFFIXES))
        elif place.is_file():
            found[place] = None
        else:
            raise UsageError(
                f"there is no {visible(str(place))}", code="RC0813", hint="Name case files, or folders of them."
            )
    if not found:
        named = ", ".join(visible(str(place)) for place in places)
        raise UsageError(f"no case in {named}", code="RC0813", hint="`reconciler simulate new NAME` writes one.")
    return list(found)


def run_suite(paths: Sequence[Path], options: Options, *, jobs: int, clock: Clock | None = None) -> Iterator[Verdict]:
    """A verdict for each case, in the order of `paths`, as soon as those before it are there."""
    if jobs <= 1 or len(paths) == 1:
        for path in paths:
            yield one(path, options, clock or SystemClock())
        return
    # Fresh processes: a fork of one that has threads may inherit a lock that nobody will ever give back.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=min(jobs, len(paths)), mp_context=context) as pool:
        yield from pool.map(_Job(options), paths)


@dataclass(frozen=True, slots=True)
class _Job:
    options: Options

    def __call__(self, path: Path) -> Verdict:
        return one(path, self.options, SystemClock())


def one(path: Path, options: Options, clock: Clock) -> Verdict:
    """Read and run one case. A file that is no case is a failure like any other."""
    began = clock.monotonic()
    try:
        case = load(path, commands=options.commands)
    except InvalidCase as error:
        told = tuple(error.lines())
        return Verdict(
            name=path.stem, path=str(path), failures=(Failure(where="the file", what="no valid case", actual=told),)
        )
    except ConfigError as error:
        failure = Failure(where="the file", what=f"{error.code}: {error.message}", actual=(error.hint,))
        return Verdict(name=path.stem, path=str(path), failures=(failure,))
    if options.seed is not None:
        case = replace(case, seed=options.seed)
    found = Verdict(name=case.name, path=str(path), failures=(), source=case.source, rules=case.rules)
    why_not = unplayable(case) if options.setting.real_engine else None
    if why_not is not None:
        return replace(found, skipped=why_not)
    keep = None if options.keep is None else options.keep / case.name
    failures = run_case(case, invoke=options.invoke, setting=options.setting, keep=keep)
    return replace(found, failures=failures, seconds=clock.monotonic() - began)


def describe(
    paths: Sequence[Path], *, commands: Collection[str]
) -> Iterator[tuple[Path, Case | InvalidCase | ConfigError]]:
    """Every case, or what is wrong with it."""
    for path in paths:
        try:
            yield path, load(path, commands=commands)
        except ConfigError as error:
            yield path, error
