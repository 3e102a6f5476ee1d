"""What a case can do to states, and what it can say of a resource that only a state or a wrong clock has."""

from __future__ import annotations

import pytest

from tests.cases.support import run, wrong

FLEET = """why: a text that is long enough
resources:
  - server: {name: w1, fleet: ci, slot: 0}
  - server: {name: w2, fleet: ci, slot: 1}
"""


def test_what_a_state_forgets_is_in_it_no_more_and_runs_on() -> None:
    text = "steps: [{do: {forget: w2}}]\nexpect: {state: {ci/prod: w1}, survive: w2}\n"
    assert run(FLEET + text) == ()


def test_what_a_state_takes_is_in_it_once() -> None:
    text = "steps: [{do: {forget: w2}}, {do: {take: w2}}, {do: {take: w1}}, {run: drift, exit: 0, findings: none}]\n"
    assert run(FLEET + text + "expect: {state: {ci/prod: [w1, w2]}}\n") == ()


def test_a_state_takes_what_it_never_held() -> None:
    text = """why: a text that is long enough
resources:
  - server: {name: w1, fleet: ci, slot: 0}
  - volume: {name: data, in: cloud, tags: owned ci/0}
steps: [{do: {take: data}}, {run: drift, exit: 0, findings: none}]
expect: {state: {ci/prod: [w1, data]}}
"""
    assert run(text) == ()


def test_it_happens_in_the_middle_of_a_command_too() -> None:
    text = """steps:
  - run: drift
    includes: {missing w2: wait}
    during: [{request: "GET /block/v1/zones/fr-par-1/volumes", do: {forget: w1}}]
"""
    assert [one.what for one in run(FLEET + text)] == ["a finding is missing"]


def test_what_no_ledger_ever_held_cannot_be_taken() -> None:
    text = "why: a text\nresources:\n  - server: {name: w1, fleet: ci, slot: 0, in: []}\nsteps: [{do: {take: w1}}]\n"
    assert wrong(text) == [("RC0804", 4)]


@pytest.mark.parametrize("how", ["broken", "twice", "newer"])
def test_a_stack_that_cannot_be_read_can_be_read_again(how: str) -> None:
    text = f"""stacks: {{ci/prod: {{unreadable: {how}}}, ci/other: {{}}}}
steps:
  - {{run: drift, exit: 7, includes: {{incomplete ci/prod: unknown}}}}
  - stacks: {{ci/prod: {{unreadable: no}}}}
  - {{run: drift, exit: 0, findings: none}}
  - do: {{break_stack: ci/prod}}
  - {{run: drift, exit: 7}}
"""
    assert run(FLEET + text) == ()


def test_a_copy_that_waits_for_its_deletion_holds_its_id_and_fills_no_slot() -> None:
    text = """why: a text that is long enough
settings: {ownership: tags}
resources:
  - server: {name: w1, fleet: ci, slot: 0, deleting: yes}
steps: [{run: drift, exit: 2, findings: {vacant ci/0: ask up}}]
"""
    assert run(text) == ()


def test_a_clock_that_was_ahead_makes_a_date_in_the_future() -> None:
    text = """why: a text that is long enough
settings: {ownership: tags}
resources:
  - server: {name: w1, fleet: ci, slot: 0}
  - volume: {name: v, tags: owned ci/0, age: 1h, ahead: 3h}
steps: [{run: drift, findings: {detached v: {verdict: wait, wait: 2h15m}}}]
"""
    assert run(text) == ()
