"""An `apply` as a process of its own, which kills itself at a given step: `python -m tests.e2e.apply_child JOB`.

JOB is JSON: `plan` (a plan file: apply it) or no plan (go on with what was left, and sweep, plan and apply until there
is nothing more to do); `kill_at` (the number of the step at which the process sends itself SIGKILL); `steps` (a file
that gets the name of each step). The rest comes from the environment of the rig.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reconciler.model.plan import ActionStatus
from reconciler.plan import load
from reconciler.store import SqlStore
from tests.e2e.product import Product

_ROUNDS = 5


@dataclass
class Steps:
    """The checkpoint of a run: counts, writes down, and dies when it is told to."""

    kill_at: int | None
    file: Path | None
    seen: int = field(default=0)

    def __call__(self, name: str) -> None:
        self.seen += 1
        if self.file is not None:
            with self.file.open("a") as out:
                out.write(f"{name}\n")
        if self.seen == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


def apply_file(product: Product, store: SqlStore, plan_file: Path, steps: Steps) -> None:
    with product.cloud() as cloud:
        outcome = product.applier(store, cloud, checkpoint=steps).apply(load(plan_file.read_text()))
    for one in outcome.outcomes:
        assert one.status is ActionStatus.DONE, f"{one.action.kind} {one.action.refs}: {one.text}"


def finish(product: Product, store: SqlStore) -> None:
    """What an operator does after a crash: the same command again, until it has nothing more to do."""
    for _ in range(_ROUNDS):
        with product.cloud() as cloud:
            applier = product.applier(store, cloud)
            resumed = applier.resume()
            for one in resumed.outcomes if resumed is not None else ():
                print(f"resumed {one.action.kind}: {one.status} {one.text}")
            plan = product.plan(store)
            if not plan.actions:
                return
            for one in applier.apply(plan).outcomes:
                print(f"applied {one.action.kind}: {one.status} {one.text}")
    raise AssertionError("it never came to an end")


def main() -> None:
    job: dict[str, Any] = json.loads(sys.argv[1])
    product = Product(os.environ, Path.cwd())
    store = product.store()
    try:
        if "plan" in job:
            file = Path(job["steps"]) if "steps" in job else None
            apply_file(product, store, Path(job["plan"]), Steps(job.get("kill_at"), file))
        else:
            finish(product, store)
    finally:
        store.close()


if __name__ == "__main__":
    main()
