"""The settings of a case as a whole configuration document, checked by the product's own reader of configurations.

A case gives what matters to it: keys of the scope at the top (`ownership`, `grace`, `never`), tables beside them
(`fleet`, `limits`, `prices`). Project, zones and stacks have defaults that fit the case.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from reconciler.cases.names import SCOPE_UUID
from reconciler.cases.problems import Problems, meant
from reconciler.cases.read_items import Names
from reconciler.cases.shapes import Marked
from reconciler.simulator import PROJECT_ID

_FORBIDDEN: Final = ("database_url", "database_url_file", "records", "pulumi", "output")
SCOPE_NAME: Final = "ci"


def read_settings(
    found: Marked | None, *, stacks: tuple[str, ...], names: Names, problems: Problems
) -> Mapping[str, Any]:
    """A configuration document. Notes RC0801 for an unknown key and RC0810 for what the product would refuse."""
    from reconciler.config.document import Document, ScopeTable

    given: dict[str, Any] = dict(found.value) if found is not None else {}
    scope: dict[str, Any] = {"name": SCOPE_NAME, "uuid": SCOPE_UUID, "project": PROJECT_ID, "zones": ["fr-par-1"]}
    document: dict[str, Any] = {"state": {"stacks": list(stacks)}, "scope": [scope]}
    for key, value in given.items():
        if key in ScopeTable.model_fields:
            scope[key] = value
        elif key == "state" and isinstance(value, Mapping):
            document["state"] |= value
        elif key in Document.model_fields and key not in (*_FORBIDDEN, "scope"):
            document[key] = value
        else:
            assert found is not None
            known = [*ScopeTable.model_fields, *(one for one in Document.model_fields if one not in _FORBIDDEN)]
            hint = meant(key, known, otherwise="docs/configuration.md lists the keys of a scope and the tables.")
            problems.add("RC0801", found.nearest([key]), f"unknown key `{key}` in settings", hint=hint)
    scope["never"] = _with_ids(scope.get("never"), names)
    if found is not None and not problems:
        _check(document, found, problems)
    return document


def _with_ids(never: Any, names: Names) -> Any:
    """`never.ids` may name what is in this case."""
    from reconciler.cases.names import id_of

    if not isinstance(never, Mapping):
        return never if never is not None else {}
    ids = never.get("ids")
    if not isinstance(ids, list):
        return dict(never)
    return {**never, "ids": [id_of(one) if isinstance(one, str) and one in names.kinds else one for one in ids]}


def _check(document: Mapping[str, Any], found: Marked, problems: Problems) -> None:
    from pydantic import ValidationError

    from reconciler.config.checks import check
    from reconciler.config.document import Document
    from reconciler.config.errors import dotted
    from reconciler.config.layers import Layers, from_flags
    from reconciler.config.problems import from_pydantic

    layers = Layers((from_flags({}),))
    try:
        wrong = check(Document.model_validate(document), layers)
    except ValidationError as error:
        wrong = from_pydantic(error, layers)
    for one in wrong:
        path = one.path[2:] if one.path[:1] == ("scope",) else one.path
        problems.add("RC0810", found.nearest(path), f"settings: {dotted(path)}: {one.message}", hint=one.hint)


def toml(document: Mapping[str, Any]) -> str:
    """A document as TOML. What JSON and TOML write alike is written so; tables inside lists are inline."""
    lines: list[str] = []
    tables: list[str] = []
    for key, value in document.items():
        if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            for one in value:
                tables += ["", f"[[{_key(key)}]]", *(f"{_key(name)} = {_value(item)}" for name, item in one.items())]
        elif isinstance(value, Mapping):
            tables += ["", f"[{_key(key)}]", *(f"{_key(name)} = {_value(item)}" for name, item in value.items())]
        else:
            lines.append(f"{_key(key)} = {_value(value)}")
    return "\n".join([*lines, *tables]).strip() + "\n"


def _key(name: str) -> str:
    return json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=True)
