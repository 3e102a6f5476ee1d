"""A recording gives the same findings, and nothing that anybody chose is in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cases.names import SCOPE_UUID, id_of
from reconciler.cases.reader import load
from reconciler.cases.recording.mask import Mask
from reconciler.cases.recording.statecopy import properties
from reconciler.cases.runner import run_case
from reconciler.cases.setting import Setting
from reconciler.cases.stage import Stage
from reconciler.cli.case_world import COMMANDS_OF_CASES, invoke
from reconciler.model.scope import FleetMatch, Never, Scope
from reconciler.model.state import SECRET
from reconciler.simulator import PROJECT_ID
from tests.cases.support import HERE, case_of

ESTATE = """
why: An estate with a bit of everything.
settings:
  never: {names: ["sacred-*"], tags: [untouchable]}
  fleet:
    - name: hidden-fleet
      match: {tags: [role=forge-worker], name: ["forge-*"], urn: ["**Server::forge-*"], require: 2}
stacks:
  ci/prod:
    pending: [{creating: late, age: 3h}]
    lock: {by: susan@buildhost-77, age: 1h}
  secretproject/secretstack: {}
resources:
  - network: {name: backbone}
  - server: {name: worker-alpha, fleet: lumber, slot: 0, ip: yes, nic: {network: backbone}}
  - server: {name: worker-beta, fleet: lumber, slot: 1, ip: yes, gone: 3h}
  - server: {name: forge-7, tags: [role=forge-worker, owner=charlotte]}
  - server: {name: forge-8, tags: [role=forge-worker], stack: secretproject/secretstack}
  - server: {name: sacred-box, tags: [role=forge-worker]}
  - server: {name: bastion-of-bob, ip: yes, user_data: "#cloud-config hunter2password"}
  - server: {name: late, fleet: lumber, slot: 2, in: []}
  - ip: {name: leaked-address, tags: owned lumber/1, age: 2h}
  - volume: {name: pvc-database, tags: [kapsule=clusterone], size: 100 GB}
  - volume: {name: forgotten-disk, tags: [Reconciler:fleet=lumber]}
  - server: {name: wrong-tags, fleet: lumber, slot: 3, tags: [owned, cost-center=4711]}
steps:
  - do: {set_tags: {id: wrong-tags, tags: [owned lumber/3, cost-center=0815]}}
  - run: drift
