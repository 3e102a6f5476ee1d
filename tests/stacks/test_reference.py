"""docs/fleets.md has every configuration key with its default, and examples that work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from reconciler_fleet.config import StackConfig, parse
from reconciler_fleet.output import schema
from tests.stacks.engine import SERVER, run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "fleets.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([a-z_.\[\]]+)` \| (.+?) \| ", PAGE, flags=re.MULTILINE))
IN_WORDS = {"scope": "required with fleets"}


def _keys(table: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, info in table.model_fields.items():
        inner = next(
            (one for one in (info.annotation, *get_args(info.annotation))
             if isinstance(one, type) and issubclass(one, BaseModel)), None
        )  # fmt: skip
        listed = inner is not None and inner is not info.annotation
        if inner is None or listed:
            yield prefix + name, info
        if inner is not None:
            yield from _keys(inner, f"{prefix}{name}{'[]' if listed else ''}.")


KEYS = dict(_keys(StackConfig))


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value: Any = info.get_default(call_default_factory=True, validated_data={})
    return "none" if value is None else f"`{json.dumps(value)}`"


@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_key_is_documented_with_its_default(key: str) -> None:
    assert ROWS.get(key) == IN_WORDS.get(key, _default(KEYS[key]))


def test_the_page_documents_no_key_that_does_not_exist() -> None:
    assert set(ROWS) - set(KEYS) == set()


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
    return str(found)


def test_the_example_stack_file_is_valid() -> None:
    config = yaml.safe_load(block("yaml"))["config"]
    assert parse({key.removeprefix("reconciler:"): value for key, value in config.items()}).fleets[0].replicas == 3


def test_the_example_program_declares_three_workers() -> None:
    scope = {"reconciler:scope": "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c11"}
    ran = run(lambda: exec(compile(block("python"), "docs/fleets.md", "exec"), {}), config=scope)
    assert [server.name for server in ran.of(SERVER)] == ["linux-0", "linux-1", "linux-2"]
    assert [fleet["name"] for fleet in ran.outputs["reconciler"]["fleets"]] == ["linux"]


def test_the_example_output_fits_the_schema() -> None:
    jsonschema.validate(json.loads(block("json")), schema())
