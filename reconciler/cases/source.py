"""From text to YAML nodes, within bounds.

`yaml.compose` keeps the line of every node and both of two equal keys; `yaml.load` keeps neither, and is never called.
Before anything is composed the stream of events is looked at: anchors and aliases are refused (a case needs none, and
nine lines of them make a billion nodes), depth and number of nodes are bounded, and there is one document.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from reconciler.cases.problems import Mark, Problems
from reconciler.kernel.errors import ConfigError
from reconciler.kernel.text import visible

MOST_BYTES: Final = 1 << 20
MOST_DEPTH: Final = 24
MOST_NODES: Final = 20_000
_BOUND_HINT: Final = "A case is one incident: a hundred lines are many."


def read_text(path: Path) -> str:
    """Raises ConfigError RC0800 for a file that cannot be read, RC0807 for one that is too large."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(
            f"cannot read the case {visible(str(path))}: {why}",
            code="RC0800",
            hint="A case is a YAML file in UTF-8; `reconciler simulate new NAME` writes one.",
        ) from None
    if len(raw) > MOST_BYTES:
        raise ConfigError(f"{path}: larger than {MOST_BYTES >> 20} MiB", code="RC0807", hint=_BOUND_HINT)
    return text


def compose(text: str, problems: Problems) -> yaml.Node | None:
    """The root node; None with a problem noted (RC0800 no YAML, RC0807 out of bounds)."""
    try:
        if not _bounded(text, problems):
            return None
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = str(getattr(error, "problem", None) or "no YAML")
        problems.add(
            "RC0800",
            _mark(mark),
            f"not YAML: {said}",
            hint="Quote text that holds `: ` or begins with `*`, `&`, `!`, and `?` inside braces.",
        )
        return None
    if node is None:
        problems.add("RC0800", Mark(1, 1), "the file is empty", hint="`reconciler simulate new NAME` writes a case.")
    return node


def mark_of(node: yaml.Node) -> Mark:
    return _mark(node.start_mark)


def _mark(mark: Any) -> Mark:
    return Mark(mark.line + 1, mark.column + 1) if mark is not None else Mark()


def _bounded(text: str, problems: Problems) -> bool:
    depth = nodes = documents = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        mark = _mark(event.start_mark)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            problems.add("RC0807", mark, "anchors and aliases are not taken", hint="Write it twice.")
            return False
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        nodes += isinstance(event, yaml.NodeEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        if depth > MOST_DEPTH or nodes > MOST_NODES:
            what = f"deeper than {MOST_DEPTH} levels" if depth > MOST_DEPTH else f"more than {MOST_NODES} values"
            problems.add("RC0807", mark, what, hint=_BOUND_HINT)
            return False
        if documents > 1:
            problems.add(
                "RC0807", mark, "a second document in the file", hint="One case is one file: remove the `---`."
            )
            return False
    return True
