"""The Pulumi program: the fleets that `Pulumi.<stack>.yaml` lists under `reconciler:fleets`, and one output.

Rules for the stack's resources, under `reconciler:policy`, are a part of that output.

A stack without fleets is no error: with a scope it exports an empty list, and so says that it declares none.
"""

from __future__ import annotations

from pathlib import Path

from reconciler_fleet import TagPolicy, WorkerFleet, export_fleets, load

PROJECT_ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    config, fleets = load(PROJECT_ROOT)
    if config.scope is not None:
        policy = TagPolicy.of_document(config.policy) if config.policy is not None else None
        export_fleets(config.scope, [WorkerFleet(name, args) for name, args in fleets], policy=policy)


main()
