"""`TagPolicy`: the rules that a stack declares for its own resources.

The rules are those of a policy file, checked by the same decoder (`reconciler.policy`, which the same wheel ships and
which is loaded when a policy is made, not before). They become part of the stack's output, where the sweep reads them
from any checkpoint and the pack at the end of a preview. An output is no secret, and neither is a policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pulumi


class TagPolicy:
    """`rules`, `mappings` and `exceptions` are objects with the keys of a policy file (docs/policy.md)."""

    document: Mapping[str, Any]

    def __init__(
        self,
        *,
        rules: Sequence[Mapping[str, Any]],
        mappings: Sequence[Mapping[str, Any]] = (),
        exceptions: Sequence[Mapping[str, Any]] = (),
        name: str = "policy",
        separator: str = "=",
    ) -> None:
        """Raises `pulumi.RunError`, which names every mistake by its key path, before anything is registered."""
        document: dict[str, Any] = {"version": 1, "name": name, "separator": separator, "rules": list(rules)}
        document |= {"mappings": list(mappings)} if mappings else {}
        document |= {"exceptions": list(exceptions)} if exceptions else {}
        self.document = checked(document)

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> TagPolicy:
        """From the keys of a policy file, as `reconciler:policy` holds them. Raises as the constructor does."""
        made = cls.__new__(cls)
        made.document = checked(document)
        return made


def checked(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document as JSON values. Raises `pulumi.RunError`."""
    values: Mapping[str, Any] = plain(document)
    mistakes = mistakes_in(values)
    if mistakes:
        raise pulumi.RunError("\n  ".join(["this TagPolicy is wrong:", *mistakes]))
    return values


def mistakes_in(document: Any) -> list[str]:
    """The key path of every mistake, with what is wrong there; no value is repeated."""
    from reconciler.config.errors import dotted
    from reconciler.policy.decode import InvalidPolicy, decode_value

    try:
        decode_value(document, source="policy")
    except InvalidPolicy as error:
        return [f"{dotted(one.path)}: {one.message}. {one.hint}" for one in error.problems]
    return []


def plain(value: Any) -> Any:
    """JSON values: a date is text in an output."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value
