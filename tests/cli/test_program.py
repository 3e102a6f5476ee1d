"""`--program`: the programs are run on request only, and one that fails stops nothing."""

from __future__ import annotations

import json

import jsonschema
import pytest

from reconciler.model.program import ProgramResource, ProgramView
from reconciler.report.schema import drift_schema
from tests.cli.conftest import Run
from tests.fakes.cloud import PROJECT, ZONE
from tests.fakes.estate import STACK, FakeWorld


def declare(world: FakeWorld, *steps: ProgramResource) -> None:
    world.engine_port.programs[STACK] = ProgramView(stack=STACK, at_ms=0, resources={one.urn: one for one in steps})


def new_ip() -> ProgramResource:
    token = "scaleway:instance/ip:Ip"  # a Pulumi type token
    return ProgramResource(
        urn=f"urn:pulumi:dev::demo::{token}::spare", type=token, operation="create", zone=ZONE, project=PROJECT
    )


@pytest.mark.parametrize("command", ["drift", "plan"])
def test_without_the_option_no_program_is_run(run: Run, command: str) -> None:
    assert run(command).status == 0  # the fake engine's program would fail


@pytest.mark.parametrize("command", ["drift", "plan"])
def test_a_failed_program_is_said_and_ends_with_7(run: Run, world: FakeWorld, command: str) -> None:
    world.leftover_ip()
    ran = run(command, "--program")
    assert ran.status == 7
    assert "its program failed (RC0541)" in ran.err


def test_a_failed_program_stops_no_other_finding(run: Run, world: FakeWorld) -> None:
    ip = world.leftover_ip()
    ran = run("drift", "--program")
    assert ip.id[:8] in ran.out
    assert f"not read: desired program {STACK}: " in ran.out
    assert "[RC0541]" in ran.out


def test_what_the_program_adds_ends_with_2(run: Run, world: FakeWorld) -> None:
    declare(world, new_ip())
    ran = run("drift", "--program")
    assert (ran.status, "vacant" in ran.out, "spare" in ran.out) == (2, True, True)


def test_a_program_that_says_what_the_state_has_is_in_sync(run: Run, world: FakeWorld) -> None:
    declare(world)
    assert run("drift", "--program").status == 0


def test_the_document_satisfies_the_schema(run: Run, world: FakeWorld) -> None:
    entry = world.vanished_ip()
    world.engine_port.gone.clear()
    declare(world, new_ip(), ProgramResource(urn=entry.urn, type=entry.type, operation="delete"))
    document = run("drift", "--program", "-j").document
    jsonschema.validate(document, json.loads(drift_schema()), jsonschema.Draft202012Validator)
    assert document["summary"]["vacant"] == 1


def test_a_plan_holds_no_action_for_what_is_the_users(run: Run, world: FakeWorld) -> None:
    declare(world, new_ip())
    assert run("plan", "--program", "-j").document["plan"]["actions"] == []


def test_explain_finds_what_only_the_program_shows(run: Run, world: FakeWorld) -> None:
    declare(world, new_ip())
    ran = run("explain", "--program", new_ip().urn)
    assert (ran.status, "the preview says create" in ran.out) == (0, True)