"""
CHOSEN = (
    "worker-alpha", "worker-beta", "forge", "charlotte", "sacred", "bastion", "bob", "hunter2", "leaked", "database",
    "clusterone", "forgotten", "lumber", "cost-center", "4711", "0815", "susan", "buildhost", "secretproject",
    "secretstack", "backbone", "hidden-fleet", "untouchable", "role=", PROJECT_ID, SCOPE_UUID,
)  # fmt: skip


def recorded(text: str, folder: Path, *, after: str = "") -> tuple[str, str, list[str]]:
    """(the case, the data, every id and address of the original world)."""
    case = case_of(text)
    (folder / "origin").mkdir()
    stage = Stage(case, folder / "origin", invoke=invoke, setting=Setting())
    for step in case.steps:
        if step.do is not None:
            stage.stranger(step.do)
    target = folder / "strange.yaml"
    ran = stage.run(["simulate", "record", "-o", str(target)])
    assert ran.exit == 0, ran.stderr
    with stage.simulator.editing() as world:
        originals = [record.id for table in world.tables().values() for record in table]
        originals += [ip.address for ip in world.ips if ip.address]
    return target.read_text(), target.with_name("strange.yaml.json").read_text(), originals


def test_a_recorded_scope_gives_the_same_findings_by_kind_and_number(tmp_path: Path) -> None:
    text, _, _ = recorded(ESTATE, tmp_path)
    counts = yaml.safe_load(text)["steps"][0]["counts"]
    assert len(counts) >= 5
    assert run_case(load(tmp_path / "strange.yaml", commands=COMMANDS_OF_CASES), invoke=invoke) == ()


def test_nothing_that_anybody_chose_survives_in_a_recording(tmp_path: Path) -> None:
    text, data, originals = recorded(ESTATE, tmp_path)
    whole = (text + data).casefold()
    assert [one for one in (*CHOSEN, *originals) if one.casefold() in whole] == []


@pytest.mark.parametrize("path", sorted(HERE.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_case_of_the_project_can_be_recorded_and_played(path: Path, tmp_path: Path) -> None:
    recorded(path.read_text(), tmp_path)
    case = load(tmp_path / "strange.yaml", commands=COMMANDS_OF_CASES)
    assert run_case(case, invoke=invoke) == ()


def test_two_recordings_of_one_scope_have_no_word_in_common_that_is_masked(tmp_path: Path) -> None:
    scope = Scope(name="a", uuid=SCOPE_UUID, project=PROJECT_ID, zones=())
    first, second = Mask(b"1" * 64, scope), Mask(b"2" * 64, scope)
    assert first.name("worker") != second.name("worker")
    assert first.uuid(id_of("w1")) != second.uuid(id_of("w1"))
    assert first.tag("role=ci") != second.tag("role=ci")


def test_a_recording_writes_over_nothing(tmp_path: Path) -> None:
    (tmp_path / "strange.yaml").write_text("mine")
    (tmp_path / "origin").mkdir()
    stage = Stage(case_of(ESTATE), tmp_path / "origin", invoke=invoke, setting=Setting())
    ran = stage.run(["simulate", "record", "-o", str(tmp_path / "strange.yaml")])
    assert ran.exit == 64
    assert "RC0818" in ran.stderr
    assert (tmp_path / "strange.yaml").read_text() == "mine"


@pytest.mark.parametrize("data", ["", "{}", '{"schema_version": 2}', "[1]"])
def test_a_recording_that_was_damaged_is_refused_by_name(data: str, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("why: a text\nrecorded: c.json\nsteps: [{run: drift}]\n")
    (tmp_path / "c.json").write_text(data)
    (failure,) = run_case(load(tmp_path / "c.yaml"), invoke=invoke)
    assert "RC0815" in failure.what


# -- what stands for what

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=8, max_size=40)
PATTERNS = st.lists(st.sampled_from(["ci-*", "*-runner", "a?b*", "web-[0-9]*", "*"]), unique=True, max_size=4)
NAMES = st.one_of(TEXTS, st.from_regex(r"(ci|web)-[0-9a-z]{6,12}(-runner)?", fullmatch=True))


def mask_of(patterns: list[str]) -> tuple[Mask, Scope]:
    scope = Scope(
        name="a",
        uuid=SCOPE_UUID,
        project=PROJECT_ID,
        zones=(),
        never=Never(names=tuple(patterns)),
        fleets=(FleetMatch(name="f", names=tuple(patterns), urns=tuple(f"**::{one}" for one in patterns)),),
    )
    return Mask(b"k" * 64, scope), scope


@given(name=NAMES, patterns=PATTERNS)
def test_a_masked_name_is_matched_by_the_masked_patterns_of_its_own(name: str, patterns: list[str]) -> None:
    from fnmatch import fnmatchcase

    mask, _ = mask_of(patterns)
    before = [fnmatchcase(name, pattern) for pattern in patterns]
    after = [fnmatchcase(mask.name(name), mask.name_pattern(pattern)) for pattern in patterns]
    assert before == after


@given(text=TEXTS, other=TEXTS)
def test_what_was_equal_stays_equal_and_what_differed_differs(text: str, other: str) -> None:
    mask, _ = mask_of([])
    for masked in (mask.name, mask.tag, mask.part, mask.digest):
        assert masked(text) == masked(str(text))
        assert (masked(text) == masked(other)) == (text == other)


@given(
    name=st.from_regex(r"[a-z]{10,20}", fullmatch=True),
    key=st.from_regex(r"[a-z]{10,20}", fullmatch=True),
    value=st.from_regex(r"[a-z]{10,20}", fullmatch=True),
)
def test_no_chosen_word_is_in_what_a_state_leaves(name: str, key: str, value: str) -> None:
    mask, _ = mask_of(["ci-*"])
    given_state = {
        "name": name,
        "tags": [name, f"{key}={value}", f"reconciler:fleet={value}", f"kapsule={value}", f"RECONCILER:fleet={value}"],
        "rootVolume": {"name": name, "volumeId": f"fr-par-1/{name}", key: value},
        "publicIps": [{"id": f"fr-par-1/{value}", "address": name}],
        "image": value,
        "type": key,
        "userData": {"cloud-init": value},
        "cloudInit": value,
        key: value,
    }
    text = json.dumps(
        [properties(given_state, mask), mask.urn(f"urn:pulumi:{key}::{value}::a:b:{key.title()}::{name}")]
    )
    assert [word for word in (name, key, value) if word in text.casefold()] == []


@given(slot=st.integers(0, 99_999))
def test_owner_tags_keep_their_form(slot: int) -> None:
    mask, _ = mask_of([])
    assert mask.tag(f"reconciler:slot={slot}") == f"reconciler:slot={slot}"
    assert mask.tag("reconciler") == "reconciler"
    assert mask.tag(f"reconciler:scope={SCOPE_UUID}").startswith("reconciler:scope=")


def test_a_secret_stays_one_without_its_text() -> None:
    from reconciler.engine.masking import unwrap

    mask, _ = mask_of([])
    assert unwrap(properties({"name": SECRET}, mask))["name"] is SECRET
