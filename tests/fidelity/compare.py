"""Where two answers differ: status, error type and resource, headers, keys.

Values are not compared, nor bytes or order of keys; words of state are counted apart (`words`).

A difference is text such as `server.volumes.0: no key size` with recorded on the left: `+key` is what the simulator
says beyond the recording, `-key` what it lacks. Objects are compared in full depth, lists by their first item, and a
map whose keys are data (server types by name) by one entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from reconciler.simulator import Response
from tests.fidelity.cassettes import Exchange, parsed

# What an answer shows only once it has been asked for, or on some reads and not on others, in the recordings too.
SOMETIMES: Final = frozenset({"admin_password_encryption_ssh_key_id", "admin_password_encrypted_value"})
# The words of a state machine: the one kind of value that a replay can be held to.
_WORDS: Final = frozenset({"state", "status", "state_detail", "status_detail"})
_HEADERS: Final = {"X-Total-Count": "x_total_count", "Link": "link", "Location": "location"}


def differences(exchange: Exchange, response: Response) -> list[str]:
    """Empty where they agree."""
    if exchange.status != response.status:
        return [f"status {exchange.status} here {response.status}"]
    recorded, shown = exchange.json(), parsed(response.body.decode("utf-8", "replace"))
    if exchange.status >= 400:
        return list(_errors(recorded, shown))
    by_name = "/products/servers" in exchange.path
    if by_name and isinstance(recorded, dict) and isinstance(shown, dict):
        recorded, shown = _entries(recorded), _entries(shown)
    return [*_headers(exchange, response), *_keys(recorded, shown, "")]


def words(exchange: Exchange, response: Response) -> tuple[int, int]:
    """(state words that are the recorded ones, all that both answers have)."""
    recorded = dict(_words(exchange.json(), ""))
    shown = dict(_words(parsed(response.body.decode("utf-8", "replace")), ""))
    both = recorded.keys() & shown.keys()
    return sum(recorded[place] == shown[place] for place in both), len(both)


def _words(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in _WORDS and isinstance(item, str):
                yield f"{where}.{key}", item
            else:
                yield from _words(item, f"{where}.{key}")
    elif isinstance(value, list) and value:
        yield from _words(value[0], f"{where}[]")


def _errors(recorded: Any, shown: Any) -> Iterator[str]:
    for name in ("type", "resource"):
        left, right = _of(recorded, name), _of(shown, name)
        if left != right:
            yield f"error {name} {left} here {right}"
    if isinstance(recorded, dict) or isinstance(shown, dict):
        yield from _keys(recorded, shown, "error")


def _of(body: Any, name: str) -> Any:
    return body.get(name) if isinstance(body, dict) else None


def _headers(exchange: Exchange, response: Response) -> Iterator[str]:
    shown = {_HEADERS[name] for name in response.headers if name in _HEADERS}
    for name in sorted(shown ^ exchange.headers):
        yield f"header {'+' if name in shown else '-'}{name}"


def _entries(body: dict[str, Any]) -> dict[str, Any]:
    return {key: list(value.values()) if isinstance(value, dict) else value for key, value in body.items()}


def _keys(recorded: Any, shown: Any, where: str) -> Iterator[str]:
    if isinstance(recorded, dict) and isinstance(shown, dict):
        lacking = sorted(recorded.keys() - shown.keys() - SOMETIMES)
        beyond = sorted(shown.keys() - recorded.keys() - SOMETIMES)
        yield from (f"{where}: -{key}" for key in lacking)
        yield from (f"{where}: +{key}" for key in beyond)
        for key in sorted(recorded.keys() & shown.keys()):
            yield from _keys(recorded[key], shown[key], f"{where}.{key}" if where else key)
    elif isinstance(recorded, list) and isinstance(shown, list):
        if bool(recorded) != bool(shown):
            yield f"{where}: {'items' if recorded else 'empty'} here {'items' if shown else 'empty'}"
        elif recorded:
            yield from _keys(recorded[0], shown[0], f"{where}[]")
    elif _kind(recorded) != _kind(shown):
        yield f"{where}: {_kind(recorded)} here {_kind(shown)}"


def _kind(value: Any) -> str:
    """Null apart from a value: where one API says null and the other an object, a reader breaks."""
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, (int, float)):
        return "a number"
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
    return kinds.get(type(value), "null")
