"""The reference of the language in Markdown, made of the shapes, so that it cannot say something else than they do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from reconciler.cases import language
from reconciler.cases.shapes import Record

# Section of the reference -> the record that it lists.
SECTIONS: Final[dict[str, Record]] = {
    "A case": language.CASE,
    "A server": language.SERVER,
    "Parts of a server": language.ROOT,
    "An address of a server": language.ADDRESS,
    "A further volume of a server": language.EXTRA,
    "A private interface of a server": language.NIC,
    "An IP": language.IP,
    "A volume": language.VOLUME,
    "Networks, groups and snapshots": language.SNAPSHOT,
    "A stack": language.STACK,
    "A fleet": language.FLEET,
    "A lock": language.LOCK,
    "A pending operation": language.PENDING,
    "The key's rights": language.RIGHTS,
    "A row": language.ROW,
    "A row that is left": language.ROW_LEFT,
    "A process": language.PROCESS,
    "A step": language.STEP,
    "Something that happens meanwhile": language.DURING,
    "A finding in full": language.EXPECTED,
    "What must hold at the end": language.EXPECT,
}


def markdown() -> str:
    """All sections, one table each."""
    return "\n".join(line for title, record in SECTIONS.items() for line in _section(title, record)).rstrip() + "\n"


def _section(title: str, record: Record) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    yield "| key | what it may be | what it is | default |"
    yield "|---|---|---|---|"
    for name, key in record.keys.items():
        default = "**needed**" if key.required else key.default or "-"
        yield f"| `{name}` | {_cell(key.shape.words)} | {_cell(key.help)} | {_cell(default)} |"
    yield ""


def _cell(text: Any) -> str:
    return str(text).replace("|", "\\|")
