"""The pack on the real engine: what a preview blocks, passes and remediates, and that a state is judged alike.

Each story is run once per module and recorded; the tests look at the record, one fact each.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.cli.main import main
from reconciler.simulator import Simulator, World, serve
from tests.e2e.test_shipped_stack import NO_ENGINE, ROOT, SCOPE, STATIC, Story, begin
from tools.console import ToolError
from tools.policy_env import ensure

pytestmark = [
    pytest.mark.engine,
    pytest.mark.xdist_group("policy-pack"),
    pytest.mark.skipif(NO_ENGINE is not None, reason=f"{NO_ENGINE} is not on PATH: make toolchain"),
]

BARE = """
import pulumi
from pulumiverse_scaleway import instance

root = instance.ServerRootVolumeArgs(size_in_gb=20, volume_type="sbs_volume")
common = {"zone": "fr-par-1", "type": "DEV1-S", "image": "ubuntu_noble", "root_volume": root}
address = instance.Ip("address", zone="fr-par-1", type="routed_ipv4", tags=OWNER)
instance.Server("bare", name="bare", tags=["theirs"], **common)
tags = ["theirs", address.id.apply(lambda id: f"ip={id}")]
instance.Server("late", name="late", tags=tags, ip_id=address.id, **common)
"""
OWNER = ["reconciler", f"reconciler:scope={SCOPE}", "reconciler:fleet=linux"]
ROLE: dict[str, Any] = {"id": "role", "check": "required-tags", "tags": ["role=ci"], "kinds": ["server"]}
SMALL: dict[str, Any] = {"id": "small", "check": "max-size", "gb": 10}


@pytest.fixture(scope="module")
def environment() -> Path:
    try:
        return ensure(os.environ)
    except ToolError as error:
        pytest.skip(str(error))


def with_pack(story: Story, environment: Path) -> Story:
    """The pack beside the project, as in the source tree."""
    pack = story.folder / "policies"
    shutil.copytree(ROOT / "policies", pack, ignore=shutil.ignore_patterns("__pycache__", ".venv"))
    (pack / ".venv").symlink_to(environment)
    (story.folder / "reconciler").symlink_to(ROOT / "reconciler")
    return story


def configure(story: Story, *rules: dict[str, Any], **document: Any) -> list[str]:
    """The flags for a pack with these rules."""
    policy = {"version": 1, "rules": list(rules), **document}
    names = ("advisory", "mandatory", "remediate", "declared-advisory", "declared-mandatory")
    (story.folder / "pack.json").write_text(json.dumps({name: {"policy": policy, "scope": SCOPE} for name in names}))
    return ["--policy-pack", "policies", "--policy-pack-config", "pack.json"]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, environment: Path) -> Iterator[Story]:
    """A program of somebody who knows nothing of us: one server without owner tags, one with a tag not known yet."""
    simulator = Simulator(World(), speed=1000)
    with serve(simulator) as server:
        story = with_pack(begin(tmp_path_factory.mktemp("bare"), simulator, server.url), environment)
        (story.folder / "stacks" / "__main__.py").write_text(BARE.replace("OWNER", repr(OWNER)))
        story.pulumi("blocked", "preview", "--policy-pack", "policies")
        story.pulumi("advised", "preview", *configure(story, {**ROLE, "severity": "advisory"}))
        remediate = configure(story, {**ROLE, "severity": "remediate"})
        story.pulumi("up", "up", "--yes", "--skip-preview", *remediate)
        story.pulumi("again", "preview", "--expect-no-changes", *remediate)
        story.pulumi("small", "preview", *configure(story, SMALL))
        story.pulumi("wrong", "preview", *configure(story, {**ROLE, "tagz": []}))
        story.pulumi("json", "preview", "--json", "--show-sames")
        story.pulumi("plan", "preview", "--save-plan", "plan.json")
        (story.folder / "export.json").write_text(json.dumps({"version": 3, "deployment": story.export()}))
        yield story


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory, environment: Path) -> Iterator[Story]:
    """The shipped stack, with a policy of its own from its second preview on."""
    simulator = Simulator(World(), speed=1000)
    with serve(simulator) as server:
        story = with_pack(begin(tmp_path_factory.mktemp("shipped"), simulator, server.url), environment)
        fleet = {**STATIC, "replicas": 1}
        story.configure(scope=SCOPE, fleets=[fleet])
        story.pulumi("preview", "preview", "--policy-pack", "policies")
        story.pulumi("up", "up", "--yes", "--skip-preview", "--policy-pack", "policies")
        own = {"version": 1, "rules": [{"id": "types", "check": "allowed-types", "types": ["PRO2-*"]}]}
        story.configure(scope=SCOPE, fleets=[fleet], policy=own)
        story.pulumi("declared", "preview", "--policy-pack", "policies")
        own["rules"][0]["severity"] = "advisory"  # type: ignore[index]
        story.configure(scope=SCOPE, fleets=[fleet], policy=own)
        story.pulumi("declared advice", "preview", "--policy-pack", "policies")
        yield story


def test_a_server_with_an_inline_root_and_no_owner_tag_blocks_the_preview(bare: Story) -> None:
    step = bare.steps["blocked"]
    assert step.status != 0
    assert "[mandatory]  mandatory  (scaleway:instance:Server: bare)" in step.text
    assert "owner-tags: server bare:" in step.text


def test_what_carries_the_owner_tags_is_not_spoken_of(bare: Story) -> None:
    assert "Ip: address)" not in bare.steps["blocked"].text


def test_what_is_not_known_yet_only_advises(bare: Story) -> None:
    text = bare.steps["blocked"].text
    assert "[advisory]  advisory  (scaleway:instance:Server: late)" in text
    assert "as far as the tags are known yet" in text


def test_advice_does_not_block(bare: Story) -> None:
    assert bare.steps["advised"].status == 0, bare.steps["advised"].text
    assert "role: server bare: tag `role=ci` is missing" in bare.steps["advised"].text


def test_where_it_is_configured_missing_tags_are_added(bare: Story) -> None:
    assert bare.steps["up"].status == 0, bare.steps["up"].text
    servers = bare.things["up"].servers
    assert servers["bare"] == ["theirs", "role=ci"]
    assert servers["late"][0] == "theirs"
    assert servers["late"][-1] == "role=ci"


def test_a_remediated_stack_previews_clean(bare: Story) -> None:
    assert bare.steps["again"].status == 0, bare.steps["again"].text


def test_an_inline_root_volume_is_judged_by_its_size(bare: Story) -> None:
    assert bare.steps["small"].status != 0
    assert "small: volume bare: 20 GB, and 10 GB is the most" in bare.steps["small"].text


def test_a_policy_that_cannot_be_read_fails_the_preview(bare: Story) -> None:
    assert bare.steps["wrong"].status != 0
    assert "rules[0].tagz: unknown key" in bare.steps["wrong"].text


@pytest.mark.parametrize("source", ["preview", "plan"])
def test_what_pulumi_prints_and_saves_of_a_preview_can_be_checked(
    bare: Story, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """Without the pack `up` would take off the tag that the pack had added: a preview says all, a plan what changes."""
    file = "plan.json"
    if source == "preview":
        file = "preview.json"
        text = bare.steps["json"].text
        (bare.folder / file).write_text(text[text.index("{") : text.rindex("}") + 1])
    (bare.folder / "policy.json").write_text(json.dumps({"version": 1, "rules": [ROLE, SMALL]}))
    monkeypatch.chdir(bare.folder)
    capsys.readouterr()
    assert main(["policy", "check", "--policy", "policy.json", "--preview", file, "-j"]) == 5
    found = json.loads(capsys.readouterr().out)["violations"]
    judged = {(one["rule"], one["resource"]["urn"].rsplit("::", 1)[-1]) for one in found}
    roles = {("role", "bare"), ("role", "late")}
    assert judged == (roles | {("small", "bare"), ("small", "late")} if source == "preview" else roles)


def test_the_shipped_stack_passes(shipped: Story) -> None:
    for name in ("preview", "up"):
        assert shipped.steps[name].status == 0, shipped.steps[name].text
        assert "[mandatory]" not in shipped.steps[name].text


def test_what_the_stack_declares_for_itself_is_held_against_it(shipped: Story) -> None:
    assert shipped.steps["declared"].status != 0
    assert "declared-mandatory  (scaleway:instance:Server: linux-0)" in shipped.steps["declared"].text
    assert "types: server linux-0: type `DEV1-S` is not among PRO2-*" in shipped.steps["declared"].text


def test_its_own_advice_does_not_block(shipped: Story) -> None:
    assert shipped.steps["declared advice"].status == 0, shipped.steps["declared advice"].text
    assert "declared-advisory" in shipped.steps["declared advice"].text


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([ROLE], id="holds"),
        pytest.param([{**ROLE, "tags": ["owner=ann"]}], id="tags"),
        pytest.param([SMALL], id="root-volume"),
        pytest.param([{"id": "own", "check": "ownership", "kinds": ["server", "ip"]}], id="ownership"),
        pytest.param([{"id": "private", "check": "no-public-ip"}], id="public-ip"),
        pytest.param([{"id": "zones", "check": "allowed-zones", "zones": ["nl-*"]}], id="zones"),
    ],
)
def test_analyze_on_a_state_agrees_with_our_check(
    bare: Story, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rules: list[dict[str, Any]]
) -> None:
    flags = configure(bare, *rules)
    analyzed = bare.pulumi("analyze", "policy", "analyze", "--file", "export.json", *flags)
    (bare.folder / "policy.json").write_text(json.dumps({"version": 1, "scope": SCOPE, "rules": rules}))
    monkeypatch.chdir(bare.folder)
    capsys.readouterr()
    status = main(["policy", "check", "--policy", "policy.json", "--state", "export.json", "-j"])
    found = json.loads(capsys.readouterr().out)["violations"]
    assert (status != 0) is (analyzed.status != 0)
    for one in found:
        assert f"{one['rule']}: " in analyzed.text
        assert one["message"] in analyzed.text
    assert analyzed.text.count(f"{rules[0]['id']}: ") == len(found), analyzed.text
