"""Texts that people and programs put into names and tags, and that must mean nothing to us."""

from __future__ import annotations

import random
from typing import Final

TEXTS: Final = (
    'it\'s "quoted" `back`',
    "two\nlines\r\n",
    "\u202egnp.exe\u2069 bidi\u200b",
    "\x1b[31mred\x1b[0m\x07",
    "[bold]markup[/bold] :smile:",
    "${HOME} $(id) {{x}} %s {0}",
    "<script>alert(1)</script>&amp;",
    "'; DROP TABLE sweeps; --",
    "rесonciler",  # Cyrillic letters
    "ｒeconciler:scope=full-width",
    "\u2028\u2029\ufeff",
    "\U0001f600²³",
    "../../etc/passwd",
    "a" * 500,
    " ",
    "null",
    "-1",
)
# Near misses of owner tags: wrong case, stray spaces, no value, the tag of nobody.
NEAR: Final = (
    ("Reconciler",),
    ("RECONCILER", "RECONCILER:SCOPE={scope}"),
    ("reconciler ", "reconciler: scope={scope}"),
    ("reconciler",),
    ("reconciler:scope={scope}",),
    ("reconciler", "reconciler:scope="),
    ("reconciler", "reconciler:scope={scope} "),
    ("reconciler:fleet=linux", "reconciler:slot=0"),
    ("xreconciler", "reconciler-scope={scope}"),
)


def text(chance: random.Random) -> str:
    return chance.choice(TEXTS)


def some(chance: random.Random, *, many: bool = False) -> tuple[str, ...]:
    """A few tags, or (`many`) thousands of them."""
    if many:
        return tuple(f"tag-{number}" for number in range(10_000))
    return tuple(dict.fromkeys(text(chance) for _ in range(chance.randint(0, 2))))
