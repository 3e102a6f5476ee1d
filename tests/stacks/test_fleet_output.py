"""The stack output `reconciler`: its schema, and the reader on the other side."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from typing import Any

import jsonschema
import pulumi
import pytest

from reconciler.diff.declared import parse_desired
from reconciler.model.scope import Scope
from reconciler.model.state import StackState
from reconciler_fleet import ExtraVolume, NewPrivateNetwork, WorkerFleet, WorkerFleetArgs, export_fleets
from reconciler_fleet.output import schema
from tests.stacks.engine import Ran, run
from tests.stacks.test_worker_fleet import SCOPE, args

OTHER_SCOPE = "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c12"


def program(*fleets: tuple[str, WorkerFleetArgs]) -> Callable[[], None]:
    return lambda: export_fleets(SCOPE, [WorkerFleet(name, one) for name, one in fleets])


def published() -> dict[str, Any]:
    text = resources.files("reconciler_fleet").joinpath("schema.json").read_text(encoding="utf-8")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def rich() -> Ran:
    static = args(
        private_network=NewPrivateNetwork(),
        volumes=(ExtraVolume(name="cache", size_gb=10),),
        cloud_init=pulumi.Output.secret("hunter2"),
        tags=("role=ci",),
    )
    return run(program(("linux", static), ("arm", args(replicas=None, minimum=0, maximum=20, zone="nl-ams-1"))))


def test_the_published_schema_is_the_one_of_the_code() -> None:
    assert published() == schema()


def test_the_output_of_a_program_fits_the_published_schema() -> None:
    jsonschema.validate(rich().outputs["reconciler"], published())


def test_the_schema_refuses_a_fleet_without_uid() -> None:
    document = rich().outputs["reconciler"]
    del document["fleets"][0]["uid"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, published())


def test_the_reconciler_reads_every_field_of_the_output() -> None:
    document = rich().outputs["reconciler"]
    desired = parse_desired(
        [StackState(stack="test/dev", serial="1", read_ms=0, outputs={"reconciler": document})],
        scope=Scope(name="ci", uuid=SCOPE, project=OTHER_SCOPE, zones=("fr-par-1",)),
    )
    assert desired.problems == ()
    linux, arm = desired.fleets
    assert (linux.name, linux.controller, linux.replicas, linux.zone) == ("linux", "static", 2, "fr-par-1")
    assert (arm.controller, arm.replicas, arm.minimum, arm.maximum) == ("elastic", None, 0, 20)
    assert linux.commercial_type == "DEV1-S"
    assert linux.component_urn is not None
    assert linux.component_urn.endswith("reconciler:fleet:WorkerFleet::linux")
    assert [linux.uid, linux.revision] == [document["fleets"][0][key] for key in ("uid", "revision")]


def test_a_secret_cloud_init_leaves_no_trace_in_the_output_and_does_not_make_it_secret() -> None:
    ran = rich()
    assert ran.secret_outputs == set()
    assert "hunter2" not in json.dumps(ran.outputs)
    assert ran.outputs["reconciler"]["fleets"][0]["spec"]["cloud_init"].startswith("hmac-sha256:")


def test_a_plain_cloud_init_is_shown_as_a_digest_only() -> None:
    ran = run(program(("linux", args(cloud_init="#cloud-config\n"))))
    assert ran.outputs["reconciler"]["fleets"][0]["spec"]["cloud_init"].startswith("sha256:")
    assert "#cloud-config" not in json.dumps(ran.outputs)


@pytest.mark.parametrize("key", ["image", "private_network", "security_group_id", "placement_group_id"])
def test_a_secret_argument_is_masked_and_does_not_make_the_output_secret(key: str) -> None:
    ran = run(program(("linux", args(**{key: pulumi.Output.secret("hush-hush")}))))
    assert ran.secret_outputs == set()
    assert "hush-hush" not in json.dumps(ran.outputs)
    assert ran.outputs["reconciler"]["fleets"][0]["spec"][key] == "[secret]"


def test_an_argument_that_is_an_ordinary_output_is_shown() -> None:
    ran = run(program(("linux", args(security_group_id=pulumi.Output.from_input("fr-par-1/sg")))))
    assert ran.outputs["reconciler"]["fleets"][0]["spec"]["security_group_id"] == "fr-par-1/sg"


def test_no_fleets_is_an_output_with_an_empty_list() -> None:
    assert run(program()).outputs == {"reconciler": {"schema_version": 1, "scope": SCOPE, "fleets": []}}


def test_two_fleets_of_one_name_are_refused() -> None:
    def twice() -> None:
        linux = WorkerFleet("linux", args())
        export_fleets(SCOPE, [linux, linux])

    with pytest.raises(pulumi.RunError, match="same name: linux"):
        run(twice)


def test_a_fleet_of_another_scope_is_refused() -> None:
    with pytest.raises(pulumi.RunError, match="another scope"):
        run(lambda: export_fleets(OTHER_SCOPE, [WorkerFleet("linux", args())]))


def test_a_second_export_is_refused_because_it_would_hide_the_first_ones_fleets() -> None:
    def twice() -> None:
        export_fleets(SCOPE, [WorkerFleet("linux", args())])
        export_fleets(SCOPE, [])

    with pytest.raises(pulumi.RunError, match="called twice"):
        run(twice)
