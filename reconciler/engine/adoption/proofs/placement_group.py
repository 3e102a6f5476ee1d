"""Placement groups: `POST` in v2alpha1, which has no `policy_mode`; the provider sets that in v1 afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reconciler.engine.adoption.comparison import Comparison
from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.live import Live
from reconciler.engine.adoption.proofs.shared import Call, NotProvedError, Reply, match
from reconciler.model.resources import Kind

_KEYS: Final = frozenset({"project_id", "name", "policy_type", "tags"})
_KEYS_V1: Final = frozenset({"project", "name", "policy_type", "policy_mode", "tags"})


def read(live: Live, item: Expectation) -> dict[str, Any] | None:
    return live.find(f"/instance/v2alpha1/zones/{item.ref.zone}/placement-groups/{item.ref.id}")


def create(call: Call) -> Reply:
    _, group = match(call, Kind.PLACEMENT_GROUP, read=read, compare=compare)
    return Reply.json(200, group)


def compare(comparison: Comparison, body: Mapping[str, Any], group: Mapping[str, Any], _live: Live | None) -> None:
    comparison.only(body, _KEYS)
    comparison.name(body.get("name"), group.get("name"))
    comparison.same("projectId", body.get("project_id"), group.get("project_id"))
    comparison.same("policyType", body.get("policy_type"), group.get("policy_type"))
    comparison.tags(body.get("tags"), group.get("tags"))


def _read_v1(live: Live, item: Expectation) -> dict[str, Any] | None:
    found = live.find(f"/instance/v1/zones/{item.ref.zone}/placement_groups/{item.ref.id}")
    group = None if found is None else found.get("placement_group")
    return group if isinstance(group, dict) else None


def create_v1(call: Call) -> Reply:
    """`POST` of providers before 2.80."""
    _, group = match(call, Kind.PLACEMENT_GROUP, read=_read_v1, compare=_compare_v1)
    return Reply.json(201, {"placement_group": group})


def _compare_v1(comparison: Comparison, body: Mapping[str, Any], group: Mapping[str, Any], _live: Live | None) -> None:
    comparison.only(body, _KEYS_V1)
    comparison.name(body.get("name"), group.get("name"))
    comparison.same("projectId", body.get("project"), group.get("project"))
    comparison.same("policyType", body.get("policy_type"), group.get("policy_type"), default="max_availability")
    comparison.same("policyMode", body.get("policy_mode"), group.get("policy_mode"), default="optional")
    comparison.tags(body.get("tags"), group.get("tags"))


def update_v1(call: Call) -> Reply:
    """`PATCH {"policy_mode": ...}`, when it is so already."""
    item, body = call.target(Kind.PLACEMENT_GROUP), call.body()
    group = _read_v1(call.live, item)
    comparison = Comparison(item)
    comparison.only(body, {"policy_mode"})
    comparison.same("policyMode", body.get("policy_mode"), None if group is None else group.get("policy_mode"))
    if comparison.differences or group is None:
        raise NotProvedError(comparison.differences)
    return Reply.json(200, {"placement_group": group})
