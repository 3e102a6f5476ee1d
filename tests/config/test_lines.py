"""The scanner that finds the line of a key."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.config.layers import leaves
from reconciler.config.lines import key_lines, line_of
from tests.config.world import FULL

TRICKY = '''\
# comment = 1
a = "not [a] table"  # b = 2
"quoted key" = 1
list = [
  "x = 1", # ]
  "[table]",
]
text = """
hidden = 1
[hidden]
"""
raw = \'\'\'
also_hidden = "
\'\'\'
quotes = """a"""""
[one.two]
deep.er = { inner = 1 }
[[three]]
x = 1
[[three]]
x = 2
[three.four]
y = "\\"]"
z = 3
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("quoted key",), 3),
        (("list",), 4),
        (("text",), 8),
        (("raw",), 12),
        (("quotes",), 15),
        (("one", "two"), 16),
        (("one", "two", "deep", "er"), 17),
        (("one", "two", "deep", "er", "inner"), 17),
        (("three", 0, "x"), 19),
        (("three", 1, "x"), 21),
        (("three", 1, "four", "y"), 23),
        (("three", 1, "four", "z"), 24),
        (("three", 1, "unheard_of"), 20),
    ],
)
def test_a_key_is_found_on_its_line(path: tuple[str | int, ...], line: int) -> None:
    tomllib.loads(TRICKY)  # the text is valid TOML, so the scanner has to get along with it
    assert line_of(path, key_lines(TRICKY)) == line


def test_what_is_inside_strings_and_comments_is_no_key() -> None:
    names = {part for path in key_lines(TRICKY) for part in path}
    assert not names & {"comment", "b", "hidden", "also_hidden", "table"}


def test_every_key_of_a_document_has_a_line_that_names_it() -> None:
    lines, text = key_lines(FULL), FULL.splitlines()
    for path, _ in leaves(tomllib.loads(FULL)):
        number = line_of(path, lines)
        assert number is not None
        name = next(part for part in reversed(path) if isinstance(part, str))
        assert name in text[number - 1]


@given(st.text(alphabet="ab=[]{}\"'#.,\\\n 1"))
def test_no_text_at_all_makes_the_scanner_fail_or_invent_lines(text: str) -> None:
    assert all(1 <= line <= text.count("\n") + 1 for line in key_lines(text).values())
