"""pydantic's errors, said our way: place, key path, what is wrong, and what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from reconciler.config.document import ActionError, AdapterUnavailableError, UnknownZoneError, table_at
from reconciler.config.durations import text as spelled
from reconciler.config.errors import Problem
from reconciler.config.layers import Layers
from reconciler.config.settings import KeyPath
from reconciler.kernel.text import visible
from reconciler.model.scope import KNOWN_ZONES

_REFERENCE: Final = "docs/configuration.md lists every key with its default."
_SCOPE_UUID: Final = "`reconciler config init` writes a fresh one; it stays the same for the life of the scope."


def from_pydantic(error: ValidationError, layers: Layers) -> list[Problem]:
    """All mistakes, in the order of the document."""
    return [_problem(details, layers) for details in error.errors(include_url=False, include_input=False)]


def _problem(details: Mapping[str, Any], layers: Layers) -> Problem:
    path: KeyPath = tuple(details["loc"])
    match details["type"]:
        case "extra_forbidden":
            code, message, hint = "RC0113", "unknown key", _closest(path)
        case "missing":
            code, message, hint = "RC0121", "this key is missing", _missing(path)
        case "value_error":
            error = details["ctx"]["error"]
            code, message, hint = _of_ours(error)
            path = (*path, error.key) if isinstance(error, ActionError) else path
        case _:
            code, message, hint = "RC0114", _plain(details["msg"]), _REFERENCE
    return Problem(code=code, path=path, message=message, hint=hint, where=layers.nearest(path).where)


def _of_ours(error: ValueError) -> tuple[str, str, str]:
    """Code, message and hint for what our own validators refuse."""
    match error:
        case UnknownZoneError():
            named = ", ".join(visible(repr(zone), limit=40) for zone in error.zones)
            return "RC0116", f"unknown zone {named}", f"Known zones: {', '.join(KNOWN_ZONES)}."
        case AdapterUnavailableError():
            return "RC0120", str(error), 'Take "native" or "none"; what your own tables know stays out of the verdicts.'
        case ActionError(choices=()):
            hint = "A key is a finding (`orphan`) or a finding with its resource (`detached_volume`)."
            return "RC0114", str(error), hint
        case ActionError():
            return "RC0114", str(error), f"One of: {', '.join(error.choices)}."
        case _:
            return "RC0114", str(error), _REFERENCE


def _plain(message: str) -> str:
    return message[:1].lower() + message[1:]


def _closest(path: KeyPath) -> str:
    names = [part for part in path if isinstance(part, str)]
    table = table_at(names[:-1])
    close = difflib.get_close_matches(names[-1], list(table.model_fields) if table else [], n=1)
    return f"Did you mean `{close[0]}`?" if close else _REFERENCE


def _missing(path: KeyPath) -> str:
    match path[-2:]:
        case (int(), "uuid"):
            return _SCOPE_UUID
        case (int(), "project"):
            return "The id of the Scaleway project, as in SCW_DEFAULT_PROJECT_ID."
        case _:
            return _REFERENCE


def too_short(grace: int, create: int) -> str:
    """What is wrong with a grace that a create may outlast."""
    return f"a grace of {spelled(grace)} does not exceed the create deadline of {spelled(create)}"
