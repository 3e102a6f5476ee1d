"""Break each rule in a copy of the tree and show what notices: `python -m tests.mutants [--cases] [WORD...]`.

A mutant is a patch beside this file and an entry in `catalogue.toml`: the rule, the patch, what is broken in words, and
what must fail: a test, a case (a file below tests/cases, played by `reconciler simulate run`), or both. First all of
them must pass on the copy as it is; then, one mutant at a time, its test and its case must fail. A mutant that
survives, or a patch that no longer applies, fails the run. A case that was not played says nothing about a mutant.
`--cases` leaves the tests out. The product itself has no switch for any of it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Queue

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS = 600
COPIES = 2
# Where a case fails that is no case, or whose past cannot be played.
_BEFORE_THE_FIRST_STEP = ("the file", "the past")


@dataclass(frozen=True, slots=True)
class Mutant:
    rule: str
    patch: str
    what: str
    test: str = ""
    case: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether it held; None: nothing can be said."""

    held: bool | None
    output: str


def catalogue() -> list[Mutant]:
    entries = tomllib.loads((HERE / "catalogue.toml").read_text())["mutant"]
    return [Mutant(**entry) for entry in entries]


def copy_tree(to: Path) -> Path:
    """The files that git knows or would know, without anything that was built from them."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = ROOT / name
        if source.is_file():
            target = to / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    return to


def python(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A module of the tree, run with the tree's own code."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tree), str(tree / "stacks")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", *words]
    return subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def run_tests(tree: Path, tests: Sequence[str]) -> Verdict:
    done = python(tree, "pytest", "-n", "0", "-x", "-q", "-p", "no:cacheprovider", *tests)
    return Verdict({0: True, 1: False}.get(done.returncode), done.stdout)


def run_cases(tree: Path, cases: Sequence[str]) -> Verdict:
    """Played by the command that users have. A case that did not come to its first step says nothing."""
    files = [f"tests/cases/{case}" for case in cases]
    done = python(tree, "reconciler.cli.main", "simulate", "run", "-o", "json", *files)
    try:
        played = json.loads(done.stdout)["cases"]
    except (ValueError, KeyError):
        return Verdict(None, done.stdout + done.stderr)
    failures = [failure for case in played for failure in case["failures"]]
    if len(played) != len(cases) or any(failure["where"] in _BEFORE_THE_FIRST_STEP for failure in failures):
        return Verdict(None, done.stdout)
    return Verdict(not failures, done.stdout)


def patched_files(mutant: Mutant) -> list[str]:
    """What the patch changes, by its own headers."""
    headers = re.findall(r"^\+\+\+ b/(\S+)", (HERE / mutant.patch).read_text(), flags=re.M)
    return list(dict.fromkeys(headers))


@contextmanager
def broken(tree: Path, mutant: Mutant) -> Iterator[str]:
    """The tree with the mutant in it, and as it was afterwards, whatever the patch made of it. What is wrong with the
    patch, if anything: a hunk that only fits somewhere else makes a text that is no program."""
    originals = {tree / name: (tree / name).read_bytes() for name in patched_files(mutant)}
    command = ["patch", "-p1", "--batch", "--silent", "--no-backup-if-mismatch", "--fuzz=3", "--reject-file=-"]
    done = subprocess.run([*command, "-i", str(HERE / mutant.patch)], cwd=tree, capture_output=True, check=False)
    try:
        yield "the patch no longer applies" if done.returncode else _no_program(originals)
    finally:
        for path, text in originals.items():
            path.write_bytes(text)


def _no_program(paths: Iterable[Path]) -> str:
    for path in paths:
        try:
            compile(path.read_bytes(), str(path), "exec")
        except SyntaxError as error:
            return f"the patch makes no program of {path.name}: line {error.lineno}: {error.msg}"
    return ""


def judge(tree: Path, mutant: Mutant) -> tuple[bool, str]:
    """Whether all that must notice the mutant did, and one line about it."""
    with broken(tree, mutant) as wrong:
        if wrong:
            return False, wrong
        found = [_notices(tree, run, name) for run, name in _witnesses(mutant)]
    return all(caught for caught, _ in found), "; ".join(text for _, text in found)


def _witnesses(mutant: Mutant) -> Iterator[tuple[Callable[[Path, Sequence[str]], Verdict], str]]:
    if mutant.test:
        yield run_tests, mutant.test
    if mutant.case:
        yield run_cases, mutant.case


def _notices(tree: Path, run: Callable[[Path, Sequence[str]], Verdict], name: str) -> tuple[bool, str]:
    try:
        verdict = run(tree, [name])
    except subprocess.TimeoutExpired:
        return True, f"caught: {name} did not end"
    if verdict.held is None:
        return False, f"no verdict of {name}: {verdict.output[-300:]}"
    return not verdict.held, f"SURVIVED {name}" if verdict.held else f"caught by {name}"


def sound(tree: Path, chosen: Sequence[Mutant]) -> bool:
    """Whether everything that is to notice a mutant passes without one."""
    tests, cases = sorted({one.test for one in chosen} - {""}), sorted({one.case for one in chosen} - {""})
    for run, names in ((run_tests, tests), (run_cases, cases)):
        verdict = run(tree, names) if names else Verdict(True, "")
        if not verdict.held:
            print(verdict.output[-4000:])
            print("not everything holds on the tree as it is: nothing can be said about mutants")
            return False
    return True


def choose(words: Sequence[str]) -> list[Mutant]:
    """The mutants that any of the words is part of, all without one. `--cases`: those with a case, by it alone."""
    wanted = [word for word in words if word != "--cases"]
    chosen = [one for one in catalogue() if not wanted or any(word in f"{one.rule} {one.patch}" for word in wanted)]
    return [replace(one, test="") for one in chosen if one.case] if "--cases" in words else chosen


def main(words: Sequence[str]) -> int:
    chosen = choose(words)
    with tempfile.TemporaryDirectory(prefix="reconciler-mutants-") as folder:
        trees = [copy_tree(Path(folder) / str(number)) for number in range(COPIES)]
        if not sound(trees[0], chosen):
            return 1
        free: Queue[Path] = Queue()
        for tree in trees:
            free.put(tree)

        def one(mutant: Mutant) -> bool:
            tree = free.get()
            try:
                caught, text = judge(tree, mutant)
            finally:
                free.put(tree)
            print(f"rule {mutant.rule:4} {mutant.patch:40} {mutant.what}: {text}", flush=True)
            return caught

        with ThreadPoolExecutor(COPIES) as pool:
            caught = list(pool.map(one, chosen))
    print(summary(chosen, caught))
    return 0 if all(caught) else 1


def summary(chosen: Sequence[Mutant], caught: Sequence[bool]) -> str:
    rules, pairs = {one.rule for one in chosen}, [one for one in chosen if one.case]
    return (
        f"mutants: {sum(caught)} of {len(caught)} caught, {len(rules)} rules; "
        f"{len(pairs)} by a case, {len({one.rule for one in pairs})} rules"
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
