"""Text from outside, made storable.

PostgreSQL takes no NUL in text or JSONB and neither database takes half of a surrogate pair. A tag, a name or an error
message may hold either; one such character must not stop a sweep from being written.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


def storable(text: str, *, limit: int | None = None) -> str:
    """The text with what cannot be stored replaced, cut at `limit` characters."""
    clean = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", REPLACEMENT)
    return clean if limit is None or len(clean) <= limit else clean[: limit - 1] + "…"


def storable_json(value: Any) -> Any:
    """Plain JSON with every text in it storable; mappings become dicts, sequences lists.

    Raises TypeError for anything that JSON has no word for, so that no object's repr ends up in the database.
    """
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else None  # JSON has no word for NaN and infinity
        case str():
            return storable(str(value))
        case Mapping():
            return {storable(str(key)): storable_json(item) for key, item in value.items()}
        case list() | tuple():
            return [storable_json(item) for item in value]
        case _:
            raise TypeError(f"not JSON: {type(value).__name__}")
