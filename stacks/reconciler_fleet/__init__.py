"""Components for Pulumi programs: `WorkerFleet` declares workers, `export_fleets` tells the reconciler about them.

    import pulumi
    from reconciler_fleet import WorkerFleet, WorkerFleetArgs, export_fleets

    SCOPE = pulumi.Config("reconciler").require("scope")
    linux = WorkerFleet(
        "linux",
        WorkerFleetArgs(scope=SCOPE, zone="fr-par-1", type="DEV1-S", image="ubuntu_noble", replicas=3),
    )
    export_fleets(SCOPE, [linux])

The package needs pulumi, pulumiverse-scaleway and pydantic (the extra `reconciler[stacks]`). Nothing of `reconciler`
itself is loaded, but where a program makes a `TagPolicy`.
"""

from reconciler_fleet.config import FleetConfigError, StackConfig, load
from reconciler_fleet.fleet import WorkerFleet
from reconciler_fleet.output import FleetOutput, export_fleets
from reconciler_fleet.policy import TagPolicy
from reconciler_fleet.spec import ExtraVolume, NewPrivateNetwork, RootVolume, WorkerFleetArgs

__all__ = [
    "ExtraVolume",
    "FleetConfigError",
    "FleetOutput",
    "NewPrivateNetwork",
    "RootVolume",
    "StackConfig",
    "TagPolicy",
    "WorkerFleet",
    "WorkerFleetArgs",
    "export_fleets",
    "load",
]
