"""`policy`: every ledger can be checked, violations end with 5, and what cannot be judged is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from reconciler.config.settings import PolicySettings
from reconciler.kernel.errors import AuthenticationError
from reconciler.model.records import FleetRow, RecordsView, UnreadRecords, WorkerRow, WorkerState
from reconciler.model.resources import Kind, Server, Volume, VolumeSlot
from reconciler.model.state import StateResource
from tests.cli.conftest import Run
from tests.fakes.cloud import PROJECT, ZONE
from tests.fakes.estate import STACK, FakeWorld, scope_named

POLICY = """
version: 1
name: test
rules:
  - {id: role, check: required-tags, tags: [role=ci], kinds: [server, volume], hint: see the wiki}
  - {id: types, check: allowed-types, types: ["PRO2-*"], severity: advisory}
  - {id: young, check: max-lifetime, age: 1h, kinds: [server], severity: advisory}
exceptions:
  - {rules: [types], names: [nobody], reason: r, owner: ann, expires: 2030-01-01}
"""
SERVER_TYPE = "scaleway:instance/server:Server"
URN = f"urn:pulumi:dev::demo::{SERVER_TYPE}::linux-0"


@pytest.fixture
def policy(tmp_path: Path) -> str:
    (tmp_path / "p.yaml").write_text(POLICY)
    return str(tmp_path / "p.yaml")


@pytest.fixture
def machine(world: FakeWorld) -> Server:
    """A machine in state and cloud, with a root that its create made; neither has `role=ci`."""
    now = world.clock_now.now_ms()
    root = Volume(
        id="dddd0000-0000-4000-8000-000000000000",
        zone=ZONE,
        project=PROJECT,
        name="root",
        volume_type="sbs_5k",
        size=20_000_000_000,
        status="in_use",
        server_id="dddd0001-0000-4000-8000-000000000000",
        reference_ids=("dddd0001-0000-4000-8000-000000000000",),
        tags=world.owner_tags,
        created_ms=now - 86_399_000,
    )
    server = Server(
        id="dddd0001-0000-4000-8000-000000000000",
        zone=ZONE,
        project=PROJECT,
        name="linux-0",
        state="running",
        commercial_type="DEV1-S",
        tags=world.owner_tags,
        volumes=(VolumeSlot(key="0", id=root.id, volume_type="sbs_volume"),),
        created_ms=now - 86_400_000,
    )
    world.cloud_port.add(server)
    world.cloud_port.add(root)
    entry = StateResource(
        urn=URN,
        type=SERVER_TYPE,
        id=f"{ZONE}/{server.id}",
        custom=True,
        inputs={"tags": list(server.tags), "type": "DEV1-S", "rootVolume": {"sizeInGb": 20}},
        outputs={
            "projectId": PROJECT,
            "name": "linux-0",
            "type": "DEV1-S",
            "tags": list(server.tags),
            "state": "started",
            "bootType": "local",
            "rootVolume": {"volumeId": f"{ZONE}/{root.id}", "sizeInGb": 20, "name": "root"},
        },
    )
    state = world.engine_port.states[STACK]
    world.engine_port.add(replace(state, resources=(entry,)))
    return server


def rules(document: Any) -> list[tuple[str, str]]:
    return sorted((one["rule"], one["resource"]["kind"]) for one in document["violations"])


def test_the_cloud_is_checked_with_root_volumes_and_ends_with_5(run: Run, policy: str, machine: Server) -> None:
    ran = run("policy", "check", "--policy", policy, "-j")
    assert ran.status == 5
    assert rules(ran.document) == [("role", "server"), ("role", "volume"), ("types", "server"), ("young", "server")]


def test_the_console_shows_each_violation_and_the_hint(run: Run, policy: str, machine: Server) -> None:
    ran = run("policy", "check", "--policy", policy)
    assert "tag `role=ci` is missing" in ran.out
    assert "hint for role: see the wiki" in ran.out
    assert "4 violations (2 blocking, 2 advisory)" in ran.out


def test_nothing_of_ours_breaks_no_rule(run: Run, policy: str, world: FakeWorld) -> None:
    world.stranger()
    assert run("policy", "check", "--policy", policy).status == 0


def test_strangers_are_checked_on_request(run: Run, policy: str, world: FakeWorld) -> None:
    world.stranger()
    ran = run("policy", "check", "--policy", policy, "--all", "-j")
    assert (ran.status, rules(ran.document)[0]) == (5, ("role", "server"))


def test_what_was_not_read_ends_with_7(run: Run, policy: str, world: FakeWorld, machine: Server) -> None:
    world.cloud_port.broken[Kind.VOLUME, ZONE] = "HTTP 503"
    ran = run("policy", "check", "--policy", policy)
    assert (ran.status, "not complete" in ran.out) == (7, True)


def test_one_bad_scope_does_not_blind_the_others(run: Run, policy: str, world: FakeWorld, machine: Server) -> None:
    world.scopes = (world.scope, scope_named("other", 2))
    world.broken_clouds["other"] = AuthenticationError("401")
    ran = run("policy", "check", "--policy", policy, "-j")
    assert (ran.status, rules(ran.document)[0]) == (3, ("role", "server"))


@pytest.mark.parametrize(("level", "status"), [("advisory", 5), ("mandatory", 0), ("never", 0)])
def test_fail_on_says_from_which_severity_on(
    run: Run, tmp_path: Path, machine: Server, level: str, status: int
) -> None:
    rule = {"id": "types", "check": "allowed-types", "types": ["PRO2-*"], "severity": "advisory"}
    (tmp_path / "p.json").write_text(json.dumps({"version": 1, "rules": [rule]}))
    assert run("policy", "check", "--policy", str(tmp_path / "p.json"), "--fail-on", level).status == status


@pytest.mark.parametrize("argv", [["--state"], ["--state", STACK], ["--scope", "demo", "--state"]])
def test_a_state_is_checked_by_its_inputs_and_says_what_it_does_not_tell(
    run: Run, policy: str, machine: Server, argv: list[str]
) -> None:
    ran = run("policy", "check", "--policy", policy, "-j", *argv)
    assert ran.status == 5
    assert rules(ran.document) == [("role", "server"), ("types", "server")]
    told = {(one["rule"], one["reason"]) for one in ran.document["not_evaluated"]}
    assert told == {("role", "its tags are not told here"), ("young", "its age is not told here")}


def test_cloud_and_state_give_one_violation_one_fingerprint(run: Run, policy: str, machine: Server) -> None:
    def of_server(*argv: str) -> str:
        found = run("policy", "check", "--policy", policy, "-j", *argv).document["violations"]
        wanted = ("role", "server")
        return next(str(one["fingerprint"]) for one in found if (one["rule"], one["resource"]["kind"]) == wanted)

    assert of_server() == of_server("--state")


def exported(tmp_path: Path, inputs: dict[str, Any]) -> str:
    stack = {"urn": "urn:pulumi:dev::demo::pulumi:pulumi:Stack::demo-dev", "type": "pulumi:pulumi:Stack"}
    server = {"urn": URN, "type": SERVER_TYPE, "custom": True, "id": f"{ZONE}/x", "inputs": inputs, "outputs": inputs}
    document = {"version": 3, "deployment": {"manifest": {}, "resources": [{**stack, "custom": False}, server]}}
    (tmp_path / "export.json").write_text(json.dumps(document))
    return str(tmp_path / "export.json")


def test_an_exported_file_needs_no_stack_and_no_key(run: Run, tmp_path: Path, policy: str) -> None:
    file = exported(tmp_path, {"tags": ["role=ci"], "type": "DEV1-S"})
    ran = run("policy", "check", "--policy", policy, "--state", file, "-j")
    assert (ran.status, rules(ran.document)) == (0, [("types", "server")])
    assert ran.document["violations"][0]["resource"]["stack"] == "demo/dev"


def preview(tmp_path: Path, *steps: dict[str, Any]) -> str:
    (tmp_path / "preview.json").write_text(json.dumps({"steps": list(steps), "diagnostics": []}))
    return str(tmp_path / "preview.json")


def step(op: str, **inputs: Any) -> dict[str, Any]:
    state = {"urn": URN, "type": SERVER_TYPE, "custom": True, "inputs": inputs}
    return {"op": op, "urn": URN, "newState": state}


def test_a_preview_is_checked_and_what_is_not_known_yet_only_advises(run: Run, tmp_path: Path, policy: str) -> None:
    unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
    file = preview(tmp_path, step("create", type="PRO2-XXS", tags=["a", unknown]))
    ran = run("policy", "check", "--policy", policy, "--preview", file, "-j")
    (violation,) = ran.document["violations"]
    assert (ran.status, violation["rule"], violation["severity"]) == (0, "role", "advisory")
    assert violation["not_known_yet"] is True


def test_what_a_preview_deletes_or_only_reads_is_not_checked(run: Run, tmp_path: Path, policy: str) -> None:
    file = preview(tmp_path, step("delete", tags=[]), step("read", tags=[]))
    assert run("policy", "check", "--policy", policy, "--preview", file).status == 0


def test_a_pulumi_plan_tells_what_is_made_and_of_the_rest_what_changes(run: Run, tmp_path: Path, policy: str) -> None:
    goal = {"type": SERVER_TYPE, "custom": True}
    made = {"goal": {**goal, "inputDiff": {"adds": {"tags": ["x"], "type": "PRO2-S"}}}, "steps": ["create"]}
    kept = {"goal": {**goal, "inputDiff": {"updates": {"type": "DEV1-S"}}}, "steps": ["update"]}
    document = {"resourcePlans": {URN: made, f"{URN}1": kept}}
    (tmp_path / "plan.json").write_text(json.dumps(document))
    ran = run("policy", "check", "--policy", policy, "--preview", str(tmp_path / "plan.json"), "-j")
    found = sorted((one["rule"], one["resource"]["urn"]) for one in ran.document["violations"])
    assert found == [("role", URN), ("types", f"{URN}1")]


def test_neither_preview_nor_plan_is_an_error(run: Run, tmp_path: Path, policy: str) -> None:
    (tmp_path / "x.json").write_text("{}")
    ran = run("policy", "check", "--policy", policy, "--preview", str(tmp_path / "x.json"))
    assert (ran.status, "RC0841" in ran.err) == (64, True)


def test_a_plan_of_ours_is_checked_by_the_tags_that_it_writes(
    run: Run, tmp_path: Path, policy: str, world: FakeWorld, machine: Server
) -> None:
    root = world.cloud_port.resources[next(ref for ref in world.cloud_port.resources if ref.kind is Kind.VOLUME)]
    world.cloud_port.add(replace(root, tags=()))
    plan = tmp_path / "ours.json"
    run("plan", "--mode", "repair", "--out", str(plan))
    ran = run("policy", "check", "--policy", policy, "--plan", str(plan), "-j")
    assert (ran.status, rules(ran.document)) == (5, [("role", "volume")])


def test_rows_need_records(run: Run, policy: str) -> None:
    ran = run("policy", "check", "--policy", policy, "--rows")
    assert (ran.status, "error[RC0843]: no records are configured" in ran.err) == (64, True)


class Rows:
    """Two live workers, one of an older revision, and one that is doomed."""

    adapter = "native"

    def __init__(self, unread: UnreadRecords | None = None) -> None:
        self._unread = unread

    def read(self, scope: str) -> RecordsView:
        def row(name: str, revision: str, **changes: Any) -> WorkerRow:
            given: dict[str, Any] = {"fleet_id": "f", "fleet": "linux", "zone": ZONE, "state": WorkerState.READY}
            return WorkerRow(id=name, revision=revision, changed_ms=0, **given, **changes)

        fleet = FleetRow(id="f", name="linux", stack=STACK, controller="elastic", revision="b" * 12, declared_ms=0)
        workers = (row("new", "b" * 12), row("old", "a" * 12), row("doomed", "a" * 12, deletion_id="d"))
        return RecordsView(adapter="native", workers=workers, fleets=(fleet,), unread=self._unread)


@pytest.fixture
def rows_policy(tmp_path: Path) -> str:
    rules = [{"id": "own", "check": "ownership"}, {"id": "current", "check": "current-revision"}]
    (tmp_path / "rows.json").write_text(json.dumps({"version": 1, "rules": rules}))
    return str(tmp_path / "rows.json")


def with_rows(world: FakeWorld, monkeypatch: pytest.MonkeyPatch, rows: Rows) -> None:
    world.records_adapter = "native"
    monkeypatch.setattr(world, "records", lambda runtime, store, reason: rows)


def test_rows_are_judged_by_what_their_machines_are_made_with(
    run: Run, rows_policy: str, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_rows(world, monkeypatch, Rows())
    ran = run("policy", "check", "--policy", rows_policy, "--rows", "-j")
    found = [(one["rule"], one["resource"]["id"]) for one in ran.document["violations"]]
    assert (ran.status, found) == (5, [("current", "old")])


def test_rows_that_cannot_be_read_end_with_7(
    run: Run, rows_policy: str, world: FakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_rows(world, monkeypatch, Rows(UnreadRecords(code="RC0200", reason="down")))
    ran = run("policy", "check", "--policy", rows_policy, "--rows")
    assert (ran.status, "RC0849" in ran.err) == (7, True)


def test_two_ledgers_at_once_are_refused(run: Run, policy: str) -> None:
    ran = run("policy", "check", "--policy", policy, "--rows", "--state")
    assert (ran.status, "RC0842" in ran.err) == (64, True)


def test_no_policy_is_an_error_and_no_success(run: Run) -> None:
    for argv in (["check"], ["check", "--state"], ["list"]):
        ran = run("policy", *argv)
        assert (ran.status, "RC0839" in ran.err) == (64, True)


def declares(world: FakeWorld, policy: Any) -> None:
    output = {"schema_version": 1, "scope": world.scope.uuid, "fleets": [], "policy": policy}
    state = world.engine_port.states[STACK]
    world.engine_port.add(replace(state, outputs={"reconciler": output}))


def test_what_a_stack_declares_counts_without_any_file(run: Run, world: FakeWorld, machine: Server) -> None:
    declares(world, {"version": 1, "rules": [{"id": "own", "check": "required-tags", "tags": ["x"]}]})
    for argv in ([], ["--state"]):
        ran = run("policy", "check", "-j", *argv)
        assert (ran.status, ("own", "server") in rules(ran.document)) == (5, True)


def test_a_declaration_that_cannot_be_read_is_no_success(run: Run, world: FakeWorld, machine: Server) -> None:
    declares(world, {"version": 1, "rules": [{"id": "own", "check": "nothing"}]})
    ran = run("policy", "check", "--state")
    assert (ran.status, "RC0845" in ran.err) == (64, True)


def test_a_mistake_in_the_policy_is_named_with_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("version: 1\nruls: []\n")
    ran = run("policy", "check", "--policy", str(tmp_path / "p.yaml"))
    assert (ran.status, "p.yaml:2: ruls: unknown key" in ran.err) == (64, True)


# -- list, explain, test, baseline


def test_list_shows_every_rule(run: Run, policy: str) -> None:
    ran = run("policy", "list", "--policy", policy)
    assert ran.status == 0
    assert [row.split()[1] for row in ran.out.splitlines()[1:]] == ["role", "types", "young"]


def test_list_as_json_has_the_parameters(run: Run, policy: str) -> None:
    entries = run("policy", "list", "--policy", policy, "-j").document["rules"]
    assert entries[0]["parameters"] == {"tags": "role=ci"}


def test_list_shows_what_a_stack_declares(run: Run, world: FakeWorld) -> None:
    declares(world, {"version": 1, "rules": [{"id": "own", "check": "ownership"}]})
    assert "stack demo/dev" in run("policy", "list", "--stack", STACK).out


def test_explain_shows_effect_and_exceptions(run: Run, policy: str) -> None:
    ran = run("policy", "explain", "types", "--policy", policy)
    assert ran.status == 0
    for part in ("types: PRO2-*", "effect: shown", "exception (counts, until 2030-01-01): r, ann"):
        assert part in ran.out


def test_explain_of_no_rule_names_those_that_are_there(run: Run, policy: str) -> None:
    ran = run("policy", "explain", "rolle", "--policy", policy)
    assert (ran.status, "Rules: role, types, young" in ran.err) == (64, True)


def examples(tmp_path: Path, violates: str) -> str:
    (tmp_path / "e.yaml").write_text(
        f"policy: p.yaml\ncases:\n  - {{name: no role, resource: {{kind: volume, tags: []}}, violates: [{violates}]}}\n"
    )
    return str(tmp_path / "e.yaml")


def test_examples_that_hold_end_with_0_and_others_with_5(run: Run, tmp_path: Path, policy: str) -> None:
    assert run("policy", "test", examples(tmp_path, "role")).status == 0
    ran = run("policy", "test", examples(tmp_path, ""))
    assert (ran.status, "role is violated" in ran.out) == (5, True)


def test_a_wrong_examples_file_names_its_line(run: Run, tmp_path: Path, policy: str) -> None:
    (tmp_path / "e.yaml").write_text("policy: p.yaml\ncases:\n  - {name: a, resource: {}}\n")
    ran = run("policy", "test", str(tmp_path / "e.yaml"))
    assert (ran.status, "error[RC0844]" in ran.err, "e.yaml:3" in ran.err) == (64, True, True)


def baseline(run: Run, tmp_path: Path, policy: str, *argv: str) -> Any:
    file = tmp_path / "baseline.json"
    ran = run("policy", "baseline", str(file), "--policy", policy, "--reason", "old", "--expires", "2030-01-01", *argv)
    return ran, file


def test_what_is_in_the_baseline_no_longer_blocks_and_what_is_new_does(
    run: Run, tmp_path: Path, policy: str, world: FakeWorld, machine: Server
) -> None:
    ran, file = baseline(run, tmp_path, policy)
    assert ran.status == 0
    again = run("policy", "check", "--policy", policy, "--baseline", str(file), "-j")
    assert (again.status, again.document["summary"]["excepted"]) == (0, 4)
    other = replace(machine, id="dddd0009-0000-4000-8000-000000000000", name="linux-9")
    world.cloud_port.add(other)
    state = world.engine_port.states[STACK]
    entry = replace(state.resources[0], urn=f"{URN}9", id=f"{ZONE}/{other.id}")
    world.engine_port.add(replace(state, resources=(*state.resources, entry)))
    assert run("policy", "check", "--policy", policy, "--baseline", str(file)).status == 5


def test_a_baseline_ends_on_its_day(run: Run, tmp_path: Path, policy: str, world: FakeWorld, machine: Server) -> None:
    _, file = baseline(run, tmp_path, policy)
    world.clock_now.advance(10 * 365 * 86_400)
    assert run("policy", "check", "--policy", policy, "--baseline", str(file)).status == 5


def test_a_baseline_of_a_part_is_refused(run: Run, tmp_path: Path, policy: str, world: FakeWorld) -> None:
    world.cloud_port.broken[Kind.VOLUME, ZONE] = "HTTP 503"
    ran, file = baseline(run, tmp_path, policy)
    assert (ran.status, "RC0847" in ran.err, file.exists()) == (6, True, False)


@pytest.mark.parametrize("day", ["2020-01-01", "soon"])
def test_a_baseline_without_a_day_to_come_is_refused(run: Run, tmp_path: Path, policy: str, day: str) -> None:
    ran = run("policy", "baseline", str(tmp_path / "b"), "--policy", policy, "--reason", "r", "--expires", day)
    assert (ran.status, "RC0848" in ran.err) == (64, True)


def test_a_file_that_is_no_baseline_is_an_error(run: Run, tmp_path: Path, policy: str) -> None:
    (tmp_path / "b.json").write_text("[]")
    ran = run("policy", "check", "--policy", policy, "--baseline", str(tmp_path / "b.json"))
    assert (ran.status, "RC0840" in ran.err) == (64, True)


@pytest.mark.parametrize("reason", ["", " why", "two\nlines", "long" * 200])
def test_a_reason_that_no_baseline_could_hold_is_refused_before_one_is_written(
    run: Run, tmp_path: Path, policy: str, reason: str
) -> None:
    file = tmp_path / "b.json"
    ran = run("policy", "baseline", str(file), "--policy", policy, "--reason", reason, "--expires", "2030-01-01")
    assert (ran.status, "RC0851" in ran.err, file.exists()) == (64, True, False)


def test_a_baseline_in_which_a_line_says_another_resource_than_it_lets_through_is_refused(
    run: Run,
    tmp_path: Path,
    policy: str,
    machine: Server,  # it breaks the rules
) -> None:
    _, file = baseline(run, tmp_path, policy)
    document = json.loads(file.read_text())
    document["violations"][0]["resource"] = "server urn:of:a:harmless:one"
    file.write_text(json.dumps(document))
    ran = run("policy", "check", "--policy", policy, "--baseline", str(file))
    assert (ran.status, "violations[0]" in ran.err) == (64, True)


def test_a_baseline_with_a_second_end_is_refused(run: Run, tmp_path: Path, policy: str) -> None:
    _, file = baseline(run, tmp_path, policy)
    file.write_text(file.read_text().replace('"reason"', '"expires": "9999-12-31",\n  "reason"'))
    ran = run("policy", "check", "--policy", policy, "--baseline", str(file))
    assert (ran.status, "RC0840" in ran.err) == (64, True)


# -- reviews


def test_all_review_formats_come_out_of_one_check(run: Run, tmp_path: Path, policy: str, machine: Server) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("sarif", "junit", "gitlab")}
    outputs = [part for name, file in files.items() for part in ("-o", f"{name}={file}")]
    ran = run("policy", "check", "--policy", policy, *outputs, "-o", "github")
    sarif = json.loads(files["sarif"].read_text())
    assert sorted(one["ruleId"] for one in sarif["runs"][0]["results"]) == [
        "policy/role", "policy/role", "policy/types", "policy/young",
    ]  # fmt: skip
    assert len(ET.fromstring(files["junit"].read_text()).findall(".//testcase")) == 4
    assert len(json.loads(files["gitlab"].read_text())) == 4
    assert [line.split(" ")[0] for line in ran.out.splitlines()] == ["::error"] * 2 + ["::warning"] * 2


def test_a_remark_points_at_the_line_that_declares_the_fleet(
    run: Run, tmp_path: Path, policy: str, machine: Server
) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  reconciler:fleets:\n    - name: linux\n      replicas: 1\n")
    run("policy", "check", "--policy", policy, "-o", f"gitlab={tmp_path / 'out.json'}")
    places = {json.dumps(one["location"]) for one in json.loads((tmp_path / "out.json").read_text())}
    assert places == {'{"path": "Pulumi.dev.yaml", "lines": {"begin": 3}}'}


def test_drift_has_the_same_formats(run: Run, tmp_path: Path, world: FakeWorld) -> None:
    world.leftover_ip()
    world.stranger()
    ran = run("drift", "-o", f"sarif={tmp_path / 'd.sarif'}", "-o", f"junit={tmp_path / 'd.xml'}", "-o", "github")
    (result,) = json.loads((tmp_path / "d.sarif").read_text())["runs"][0]["results"]
    assert (ran.status, result["ruleId"], result["level"]) == (2, "drift/detached", "error")
    assert ran.out.startswith("::error file=Pulumi.yaml,line=1,title=drift/detached::act")
    assert ET.fromstring((tmp_path / "d.xml").read_text()).get("failures") == "1"


# -- the configured policy


def test_drift_holds_the_estate_against_the_configured_policy(
    run: Run, tmp_path: Path, policy: str, world: FakeWorld, machine: Server
) -> None:
    world.policy = PolicySettings(file=Path(policy))
    ran = run("drift", "-j")
    found = sorted((one["subjects"][0]["kind"], one["verdict"]) for one in ran.document["findings"])
    assert (ran.status, found) == (5, [("server", "ask"), ("volume", "act")])
    assert run("drift", "--exit-zero").status == 0


def test_a_configured_policy_that_is_wrong_is_named_and_no_sweep_passes_without_it(
    run: Run, tmp_path: Path, world: FakeWorld, machine: Server
) -> None:
    (tmp_path / "p.yaml").write_text("version: 1\nruls: []\n")
    world.policy = PolicySettings(file=tmp_path / "p.yaml")
    for argv in (["drift"], ["plan"], ["apply", "-y"]):
        ran = run(*argv)
        assert (ran.status, "p.yaml:2: ruls: unknown key" in ran.err) == (64, True), argv


def test_a_flag_counts_before_the_configuration(run: Run, tmp_path: Path, policy: str, world: FakeWorld) -> None:
    world.policy = PolicySettings(file=tmp_path / "none.yaml")
    assert run("policy", "list", "--policy", policy).status == 0


def test_the_configured_baseline_counts_in_a_sweep(
    run: Run, tmp_path: Path, policy: str, world: FakeWorld, machine: Server
) -> None:
    _, file = baseline(run, tmp_path, policy)
    world.policy = PolicySettings(file=Path(policy), baseline=file)
    assert run("drift").status == 0


def odd_export(tmp_path: Path, *, stack: str = "prod", size: str = "20") -> str:
    """An export with one server that lacks its tags."""
    urn = f"urn:pulumi:{stack}::ci::scaleway:instance/server:Server::w"
    entry = f'{{"urn": "{urn}", "custom": true, "id": "{ZONE}/aaaa0001-0000-4000-8000-000000000000", '
    entry += f'"type": "scaleway:instance/server:Server", "inputs": {{"rootVolume": {{"sizeInGb": {size}}}}}}}'
    root = f'{{"urn": "urn:pulumi:{stack}::ci::pulumi:pulumi:Stack::ci", "type": "pulumi:pulumi:Stack"}}'
    file = tmp_path / "export.json"
    file.write_text(f'{{"version": 3, "deployment": {{"resources": [{root}, {entry}]}}}}')
    return str(file)


@pytest.mark.parametrize("size", ["1e999", "NaN"])
def test_a_size_that_is_no_number_is_not_told_and_hides_no_other_violation(
    run: Run, tmp_path: Path, policy: str, size: str
) -> None:
    ran = run("policy", "check", "--policy", policy, "--state", odd_export(tmp_path, size=size))
    assert (ran.status, "role" in ran.out) == (5, True)


@pytest.mark.parametrize("form", ["sarif", "junit", "gitlab", "github"])
def test_a_stack_whose_name_no_file_can_have_is_shown_at_the_project(
    run: Run, tmp_path: Path, policy: str, form: str
) -> None:
    ran = run("policy", "check", "--policy", policy, "--state", odd_export(tmp_path, stack="pr\\u0000d"), "-o", form)
    assert (ran.status, "Pulumi.yaml" in ran.out) == (5, True)


def test_one_exported_state_named_twice_is_checked_once(run: Run, tmp_path: Path, policy: str) -> None:
    file = odd_export(tmp_path)
    once = run("policy", "check", "--policy", policy, "--state", file, "-j").document["summary"]
    twice = run("policy", "check", "--policy", policy, "--state", file, "--state", file, "-j").document["summary"]
    assert once == twice
