"""The CrossGuard pack: one rule per severity for each resource, two for the whole stack. Everything else is pack.py.

Rules come with the configuration, which the engine tells after it has asked for the names of the policies; so the
policies are named after severities, and each message begins with the id of the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import beside  # noqa: F401  # first of all
import pack
from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

from reconciler.kernel.text import visible
from reconciler.model.policy import Severity
from reconciler.policy.verdict import Violation

HERE = Path(__file__).resolve().parent
SCHEMA = PolicyConfigSchema(
    properties={
        "file": {"type": "string", "description": "A policy file, relative to the pack."},
        "policy": {"type": "object", "description": "The policy itself."},
        "scope": {"type": "string", "description": "The uuid of the scope that owns the stack."},
    },
)


def _config(args: Any) -> dict[str, Any]:
    return dict(args.get_config() or {})


def _items(args: ResourceValidationArgs) -> tuple[Any, ...]:
    zone = pack.raw(args.provider.props, "zone") if args.provider is not None else None
    return pack.items(args.resource_type, args.props, urn=args.urn, default_zone=zone)


def _text(violation: Violation) -> str:
    """What the engine shows; tags and names are text from outside."""
    hint = f"\nhint: {visible(violation.rule.hint)}" if violation.rule.hint else ""
    return visible(f"{violation.rule.id}: {violation.item.label}: {violation.message}", limit=2000) + hint


def _validate(severity: Severity) -> Any:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        config = _config(args)
        policy = pack.configured(config, directory=HERE)
        for violation in pack.violations(policy, _items(args), pack.facts(config, policy)):
            if violation.severity is severity:
                report(_text(violation))

    return validate


def _remediate(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
    config = _config(args)
    policy = pack.configured(config, directory=HERE)
    added = pack.additions(policy, _items(args), pack.facts(config, policy))
    if not added:
        return None
    given = {key: pack.raw(args.props, key) for key in args.props}
    return {**given, "tags": [*(given.get("tags") or []), *added]}


def _declared(*severities: Severity) -> Any:
    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        resources = [(one.resource_type, one.urn, one.props) for one in args.resources]
        own = pack.configured(_config(args), directory=HERE)
        for violation in pack.declared_violations(resources, own):
            if violation.severity in severities:
                report(_text(violation), violation.item.urn)

    return validate


PolicyPack(
    name="reconciler",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=[
        ResourceValidationPolicy(
            name="advisory",
            description="Tag policy: to be looked at.",
            enforcement_level=EnforcementLevel.ADVISORY,
            config_schema=SCHEMA,
            validate=_validate(Severity.ADVISORY),
        ),
        ResourceValidationPolicy(
            name="mandatory",
            description="Tag policy: not allowed.",
            enforcement_level=EnforcementLevel.MANDATORY,
            config_schema=SCHEMA,
            validate=_validate(Severity.MANDATORY),
        ),
        ResourceValidationPolicy(
            name="remediate",
            description="Tag policy: missing tags are added.",
            enforcement_level=EnforcementLevel.REMEDIATE,
            config_schema=SCHEMA,
            validate=_validate(Severity.REMEDIATE),
            remediate=_remediate,
        ),
        StackValidationPolicy(
            name="declared-advisory",
            description="The stack's own tag policy: to be looked at.",
            enforcement_level=EnforcementLevel.ADVISORY,
            config_schema=SCHEMA,
            validate=_declared(Severity.ADVISORY),
        ),
        StackValidationPolicy(
            name="declared-mandatory",
            description="The stack's own tag policy: not allowed.",
            enforcement_level=EnforcementLevel.MANDATORY,
            config_schema=SCHEMA,
            validate=_declared(Severity.MANDATORY, Severity.REMEDIATE),
        ),
    ],
)
