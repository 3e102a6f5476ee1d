"""The reference says what the reader does, the schema too, and every example of the page runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from reconciler.cases.language import json_schema
from reconciler.cases.reference import markdown
from reconciler.cases.template import TEMPLATE
from tests.cases.support import HERE, run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cases.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_reference_is_made_of_the_shapes() -> None:
    assert PAGE.partition("## Reference\n\n")[2] == markdown()


def test_the_published_schema_is_made_of_the_shapes() -> None:
    assert json.loads((ROOT / "docs" / "schemas" / "case.json").read_text(encoding="utf-8")) == json_schema()


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("path", sorted(HERE.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_schema_takes_every_case(path: Path) -> None:
    text = re.sub(r"(?m)^(start:) (.*)$", r'\1 "\2"', path.read_text(encoding="utf-8"))
    jsonschema.validate(yaml.safe_load(text), json_schema())


@pytest.mark.parametrize("mistake", ["rulez: 1", "rules: nine", "steps: []", "resources: [{server: {nam: w1}}]"])
def test_the_schema_refuses_what_the_reader_refuses(mistake: str) -> None:
    text = f"why: a text\n{mistake}\n" + ("" if mistake.startswith("steps") else "steps: [{run: drift}]\n")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), json_schema())


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_of_the_page_holds(number: int) -> None:
    assert run(EXAMPLES[number]) == ()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 6


def test_the_new_case_holds() -> None:
    assert run(TEMPLATE.format(name="here")) == ()
