"""The scw config file, as Scaleway's tools read it.

Searched in this order: `SCW_CONFIG_PATH` (which must exist when it is set), `$XDG_CONFIG_HOME/scw/config.yaml`,
`~/.config/scw/config.yaml`. The top level is the profile `default`; a named one (`SCW_PROFILE`, else
`active_profile`) lies over it, value by value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reconciler.kernel.errors import ConfigError
from reconciler.kernel.text import visible

_KEYS: Final = ("access_key", "secret_key", "default_project_id", "api_url")
_HINT: Final = "`scw config validate` checks the file; SCW_CONFIG_PATH names another one."


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The values of one profile that we use, and where they stand, for messages. The values may be secret."""

    where: str
    values: Mapping[str, str] = field(default_factory=dict, repr=False)


def config_path(environ: Mapping[str, str]) -> tuple[Path | None, bool]:
    """(the file to read, whether somebody named it)."""
    named = environ.get("SCW_CONFIG_PATH", "").strip()
    if named:
        return Path(named), True
    candidates = []
    if environ.get("XDG_CONFIG_HOME"):
        candidates.append(Path(environ["XDG_CONFIG_HOME"]) / "scw" / "config.yaml")
    if environ.get("HOME"):
        candidates.append(Path(environ["HOME"]) / ".config" / "scw" / "config.yaml")
    return next((path for path in candidates if path.is_file()), None), False


def read_profile(environ: Mapping[str, str]) -> Profile:
    """The active profile; empty when there is no file. Raises ConfigError: RC0310 (the file cannot be read
    as a mapping of keys), RC0311 (no such profile) or RC0312 (a value is no text)."""
    path, named = config_path(environ)
    wanted = environ.get("SCW_PROFILE", "").strip()
    if path is None:
        if wanted:
            raise ConfigError(f"SCW_PROFILE is {visible(wanted)!r}, but there is no scw config file", code="RC0311")
        return Profile(where="a scw config file (there is none)")
    document = _load(path, named=named)
    chosen = wanted or str(document.get("active_profile") or "default")
    return Profile(where=f"profile {visible(chosen)} of {path}", values=_merge(document, chosen, path))


def _load(path: Path, *, named: bool) -> Mapping[str, object]:
    import yaml

    why = "SCW_CONFIG_PATH names" if named else "found"
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{why} {path}, which cannot be read: {type(error).__name__}", code="RC0310", hint=_HINT
        ) from None
    except yaml.YAMLError as error:
        # The parser's own message quotes the line, and the line may be the secret.
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark is not None else ""
        raise ConfigError(f"{path} is not YAML{line}", code="RC0310", hint=_HINT) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(f"{path} is not a mapping of keys to values", code="RC0310", hint=_HINT)
    return document


def _merge(document: Mapping[str, object], chosen: str, path: Path) -> Mapping[str, str]:
    layers: list[Mapping[str, object]] = [document]
    if chosen != "default":
        profiles = document.get("profiles")
        layer = profiles.get(chosen) if isinstance(profiles, dict) else None
        if not isinstance(layer, dict):
            raise ConfigError(f"{path} has no profile {visible(chosen)!r}", code="RC0311", hint=_HINT)
        layers.append(layer)
    values: dict[str, str] = {}
    for layer in layers:
        for key in _KEYS:
            value = layer.get(key)
            if value is None or value == "":
                continue
            if not isinstance(value, str):
                raise ConfigError(f"{key} in {path} must be a text", code="RC0312", hint=_HINT)
            values[key] = value.strip()
    return values
