"""docs/configuration.md has every key with its default, every error code, and examples that work."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic.fields import FieldInfo

from reconciler.config import durations
from reconciler.config.document import Document, Table, action_choices, table_at
from reconciler.config.load import load_settings
from tests.config.world import home, write

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
# What the page says in words, because the default is longer than a table cell or depends on something else.
IN_WORDS = {"scope[].zones": "all zones", "fleet[].scope": "the only one"}


def _keys(table: type[Table], names: tuple[str, ...] = (), prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, info in table.model_fields.items():
        inner = table_at((*names, name))
        listed = "[]" if inner is not None and str(info.annotation).startswith("list[") else ""
        if inner is None:
            yield prefix + name, info
        else:
            yield from _keys(inner, (*names, name), f"{prefix}{name}{listed}.")


KEYS = dict(_keys(Document))
ROWS = dict(re.findall(r"^\| `([a-z_.\[\]]+)` \| (.+?) \| ", PAGE, flags=re.MULTILINE))


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value: Any = info.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return "none"
    if any(getattr(part, "func", None) is durations.seconds for part in info.metadata):
        value = durations.text(value)
    return f"`{json.dumps(value)}`"


@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_key_is_documented_with_its_default(key: str) -> None:
    assert ROWS.get(key) == IN_WORDS.get(key, _default(KEYS[key]))


def test_the_page_documents_no_key_that_does_not_exist() -> None:
    findings = {key for key in action_choices() if "_" not in key} | {"untagged_child"}
    assert set(ROWS) - set(KEYS) - findings == set()


def test_the_page_has_the_choices_for_each_finding() -> None:
    found = {key: [part.strip(" `") for part in text.split(",")] for key, text in
             re.findall(r"^\| `([a-z_]+)` \| ((?:`[a-z]+`(?:, )?)+) \|$", PAGE, flags=re.MULTILINE)}  # fmt: skip
    assert found == {
        key: list(choices[2:]) for key, choices in action_choices().items() if key in found or "_" not in key
    }


def test_the_example_is_a_valid_configuration(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    write(tmp_path, example)
    assert [scope.name for scope in load_settings(tmp_path, environ=home(tmp_path)).scopes] == ["ci"]


def test_every_code_that_the_rooms_files_raise_is_on_the_page_and_no_other() -> None:
    sources = (ROOT / "reconciler" / "config").glob("*.py")
    raised = {code for path in sources for code in re.findall(r"\"(RC01[1-3]\d)\"", path.read_text(encoding="utf-8"))}
    assert set(re.findall(r"^\| (RC\d{4}) \|", PAGE, flags=re.MULTILINE)) == raised
