"""The examples of docs/simulator.md do what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path

from reconciler.simulator import LIES, FaultRule, lie_from_json, worldfile
from reconciler.simulator.faults import ACTIONS, BODIES, rule_from_json
from reconciler.simulator.lies import MATCH, step_from_json
from tests.simulator.support import V1, Api

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "simulator.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_python_example_runs() -> None:
    (example,) = blocks("python")
    exec(compile(example, "docs/simulator.md", "exec"), {})


def test_the_world_of_the_example_is_whole_and_its_server_has_its_address() -> None:
    (example,) = blocks("json")
    api = Api(worldfile.parse(example))
    server = api.get(f"{V1}/servers")["servers"][0]
    assert (server["name"], server["public_ip"]["address"]) == ("ci-linux-1", "51.15.0.9")


def test_the_fault_rules_of_the_example_are_accepted() -> None:
    sent = re.search(r"/faults -d '(.*?)'", PAGE, re.DOTALL)
    assert sent is not None
    rules = [rule_from_json(item) for item in json.loads(sent.group(1))["faults"]]
    assert [rule.action for rule in rules] == ["drop_answer", "status"]


def test_every_action_body_and_key_of_a_rule_is_documented() -> None:
    names = [*ACTIONS, *BODIES, *FaultRule.__dataclass_fields__]
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_every_option_of_a_world_is_documented() -> None:
    from reconciler.simulator import WorldOptions

    assert [name for name in WorldOptions.__dataclass_fields__ if f"`{name}`" not in PAGE] == []


def test_the_timings_of_the_table_are_those_in_use() -> None:
    from reconciler.simulator import Timings

    table = PAGE.partition("## Timings")[2].partition("\n## ")[0]
    used = re.findall(r"^\| .* \| (\d+)(?: \(assumed\))? \|$", table, re.MULTILINE)
    known = {getattr(Timings(), name) for name in Timings.__dataclass_fields__}
    assert {float(value) for value in used} == known


def test_every_kind_of_lie_has_an_example_that_is_accepted() -> None:
    (examples,) = blocks("jsonl")
    assert [lie_from_json(json.loads(line)).kind for line in examples.splitlines()] == list(LIES)


def test_every_kind_of_lie_is_described_in_its_own_words() -> None:
    lines = [f"| `{kind.name}` | {kind.summary}{' (*outcome*)' if kind.changes else ''} |" for kind in LIES.values()]
    assert [line for line in lines if line not in PAGE] == []


def test_every_key_of_a_lie_is_documented_with_its_default_and_words() -> None:
    missing = []
    for kind in LIES.values():
        for name, key in kind.keys.items():
            default = json.dumps(list(key.default) if isinstance(key.default, tuple) else key.default)
            words = f": {', '.join(f'`{word}`' for word in key.choices)}" if key.choices else ""
            line = f"| `{kind.name}` | `{name}` | `{default}` | {key.doc}{words} |"
            missing += [] if line in PAGE else [line]
    assert missing == []
    assert [name for name, doc in MATCH.items() if f"| `{name}` | {doc} |" not in PAGE] == []


def test_the_lies_and_the_script_of_the_examples_are_accepted() -> None:
    lies, script = (json.loads(item) for item in re.findall(r"/lies -d '(.*?)'", PAGE, re.DOTALL))
    assert [lie_from_json(item).kind for item in lies] == ["shrunk_list", "scattered_429"]
    assert [step_from_json(item).at_ms for item in script["script"]] == [1000, 5000, 65_000]
