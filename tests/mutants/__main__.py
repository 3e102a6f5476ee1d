"""Break each rule in a copy of the tree and show the test that notices: `python -m tests.mutants [WORD...]`.

A mutant is a patch beside this file and an entry in `catalogue.toml`: the rule, the patch, what is broken in words, and
the test that must fail. First every named test must pass on the copy as it is; then, one mutant at a time, its test
must fail. A mutant that survives, or a patch that no longer applies, fails the run. The product itself has no switch
for any of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS = 600
COPIES = 2


@dataclass(frozen=True, slots=True)
class Mutant:
    rule: str
    patch: str
    what: str
    test: str


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


def run_tests(tree: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tree), str(tree / "stacks")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def patch(tree: Path, mutant: Mutant, *, reverse: bool = False) -> bool:
    command = ["patch", "-p1", "--batch", "--silent", "--fuzz=3", "--reject-file=-", "-i", str(HERE / mutant.patch)]
    done = subprocess.run([*command, *(["-R"] if reverse else [])], cwd=tree, capture_output=True, check=False)
    return done.returncode == 0


def judge(tree: Path, mutant: Mutant) -> tuple[bool, str]:
    """Whether the mutant was caught, and one line about it."""
    if not patch(tree, mutant):
        return False, "the patch no longer applies"
    try:
        done = run_tests(tree, [mutant.test])
    except subprocess.TimeoutExpired:
        return True, f"caught: {mutant.test} did not end"
    finally:
        patch(tree, mutant, reverse=True)
    if done.returncode == 1:
        return True, f"caught by {mutant.test}"
    if done.returncode == 0:
        return False, f"SURVIVED {mutant.test}"
    return False, f"no verdict (pytest ended with {done.returncode}): {done.stdout[-300:]}"


def main(words: Sequence[str]) -> int:
    chosen = [one for one in catalogue() if not words or any(word in f"{one.rule} {one.patch}" for word in words)]
    with tempfile.TemporaryDirectory(prefix="reconciler-mutants-") as folder:
        trees = [copy_tree(Path(folder) / str(number)) for number in range(COPIES)]
        sound = run_tests(trees[0], sorted({one.test for one in chosen}))
        if sound.returncode != 0:
            print(sound.stdout[-4000:])
            print("the tests do not pass on the tree as it is: nothing can be said about mutants")
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
    print(f"mutants: {sum(caught)} of {len(caught)} caught, {len({one.rule for one in chosen})} rules")
    return 0 if all(caught) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
