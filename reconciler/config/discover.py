"""Which configuration file is meant.

In this order: `--config`, `RECONCILER_CONFIG`, then upward from the working directory to the folder that holds
Pulumi.yaml (or to the root, where none does): `reconciler.toml`, or a pyproject.toml with `[tool.reconciler]`. Both in
one folder is an error, because whichever was read, somebody would be editing the other.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reconciler.kernel.errors import ConfigError
from reconciler.kernel.text import visible

FILE_NAME: Final = "reconciler.toml"
PROJECT_NAME: Final = "pyproject.toml"
PULUMI_NAMES: Final = ("Pulumi.yaml", "Pulumi.yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """A file that was read. `prefix` is where our keys are in it: empty, or `tool`, `reconciler`."""

    path: Path
    text: str
    data: Mapping[str, Any]
    prefix: tuple[str, ...] = ()


def discover(start: Path, *, environ: Mapping[str, str], explicit: Path | None = None) -> ConfigFile | None:
    """The configuration file that counts for `start`, read; None when there is none.

    Raises ConfigError RC0112 (a file that cannot be read or is not TOML), RC0125 (a named file that is not there or
    says nothing of us) and RC0126 (two files in one folder).
    """
    named = explicit or (Path(environ["RECONCILER_CONFIG"]) if environ.get("RECONCILER_CONFIG") else None)
    if named is not None:
        return _named(start / named, source="--config" if explicit else "RECONCILER_CONFIG")
    for folder in (start.resolve(), *start.resolve().parents):
        found = in_folder(folder)
        if found is not None:
            return found
        if any((folder / name).is_file() for name in PULUMI_NAMES):
            return None
    return None


def in_folder(folder: Path) -> ConfigFile | None:
    """The configuration of one folder. Raises as `discover` does."""
    own, project = folder / FILE_NAME, folder / PROJECT_NAME
    if not own.is_file():
        return _of_project(project) if project.is_file() else None
    if project.is_file() and _mentions_us(project):
        raise ConfigError(
            f"{visible(str(folder))} has both {FILE_NAME} and [tool.reconciler] in {PROJECT_NAME}",
            code="RC0126",
            hint="Keep one of the two.",
        )
    return read(own)


def read(path: Path) -> ConfigFile:
    """A file that is ours alone. Raises ConfigError RC0112."""
    text, data = _parse(path)
    return ConfigFile(path=path, text=text, data=data)


def user_file(environ: Mapping[str, str]) -> Path | None:
    """`$XDG_CONFIG_HOME/reconciler/config.toml`, whether it exists or not; None without a home."""
    base = _xdg(environ, "XDG_CONFIG_HOME", ".config")
    return base / "reconciler" / "config.toml" if base else None


def state_folder(environ: Mapping[str, str]) -> Path | None:
    """`$XDG_STATE_HOME/reconciler`; None without a home."""
    base = _xdg(environ, "XDG_STATE_HOME", ".local/state")
    return base / "reconciler" if base else None


def _xdg(environ: Mapping[str, str], variable: str, below_home: str) -> Path | None:
    # The XDG base directory specification: a relative path is invalid and counts as unset.
    value = Path(environ.get(variable) or "")
    if value.is_absolute():
        return value
    return Path(environ["HOME"]) / below_home if environ.get("HOME") else None


def _named(path: Path, *, source: str) -> ConfigFile:
    if not path.is_file():
        raise ConfigError(
            f"{source} names {visible(str(path))}, which is no file", code="RC0125", hint="Check the path."
        )
    if path.name != PROJECT_NAME:
        return read(path)
    found = _of_project(path)
    if found is None:
        raise ConfigError(
            f"{source} names {visible(str(path))}, which has no [tool.reconciler]",
            code="RC0125",
            hint=f"Add the table, or name a {FILE_NAME}.",
        )
    return found


def _of_project(path: Path) -> ConfigFile | None:
    text, data = _parse(path)
    tool = data.get("tool")
    ours = tool.get("reconciler") if isinstance(tool, dict) else None
    if not isinstance(ours, dict):
        return None
    return ConfigFile(path=path, text=text, data=ours, prefix=("tool", "reconciler"))


def _mentions_us(path: Path) -> bool:
    try:
        return _of_project(path) is not None
    except ConfigError:
        return False  # beside a reconciler.toml, a pyproject.toml that cannot be read is none of our business


def _parse(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return text, tomllib.loads(text)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except tomllib.TOMLDecodeError as error:
        reason = f"it is not TOML: {_position(error)}"
    except (RecursionError, ValueError):  # ten thousand brackets, or as many digits
        reason = "it is not TOML that can be read"
    raise ConfigError(
        f"{visible(str(path))} cannot be read: {visible(reason)}",
        code="RC0112",
        hint="TOML is described at https://toml.io.",
    )


def _position(error: tomllib.TOMLDecodeError) -> str:
    """The parser's message without the key that it may quote: a secret without quotes looks like one."""
    text = str(error)
    what, _, where = text.rpartition(" (at ")
    return where.rstrip(")") if any(mark in what for mark in "'\"") else text
