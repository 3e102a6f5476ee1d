"""The pack without CrossGuard's classes: from what the engine hands over to violations, and to tags that are added.

It is an adapter like the others: `reconciler.policy` evaluates. The engine gives a resource rule the inputs, with what
is not known yet as a fixed text, and a stack rule the outputs. Nothing here imports pulumi_policy, so that the tests
hold this function to the same verdicts as the other adapters.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from reconciler.kernel.clock import clock_from_environment
from reconciler.kernel.paths import at_home
from reconciler.model.desired import OUTPUT_NAME
from reconciler.model.policy import Policies, Policy, Severity
from reconciler.model.state import SECRET
from reconciler.policy.adapters.inputs import items_of_inputs
from reconciler.policy.adapters.lookups import Lookups
from reconciler.policy.declared import declared_policy, declared_revisions
from reconciler.policy.decode import decode_value, load_policy
from reconciler.policy.effective import policies_for
from reconciler.policy.evaluate import evaluate
from reconciler.policy.item import UNKNOWN, Facts, Item
from reconciler.policy.verdict import Violation

POLICY_FILE: Final = "RECONCILER_POLICY"
STACK_TYPE: Final = "pulumi:pulumi:Stack"
# What the engine writes for a value that is not known yet, one text per type (pulumi_policy/proxy.py).
UNKNOWN_TEXTS: Final = frozenset(
    {
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)


def configured(config: Mapping[str, Any], *, directory: Path, environ: Mapping[str, str] | None = None) -> Policy:
    """The pack's policy: `policy` (an object) or `file` of its configuration, else the file that RECONCILER_POLICY
    names, else policy.yaml beside the pack. Raises ConfigError, which fails the preview: no rule is passed in silence.
    """
    environ = os.environ if environ is None else environ
    if config.get("policy") is not None:
        return _decoded(json.dumps(config["policy"], sort_keys=True))
    named = config.get("file") or environ.get(POLICY_FILE) or "policy.yaml"
    return _loaded(directory / at_home(str(named)))


@lru_cache(maxsize=16)
def _decoded(text: str) -> Policy:
    return decode_value(_whole(json.loads(text)), source="the pack's configuration")


@lru_cache(maxsize=16)
def _loaded(path: Path) -> Policy:
    return load_policy(path)


def facts(config: Mapping[str, Any], policy: Policy, *, now_ms: int | None = None) -> Facts:
    now = clock_from_environment().now_ms() if now_ms is None else now_ms
    return Facts(now_ms=now, scope=policy.scope or config.get("scope"))


def items(
    type: str,  # noqa: A002  # Pulumi's word for it
    props: Mapping[str, Any],
    *,
    urn: str,
    default_zone: Any = None,
    lookups: Lookups | None = None,
) -> tuple[Item, ...]:
    """What the engine says of one resource."""
    zone = plain(default_zone)
    return tuple(
        items_of_inputs(
            type,
            {key: plain(raw(props, key)) for key in props},
            lookups or Lookups(),
            urn=urn,
            default_zone=zone if isinstance(zone, str) else None,
        )
    )


def violations(policy: Policy, found: Sequence[Item], given: Facts) -> tuple[Violation, ...]:
    return evaluate(policy, found, given).violations


def additions(policy: Policy, found: Sequence[Item], given: Facts) -> tuple[str, ...]:
    """The tags that `remediate` rules add to the resource itself: only those that are missing for certain, because a
    tag that is there twice is a difference in every later preview."""
    wanted = [
        tag
        for one in evaluate(policy, found[:1], given).violations
        if one.severity is Severity.REMEDIATE
        for tag in one.add
    ]
    return tuple(dict.fromkeys(wanted))


def declared_violations(
    resources: Sequence[tuple[str, str, Mapping[str, Any]]], own: Policy | None, *, now_ms: int | None = None
) -> Iterator[Violation]:
    """What the stack's own declaration says of its resources: (type, URN, outputs) of all of them, the stack among
    them. `own`: the pack's policy, whose rules count where both have one of an id."""
    output = next((plain(raw(props, OUTPUT_NAME)) for kind, _, props in resources if kind == STACK_TYPE), None)
    declared = declared_policy(output, stack="this stack")
    if declared is None or not isinstance(output, Mapping):
        return
    chosen = policies_for(Policies(configured=own, declared=(("", declared),)), "")[-1]
    now = clock_from_environment().now_ms() if now_ms is None else now_ms
    scope = output.get("scope")
    given = Facts(now_ms=now, scope=scope if isinstance(scope, str) else None, revisions=declared_revisions(output))
    for kind, urn, props in resources:
        yield from violations(chosen, items(kind, props, urn=urn), given)


def raw(props: Mapping[str, Any], key: str) -> Any:
    """A property without the proxies that raise when a value is not known yet."""
    try:
        return props["__target"][key]
    except KeyError:
        return props.get(key)


def plain(value: Any) -> Any:
    """A value of the engine as the adapters take it: unknown texts as `UNKNOWN`, a secret as its mark, no proxies."""
    if isinstance(value, str):
        return UNKNOWN if value in UNKNOWN_TEXTS else value
    if type(value).__name__ == "Secret" and hasattr(value, "value"):
        return SECRET
    if isinstance(value, Mapping):
        target = _target(value)
        return {key: plain(target[key]) for key in target}
    if isinstance(value, Sequence):
        return [plain(item) for item in _target(value)]
    return value


def _target(value: Any) -> Any:
    try:
        return value["__target"]
    except (KeyError, TypeError, IndexError):
        return value


def _whole(value: Any) -> Any:
    """A configuration comes over the wire with floats for all numbers."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
