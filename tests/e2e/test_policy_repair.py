"""A policy against the shipped stack, on the real engine and provider: found, repaired, gone, and previews stay clean.

One story, told by the command line; the tests look at the record, one fact each.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from reconciler.simulator import PROJECT_ID, Simulator, World, serve
from tests.e2e.test_shipped_stack import DEADLINE_SECONDS, NO_ENGINE, SCOPE, STATIC, Step, Story, begin

pytestmark = [
    pytest.mark.engine,
    pytest.mark.xdist_group("policy-repair"),
    pytest.mark.skipif(NO_ENGINE is not None, reason=f"{NO_ENGINE} is not on PATH: make toolchain"),
]

CONFIG = f"""
[state]
stacks = ["reconciler-fleet/dev"]
[[scope]]
name = "ci"
uuid = "{SCOPE}"
project = "{PROJECT_ID}"
zones = ["fr-par-1"]
[policy]
file = "policy.json"
"""
CHILDREN: dict[str, Any] = {"id": "desk", "check": "required-tags", "tags": ["desk=4"], "kinds": ["volume", "nic"]}
SERVERS: dict[str, Any] = {"id": "desk", "check": "required-tags", "tags": ["desk=4"], "kinds": ["server"]}


def reconciler(story: Story, name: str, *argv: str) -> None:
    """Our own command in a process of its own, as a user runs it."""
    environ = {**story.environ, "RECONCILER_DATABASE_URL": f"sqlite:///{story.folder.parent / 'memory.db'}"}
    run = subprocess.run(
        [sys.executable, "-m", "reconciler.cli.main", *argv],
        cwd=story.folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    story.steps[name] = Step(run.returncode, run.stdout + run.stderr)
    story.outputs[name] = json.loads(run.stdout) if "-j" in argv and run.stdout.startswith("{") else None


def rules(story: Story, *given: dict[str, Any]) -> None:
    (story.folder / "policy.json").write_text(json.dumps({"version": 1, "rules": list(given)}))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    simulator = Simulator(World(), speed=1000)
    with serve(simulator) as server:
        made = begin(tmp_path_factory.mktemp("repair"), simulator, server.url)
        (made.folder / "reconciler.toml").write_text(CONFIG)
        # Extra volumes are Pulumi's own resources, which are asked about: here there are none.
        made.configure(scope=SCOPE, fleets=[{**STATIC, "replicas": 2, "volumes": []}])
        made.pulumi("up", "up", "--yes", "--skip-preview")
        rules(made, CHILDREN)
        reconciler(made, "drift", "drift", "-j")
        reconciler(made, "apply", "apply", "--mode", "repair", "-y")
        made.things["repaired"] = made._look()
        reconciler(made, "drift again", "drift", "-j")
        reconciler(made, "check", "policy", "check", "-j")
        made.pulumi("preview", "preview", "--expect-no-changes", "--diff")
        made.pulumi("refresh", "refresh", "--preview-only", "--expect-no-changes")
        rules(made, SERVERS)
        reconciler(made, "servers", "drift", "-j")
        reconciler(made, "apply servers", "apply", "--mode", "repair", "-y")
        made.things["not repaired"] = made._look()
        made.configure(scope=SCOPE, fleets=[{**STATIC, "replicas": 2, "volumes": [], "tags": ["role=ci", "desk=4"]}])
        made.pulumi("declared", "up", "--yes", "--skip-preview")
        reconciler(made, "settled", "drift", "-j")
        yield made


def found(story: Story, name: str, kind: str) -> list[tuple[str, str, str]]:
    assert story.outputs[name] is not None, story.steps[name].text
    return sorted(
        (one["subjects"][0]["kind"], one["verdict"], one["action"])
        for one in story.outputs[name]["findings"]
        if one["kind"] == kind
    )


def test_roots_get_owner_tags_and_the_policys_in_one_and_nics_by_the_policy(story: Story) -> None:
    assert story.steps["up"].status == 0, story.steps["up"].text
    assert found(story, "drift", "untagged-child") == [("volume", "act", "tag")] * 2
    assert found(story, "drift", "policy") == [("nic", "act", "tag")] * 2
    assert story.steps["drift"].status == 5


def test_a_violation_has_its_price(story: Story) -> None:
    costs = [one["cost"] for one in story.outputs["servers"]["findings"] if one["kind"] == "policy"]
    assert all(cost["hour"] > 0 for cost in costs)


def test_repair_tags_the_children_and_leaves_the_machines(story: Story) -> None:
    assert story.steps["apply"].status == 0, story.steps["apply"].text
    made = story.things["repaired"]
    assert all("desk=4" in tags for tags in made.volumes)
    assert made.servers == story.things["up"].servers


def test_it_is_gone_in_the_next_sweep(story: Story) -> None:
    assert (story.steps["drift again"].status, story.outputs["drift again"]["findings"]) == (0, [])
    assert story.steps["check"].status == 0, story.steps["check"].text


@pytest.mark.parametrize("step", ["preview", "refresh"])
def test_the_stack_previews_clean_afterwards(story: Story, step: str) -> None:
    assert story.steps[step].status == 0, story.steps[step].text


def test_a_managed_machine_is_asked_about_and_not_touched(story: Story) -> None:
    assert found(story, "servers", "policy") == [("server", "ask", "none")] * 2
    assert story.things["not repaired"].servers == story.things["up"].servers


def test_the_line_that_the_finding_asks_for_settles_it(story: Story) -> None:
    reasons = {one["reason"] for one in story.outputs["servers"]["findings"] if one["kind"] == "policy"}
    assert "desk: tag `desk=4` is missing; declare `desk=4` in the tags of linux-0" in reasons
    assert story.steps["declared"].status == 0, story.steps["declared"].text
    assert found(story, "settled", "policy") == []
