"""`config show`: every key with the value that counts, and where it came from. Secrets are masked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from reconciler.config.document import Document
from reconciler.config.errors import dotted
from reconciler.config.layers import leaves
from reconciler.config.load import Loaded
from reconciler.config.mask import shown
from reconciler.config.settings import Layer, Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One key. `value` is plain JSON data, masked; durations are seconds."""

    key: str
    value: Any
    origin: Origin

    @property
    def text(self) -> str:
        """The value as TOML and JSON both write it; `null` where nothing is set."""
        return json.dumps(self.value, ensure_ascii=False)


def rows(loaded: Loaded) -> list[Row]:
    """Every key of the document in its order, defaults included, plus the database URL that came of them."""
    found = []
    for path, value in leaves(loaded.document.model_dump(mode="json")):
        if path == ("database_url",) and value is None:
            value, origin = loaded.settings.database_url, _database_origin(loaded)
        else:
            origin = loaded.layers.origin(path)
        found.append(Row(key=dotted(path), value=shown(path, value), origin=origin))
    return found


def _database_origin(loaded: Loaded) -> Origin:
    by_file = loaded.document.database_url_file is not None
    return loaded.layers.origin(("database_url_file",)) if by_file else Origin(Layer.DEFAULT)


def schema() -> dict[str, Any]:
    """The JSON schema of the configuration, for editors: `[[scope]]` is `scope`, and so on."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Document.model_json_schema()}
