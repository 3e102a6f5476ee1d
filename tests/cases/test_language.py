"""What is wrong with a case is said with its line and a hint, all of it at once."""

from __future__ import annotations

import pytest

from tests.cases.support import case_of, told, wrong

HEAD = "why: a text\nsteps: [{run: drift}]\n"


def resources(*lines: str) -> str:
    return HEAD + "resources:\n" + "".join(f"  - {line}\n" for line in lines)


def steps(*lines: str) -> str:
    return "why: a text\nresources:\n  - server: {name: w1, fleet: ci, slot: 0, ip: yes}\nsteps:\n" + "".join(
        f"  - {line}\n" for line in lines
    )


def test_the_shortest_case_is_two_lines() -> None:
    case = case_of(HEAD)
    assert case.name == "here"
    assert [stack.name for stack in case.stacks] == ["ci/prod"]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("why: [", "RC0800", 1),
        ("", "RC0800", 1),
        (HEAD + "rulez: 3\n", "RC0801", 3),
        (resources("server: {name: w1, flet: ci}"), "RC0801", 4),
        (steps("do: {kill_servr: w1}"), "RC0801", 5),
        (steps("{run: drift, calls: {mutatng: 0}}"), "RC0801", 5),
        (steps("{advance: 2h, exit: 0}"), "RC0801", 5),
        (HEAD + "settings: {ownersip: tags}\n", "RC0801", 3),
        (HEAD + "settings:\n  records: {adapter: none}\n", "RC0801", 4),
        (HEAD + "rules: nine\n", "RC0802", 3),
        (HEAD + "rules: [1, two]\n", "RC0802", 3),
        (HEAD + "resources: {}\n", "RC0802", 3),
        (resources("server: {name: 12}"), "RC0802", 4),
        (resources("server: {name: w1, zone: fr-par-9}"), "RC0802", 4),
        (resources("server: {name: w1, type: DEV9-S}"), "RC0802", 4),
        (resources("server: {name: w1, age: 1h, gone: 2h}"), "RC0802", 4),
        (resources("ip: {name: a, tags: owned /1}"), "RC0802", 4),
        (HEAD + "engine: no\n", "RC0802", 3),
        (HEAD + "key: {denied: serverz}\n", "RC0802", 3),
        (HEAD + "stacks: {prod: {}}\n", "RC0802", 3),
        (steps("{run: drift, findings: {detachd w1-ip: act destroy}}"), "RC0802", 5),
        (steps("{run: drift, findings: {detached w1-ip: do it}}"), "RC0802", 5),
        (steps("{run: drift, calls: {mutating: about 3}}"), "RC0802", 5),
        (steps("{run: drift, calls: {'GET re:(': 1}}"), "RC0802", 5),
        (steps("{run: drift, during: [{request: 'GET re:(', do: {kill_server: w1}}]}"), "RC0802", 5),
        (resources("server: {name: w1, age: 10}"), "RC0803", 4),
        (resources("server: {name: w1, age: 10 min}"), "RC0803", 4),
        (resources("volume: {name: v, size: 10 GiB}"), "RC0803", 4),
        (steps("{run: drift, findings: {detached w1-ip: {verdict: act, eur: 3 USD}}}"), "RC0803", 5),
        (steps("do: {add_volume: {name: v, size: 10G}}"), "RC0803", 5),
        (resources("ip: {name: a, on: w9}"), "RC0804", 4),
        (steps("do: {forget: w9}"), "RC0804", 5),
        (steps("do: {take: {name: w1}}"), "RC0804", 5),
        (steps("do: {break_stack: ci/other}"), "RC0804", 5),
        (steps("do: {forgett: w1}"), "RC0801", 5),
        (resources("server: {name: w1, ahead: 3}"), "RC0803", 4),
        (steps("run: adopt {w2} -y"), "RC0804", 5),
        (resources("volume: {name: v}", "ip: {name: a, on: v}"), "RC0804", 5),
        (resources("snapshot: {name: s, of: v9}"), "RC0804", 4),
        (resources("server: {name: w1, stack: ci/prd}"), "RC0804", 4),
        (steps("do: {kill_server: w2}"), "RC0804", 5),
        (steps("{run: drift, findings: {detached w9-ip: act destroy}}"), "RC0804", 5),
        (steps("{run: apply -y, deletes: leak-*}"), "RC0804", 5),
        (steps("stacks: {ci/dev: {lock: none}}"), "RC0804", 5),
        (HEAD + "stacks: {ci/prod: {pending: [{creating: w9}]}}\n", "RC0804", 3),
        (HEAD + "expect: {tags: {w9: owned}}\n", "RC0804", 3),
        (resources("ip: {name: a, on: a}"), "RC0805", 4),
        (HEAD + "why: again\n", "RC0806", 3),
        (resources("server: {name: w1}", "ip: {name: w1-root}"), "RC0806", 5),
        (steps("do: {add_ip: {as: w1}}"), "RC0806", 5),
        (HEAD + "source: &a [x]\nrules: *a\n", "RC0807", 3),
        (HEAD + "---\nwhy: second\n", "RC0807", 3),
        (HEAD + f"options: {'[' * 30}{']' * 30}\n", "RC0807", 3),
        ("steps: [{run: drift}]\n", "RC0808", 1),
        (resources("{server: {name: a}, ip: {name: b}}"), "RC0808", 4),
        (resources("server: {name: w1, slot: 0}"), "RC0808", 4),
        (steps("{run: drift, advance: 1h}"), "RC0808", 5),
        (steps("do: {add_ip: {tags: [a]}}"), "RC0808", 5),
        (HEAD + "records: [{worker: a, fleet: ci}]\n", "RC0809", 3),
        (HEAD + "records: [{worker: a, fleet: ci, state: failed, age: 1h, sent: 2h}]\n", "RC0809", 3),
        (steps("run: drift") + "records: [{worker: a, fleet: ci, machine: w1, age: 40d}]\n", "RC0809", 6),
        (steps("run: drift") + "records: [{worker: a, fleet: ci, machine: w1-ip}]\n", "RC0804", 6),
        (HEAD + "records: [{worker: a, fleet: c, state: failed}, {worker: a, fleet: c, state: failed}]\n", "RC0806", 3),
        (HEAD + "records: [{worker: a, fleet: ci, stat: ready}]\n", "RC0801", 3),
        (HEAD + "expect: {rows: [{worker: a, machine: w9}]}\n", "RC0804", 3),
        (resources("server: {name: w1, worker: a}"), "RC0808", 4),
        (HEAD + "settings:\n  grace: 1m\n", "RC0810", 4),
        (HEAD + "settings:\n  limits: {reconcile: {count: many}}\n", "RC0810", 4),
        (HEAD + "faults:\n  - {path: '**', actionn: cut}\n", "RC0811", 4),
        (HEAD + "options: {deleted_ip_stats: 403}\n", "RC0811", 3),
        (steps("run: drft"), "RC0812", 5),
        (steps("run: simulate serve"), "RC0812", 5),
        (steps("run: drift 'open"), "RC0812", 5),
        (steps("{run: plan, findings: none}"), "RC0812", 5),
        (steps("{run: drift, actions: none}"), "RC0812", 5),
    ],
)
def test_a_mistake_is_found_on_its_line(text: str, code: str, line: int) -> None:
    assert (code, line) in wrong(text)
    assert f"here.yaml:{line}: [{code}]" in told(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (resources("server: {name: w1, flet: ci}"), "fleet"),
        (resources("server: {name: runner-1}", "ip: {name: a, on: runer-1}"), "runner-1"),
        (steps("run: drft"), "drift"),
        (steps("do: {kill_servr: w1}"), "kill_server"),
        (steps("{run: drift, findings: {detachd w1-ip: act destroy}}"), "detached"),
        (HEAD + "settings: {ownersip: tags}\n", "ownership"),
        (HEAD + "key: {denied: serverz}\n", "server"),
    ],
)
def test_a_typo_is_met_with_what_was_probably_meant(text: str, meant: str) -> None:
    assert f"Did you mean `{meant}`?" in told(text)


