"""Every expectation can fail, silence is a promise, and the same case is the same run."""

from __future__ import annotations

import pytest

from reconciler.cases.runner import run_case
from reconciler.cli.case_world import invoke
from tests.cases.support import case_of, run, whats

LEAK = """
why: a text
settings: {ownership: tags}
resources:
  - server: {name: w1, fleet: ci, slot: 0}
  - ip: {name: leak, tags: owned ci/1}
  - ip: {name: theirs}
steps:
"""
APPLY = LEAK + "  - {run: apply -y, deletes: leak}\n"


def after(*lines: str) -> str:
    return APPLY + "expect:\n" + "".join(f"  {line}\n" for line in lines)


def drift(text: str) -> str:
    return LEAK + f"  - {{run: drift, {text}}}\n"


def test_a_case_that_is_as_it_says_has_no_failure() -> None:
    assert run(APPLY) == ()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (drift("exit: 0"), "exit"),
        (drift("findings: none"), "a finding that was not expected"),
        (drift("findings: {detached leak: act destroy, missing w1: act refresh}"), "a finding is missing"),
        (drift("includes: {missing w1: act refresh}"), "a finding is missing"),
        (drift("findings: {detached leak: wait destroy}"), "another verdict"),
        (drift("findings: {detached leak: act tag}"), "another verdict"),
        (drift("findings: {detached leak: {verdict: act, reason: no such words}}"), "another reason"),
        (drift("findings: {detached leak: {verdict: act, rule: rule 1}}"), "another rule"),
        (drift("findings: {detached leak: {verdict: act, eur: 3 EUR/month}}"), "another price"),
        (drift("findings: {detached leak: {verdict: act, wait: 5m}}"), "another wait"),
        (drift("findings: {detached leak: {verdict: act, changed: tags}}"), "other properties differ"),
        (drift("findings: {detached leak: {verdict: act, with: w1}}"), "other subjects"),
        (drift("calls: {lists: 0}"), "calls: lists"),
        (drift("calls: {'GET /instance/**': <= 1}"), "calls: GET /instance/**"),
        (drift("stdout: no such words"), "stdout lacks a text"),
        (drift("stdout: {lacks: detached}"), "stdout has a text that it must not have"),
        (drift("stderr: no such words"), "stderr lacks a text"),
        (drift("kill: destroy.decided"), "exit"),
        (LEAK + "  - {run: apply -y, deletes: none}\n", "deleted: not expected"),
        (LEAK + "  - {run: apply -y, deletes: [leak, theirs]}\n", "deleted: missing"),
        (LEAK + "  - {run: apply -y, actions: none}\n", "actions: not expected"),
        (LEAK + "  - {run: apply -y, actions: {destroy leak: skipped}}\n", "actions: missing"),
        (LEAK + "  - {run: plan, actions: {destroy theirs: planned}}\n", "actions: missing"),
        (after("survive: leak"), "it did not survive"),
        (after("deletes: none"), "deleted: not expected"),
        (after("tags: {w1: [a]}"), "tags of w1"),
        (after("tags: {leak: owned ci/1}"), "tags of leak"),
        (after("state: {ci/prod: []}"), "state of ci/prod: not expected"),
        (after("state: {ci/prod: [w1, leak]}"), "state of ci/prod: missing"),
        (after("pending: {ci/prod: creating w1}"), "pending in ci/prod: missing"),
        (after("calls: {deletes: 2}"), "calls: deletes"),
    ],
)
def test_an_expectation_that_does_not_hold_is_a_failure(text: str, what: str) -> None:
    assert what in whats(text)


def test_a_deletion_that_the_case_does_not_mention_is_a_failure() -> None:
    assert whats(LEAK + "  - run: apply -y\n") == ["deleted: not expected"]


def test_a_stranger_may_delete_what_he_likes() -> None:
    assert run(LEAK + "  - do: {delete_ip: theirs}\n  - do: {kill_server: w1}\n") == ()


def test_a_command_that_only_looks_and_writes_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.cases.runner._LOOKS_ONLY", frozenset({"apply"}))
    assert whats(APPLY) == ["`apply` wrote to the cloud"]


def test_a_deletion_that_ends_after_its_command_counts_for_the_case() -> None:
    text = """
why: a text
settings: {ownership: tags}
stacks: {ci/prod: {fleets: {ci: {replicas: 0}}}}
resources:
  - server: {name: lost, fleet: ci, slot: 3, in: cloud, root: {type: local}}
steps:
  - {run: apply -y, kill: destroy.sent, deletes: none}
  - advance: 2m
"""
    assert set(whats(text)) == {"deleted: not expected"}


def test_a_killed_process_keeps_its_lease_until_it_runs_out() -> None:
    text = LEAK + "  - {run: apply -y, kill: destroy.decided}\n"
    assert run(text + "  - {run: apply -y, exit: 75}\nexpect: {deletes: none}\n") == ()
    assert run(text + "  - advance: 2m\n  - {run: apply -y, exit: 0, deletes: leak}\n") == ()


