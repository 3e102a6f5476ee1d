"""Text from outside, made safe for the medium that shows it (rule 16).

Tags and names may hold quotes, newlines, control and bidirectional characters. JSON keeps them (escaped by the
encoder); a terminal must never be steered by them.
"""

from __future__ import annotations

import unicodedata

# Cc control, Cf format (bidirectional overrides, zero width), Co private use, Cs surrogates, Zl/Zp line separators
_UNSAFE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def visible(text: str, *, limit: int = 200) -> str:
    """The text with every character that could move a cursor or reorder a line written as an escape; cut at `limit`."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(_escape(char) if unicodedata.category(char) in _UNSAFE else char for char in cut)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii") if not 0xD800 <= ord(char) <= 0xDFFF else f"\\u{ord(char):04x}"