def test_all_mistakes_are_told_at_once_and_in_order() -> None:
    text = resources("server: {nam: w1}", "ip: {name: a, age: 3}") + "rulez: 1\n"
    assert [line for _, line in wrong(text)] == sorted(line for _, line in wrong(text))
    assert {code for code, _ in wrong(text)} >= {"RC0801", "RC0803", "RC0808"}


def test_nothing_in_a_file_is_ever_executed() -> None:
    assert ("RC0802", 1) in wrong("why: !!python/object/apply:os.system ['true']\nsteps: [{run: drift}]\n")


def test_a_worker_brings_its_parts_and_its_ledgers() -> None:
    case = case_of(resources("server: {name: w1, fleet: ci, slot: 0, ip: yes, volumes: [{name: data}]}"))
    assert {item.name: (item.in_cloud, item.stack) for item in case.items} == {
        "w1": (True, "ci/prod"),
        "w1-root": (True, None),
        "w1-ip": (True, "ci/prod"),
        "data": (True, "ci/prod"),
    }
    assert all("reconciler:slot=0" in item.tags for item in case.items)
    assert case.stacks[0].fleets[0].replicas == 1


def test_a_stranger_is_in_the_cloud_alone_and_without_tags() -> None:
    (server, root) = case_of(resources("server: {name: bastion}")).items
    assert (server.in_cloud, server.stack, server.tags) == (True, None, ())
    assert root.tags == ()


def test_copies_are_numbered_and_fill_slots() -> None:
    items = case_of(resources("server: {name: w, fleet: ci, slot: 2, copies: 3}")).items
    servers = [(item.name, item.slot) for item in items if item.kind == "server"]
    assert servers == [("w-1", 2), ("w-2", 3), ("w-3", 4)]


def test_patterns_stand_for_every_name_that_they_match() -> None:
    text = HEAD + "resources: [{ip: {name: a, copies: 3}}]\nexpect: {survive: a-*}\n"
    assert case_of(text).end.survive == ("a-1", "a-2", "a-3")


def test_the_steps_deletions_are_all_that_a_case_allows() -> None:
    assert case_of(steps("{run: apply -y, deletes: w1-ip}")).end.deletes == ("w1-ip",)
    assert case_of(steps("{run: apply -y}")).end.deletes == ()


def test_the_same_name_is_the_same_id_in_every_case() -> None:
    from reconciler.cases.names import id_of

    assert id_of("w1") == id_of("w1") != id_of("w2")


def test_a_lie_is_told_about_things_by_their_names() -> None:
    from reconciler.cases.names import id_of

    text = resources("server: {name: w1}") + "lies: [{lie: missing_item, kinds: [server], ids: [w1]}]\n"
    (lie,) = case_of(text).lies
    assert lie.match.ids == (id_of("w1"),)
    assert ("RC0811", 5) in wrong(text.replace("missing_item", "misplaced_item"))
