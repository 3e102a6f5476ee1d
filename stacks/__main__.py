"""The Pulumi program: the fleets that `Pulumi.<stack>.yaml` lists under `reconciler:fleets`, and one output.

A stack without fleets is no error: with a scope it exports an empty list, and so says that it declares none.
"""

from __future__ import annotations

from pathlib import Path

from reconciler_fleet import WorkerFleet, export_fleets, load

PROJECT_ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    config, fleets = load(PROJECT_ROOT)
    if config.scope is not None:
        export_fleets(config.scope, [WorkerFleet(name, args) for name, args in fleets])


main()
