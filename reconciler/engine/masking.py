"""Takes secrets out of a resource's properties while they are decoded.

A checkpoint wraps a secret in an object with a signature. Copies of it escape that wrapping, and were published by
other tools (R191, R193): the bridge's `__inputs` inside outputs holds the inputs in clear; `additionalSecretOutputs`
names outputs that are secret whatever they look like; an input that is a secret comes back as a plain output. So a
property is masked by wrapping, by name, by path (secret on one side, secret on the other) and by value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from reconciler.model.state import SECRET

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_WRAPPED: Final = "1b47061264138c4ac30d75fd1eb44270"
_OUTPUT_VALUE: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
# What the Terraform bridge and the engine keep for themselves; none of it is a property of the resource.
NOISE: Final = frozenset({"__defaults", "__meta", "__inputs", "__internal", "__pulumi_raw_state_delta"})
# User data is a program that often holds a token; people write it in clear.
_ALWAYS: Final[Mapping[str, frozenset[str]]] = {
    "scaleway:instance/server:Server": frozenset({"userData", "cloudInit", "adminPassword"}),
    "scaleway:instance/userData:UserData": frozenset({"value"}),
    "pulumi:providers:scaleway": frozenset({"secretKey"}),
}
# A shorter value is a word, and hiding every `true` or `20` would hide the resource.
_SHORTEST: Final = 6


def unwrap(value: Any) -> Any:
    """The value with every wrapped secret replaced by `SECRET` and the noise left out."""
    if isinstance(value, dict):
        if _is_secret(value):
            return SECRET
        return {key: unwrap(item) for key, item in value.items() if key not in NOISE}
    if isinstance(value, list):
        return [unwrap(item) for item in value]
    return value


def _is_secret(value: Mapping[str, Any]) -> bool:
    signature = value.get(SIGNATURE)
    if signature == _OUTPUT_VALUE:
        return value.get("secret") is True
    # Assets, archives and resource references carry the same key with kinds of their own, and are no secrets.
    return signature == _WRAPPED


def mask(
    kind: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], *, named: Collection[str], wrapped: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and outputs of one resource of the type `kind`, both clean. `named`: its `additionalSecretOutputs`;
    `wrapped`: whether the signature of a secret occurs in it at all, which saves a walk over most resources."""
    secret = frozenset(named) | _ALWAYS.get(kind, frozenset())
    clear = {text for side in (inputs, outputs) for key in named for text in _texts(side.get(key))}
    clear |= {text for key in named for text in _texts(_nested(outputs, key))}
    left, right = _by_name(unwrap(dict(inputs)), secret), _by_name(unwrap(dict(outputs)), secret)
    if wrapped:
        left, right = _by_path(left, right), _by_path(right, left)
    if clear:
        left, right = _by_value(left, clear), _by_value(right, clear)
    return left, right


def _nested(outputs: Mapping[str, Any], key: str) -> Any:
    copy = outputs.get("__inputs")
    return copy.get(key) if isinstance(copy, dict) else None


def _texts(value: Any) -> set[str]:
    """Every text inside a value that is long enough to be looked for elsewhere."""
    if isinstance(value, str):
        return {value} if len(value) >= _SHORTEST else set()
    if isinstance(value, dict):
        return set().union(*(_texts(item) for key, item in value.items() if key != SIGNATURE))
    if isinstance(value, list):
        return set().union(*(_texts(item) for item in value))
    return set()


def _by_name(side: dict[str, Any], secret: Collection[str]) -> dict[str, Any]:
    return {key: SECRET if key in secret and item is not None else item for key, item in side.items()}


def _by_path(value: Any, other: Any) -> Any:
    """`value` with SECRET wherever `other` has it."""
    if other is SECRET:
        return SECRET if value is not None else None
    if isinstance(value, dict) and isinstance(other, dict):
        return {key: _by_path(item, other.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(other, list) and len(value) == len(other):
        return [_by_path(item, twin) for item, twin in zip(value, other, strict=True)]
    return value


def _by_value(value: Any, clear: Collection[str]) -> Any:
    if isinstance(value, str):
        return SECRET if value in clear else value
    if isinstance(value, dict):
        return {key: _by_value(item, clear) for key, item in value.items()}
    if isinstance(value, list):
        return [_by_value(item, clear) for item in value]
    return value