def test_a_name_in_braces_stands_for_the_id_in_a_command_line() -> None:
    assert run(LEAK + "  - {run: 'explain {leak}', stdout: detached}\n") == ()
    assert run(LEAK + "  - {run: explain leak, exit: 64}\n") == ()


ROWS = """
why: a text
stacks: {ci/prod: {fleets: {burst: {max: 4}}}}
resources:
  - server: {name: m1, fleet: burst, worker: w1}
  - server: {name: m2, fleet: burst, worker: w2, age: 1d}
records:
  - {worker: w1, fleet: burst, state: busy, machine: m1, sent: 1d}
  - {worker: w2, fleet: burst, state: provisioning, sent: 1d}
steps:
  - {run: drift, exit: 2, findings: {unresolved-create w2: act attach}}
"""


def test_rows_are_there_as_the_case_says() -> None:
    left = "  rows:\n    - {worker: w1, state: busy, machine: m1}\n    - {worker: w2, state: provisioning}\n"
    assert run(ROWS + "expect:\n" + left) == ()


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ("none", ["rows: not expected"] * 2),
        ("[{worker: w1}]", ["rows: not expected"]),
        ("[{worker: w1}, {worker: w2}, {worker: w3}]", ["rows: missing"]),
        ("[{worker: w1, state: ready}, {worker: w2}]", ["rows: not expected", "rows: missing"]),
        ("[{worker: w1, machine: m2}, {worker: w2}]", ["rows: not expected", "rows: missing"]),
    ],
)
def test_rows_that_are_not_as_the_case_says_are_a_failure(rows: str, what: list[str]) -> None:
    assert sorted(whats(ROWS + f"expect: {{rows: {rows}}}\n")) == sorted(what)


def test_a_row_that_ended_is_a_tombstone_and_no_row() -> None:
    ended = ROWS.replace("state: provisioning, sent: 1d", "sent: 1d, ended: given up")
    ended = ended.replace("exit: 2, findings: {unresolved-create w2: act attach}", "includes: {orphan m2: ask}")
    assert run(ended + "expect: {rows: [{worker: w1}]}\n") == ()


def test_without_records_a_worker_is_a_machine_like_any_other() -> None:
    kept, _, rest = ROWS.partition("records:")
    none = kept + "steps:" + rest.partition("steps:")[2]
    findings = "exit: 2, findings: {orphan m1: ask, orphan m2: ask}"
    assert run(none.replace("exit: 2, findings: {unresolved-create w2: act attach}", findings)) == ()


HANGS = """
why: a text
stacks: {ci/prod: {hangs: yes}}
resources:
  - server: {name: w1, fleet: ci, slot: 0}
  - server: {name: w2, fleet: ci, slot: 1, gone: 3h}
steps:
  - {run: apply -y --mode repair, actions: {refresh w2: failed}}
"""


def test_a_stack_hangs_until_it_does_not() -> None:
    assert run(HANGS + "expect: {state: {ci/prod: [w1, w2]}}\n") == ()
    ends = "  - stacks: {ci/prod: {hangs: no}}\n  - {run: apply -y --mode repair, actions: {refresh w2: done}}\n"
    assert run(HANGS + ends) == ()


def test_a_command_without_a_deadline_ends_the_process_and_not_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.cases.pulumi._FOR_EVER", 0.0)
    assert whats(HANGS.replace("actions: {refresh w2: failed}", "exit: 4")) == ["exit"]


def test_the_memory_is_that_of_sweeps_that_ran() -> None:
    young = (
        LEAK.replace("settings:", "memory: 5m\nsettings:")
        + "  - {run: drift, includes: {detached leak: wait destroy}}\n"
    )
    none = (
        LEAK.replace("settings:", "memory: 0s\nsettings:")
        + "  - {run: drift, includes: {detached leak: wait destroy}}\n"
    )
    assert run(young) == ()
    assert run(none) == ()
    assert run(LEAK + "  - {run: drift, includes: {detached leak: act destroy}}\n") == ()


def test_the_same_case_is_the_same_run() -> None:
    said: list[list[tuple[int, str, str]]] = []
    for _ in range(2):
        one: list[tuple[int, str, str]] = []

        def listening(argv, doors, one=one):  # type: ignore[no-untyped-def]
            ran = invoke(argv, doors)
            folder = str(doors.folder)
            one.append((ran.exit, ran.stdout.replace(folder, ""), ran.stderr.replace(folder, "")))
            return ran

        assert run_case(case_of(APPLY), invoke=listening) == ()
        said.append(one)
    assert said[0] == said[1]


def test_another_seed_is_another_run_with_the_same_end() -> None:
    assert run("seed: 7\n" + APPLY) == ()
