"""The result of a policy check as plain JSON values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from reconciler.kernel.clock import iso
from reconciler.model.policy import Policy, PolicyException
from reconciler.policy.item import Item
from reconciler.policy.verdict import Evaluation, Violation

SCHEMA_VERSION: Final = 1

Json = dict[str, Any]


def build(evaluation: Evaluation, policies: Sequence[Policy], *, exit_code: int, notes: Sequence[str]) -> Json:
    return {
        "schema_version": SCHEMA_VERSION,
        "exit_code": exit_code,
        "policies": [
            {"name": one.name, "source": one.source, "rules": [rule.id for rule in one.rules]} for one in policies
        ],
        "summary": {
            "judged": evaluation.judged,
            "violations": len(evaluation.violations),
            "blocking": sum(one.severity.blocks for one in evaluation.violations),
            "excepted": len(evaluation.excepted),
            "not_evaluated": len(evaluation.not_evaluated),
        },
        "violations": [violation_entry(one) for one in evaluation.violations],
        "excepted": [
            {
                **violation_entry(one.violation),
                "exception": exception_entry(one.exception) if one.exception is not None else None,
                "baseline": one.exception is None,
            }
            for one in evaluation.excepted
        ],
        "not_evaluated": not_evaluated(evaluation),
        "notes": list(notes),
    }


def violation_entry(violation: Violation) -> Json:
    return {
        "fingerprint": violation.fingerprint,
        "rule": violation.rule.id,
        "check": violation.rule.check_name,
        "severity": violation.severity.value,
        "message": violation.message,
        "hint": violation.rule.hint,
        "facet": violation.facet,
        "adds": list(violation.add),
        "not_known_yet": violation.doubtful,
        "policy": violation.policy.source,
        "resource": resource_entry(violation.item),
    }


def resource_entry(item: Item) -> Json:
    return {
        "kind": item.kind.value,
        "name": item.name,
        "zone": item.zone if isinstance(item.zone, str) else None,
        "id": item.id,
        "urn": item.urn,
        "stack": item.stack,
        "fleet": item.fleet,
    }


def exception_entry(exception: PolicyException) -> Json:
    return {"owner": exception.owner, "reason": exception.reason, "expires_at": iso(exception.expires_ms)}


def not_evaluated(evaluation: Evaluation) -> list[Json]:
    """How often a rule could not be evaluated for a reason."""
    counted = Counter((one.rule.id, one.reason) for one in evaluation.not_evaluated)
    return [{"rule": rule, "reason": reason, "resources": count} for (rule, reason), count in sorted(counted.items())]
