"""The reference of the language in Markdown, made of the shapes, so that it cannot say something else than they do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from reconciler.cases import language, language_world
from reconciler.cases.compound import Record

# Section of the reference -> the record that it lists.
SECTIONS: Final[dict[str, Record]] = {
    "A case": language.CASE,
    "A server": language_world.SERVER,
    "Parts of a server": language_world.ROOT,
    "An address of a server": language_world.ADDRESS,
    "A further volume of a server": language_world.EXTRA,
    "A private interface of a server": language_world.NIC,
    "An IP": language_world.IP,
    "A volume": language_world.VOLUME,
    "Networks, groups and snapshots": language_world.SNAPSHOT,
    "A stack": language_world.STACK,
    "A fleet": language_world.FLEET,
    "A lock": language_world.LOCK,
    "A pending operation": language_world.PENDING,
    "The key's rights": language_world.RIGHTS,
    "A row": language_world.ROW,
    "A row that is left": language_world.ROW_LEFT,
    "A process": language_world.PROCESS,
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
