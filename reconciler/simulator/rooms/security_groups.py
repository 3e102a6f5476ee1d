"""Security groups and their rules. Every project has a default group in every zone, which cannot be deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reconciler.simulator.call import Call, nothing, optional_number, optional_text, reply_v1, text
from reconciler.simulator.paging import Order, Selection, links, page_number, page_size
from reconciler.simulator.records_static import Rule, SecurityGroup
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Json, Refusal, Response, invalid, not_found, time_v1
from reconciler.simulator.world import World

BASE = "/instance/v1/zones/{zone}/security_groups"
RESOURCE = "instance_security_group"
_MAIL = tuple((ip_range, port) for ip_range in ("0.0.0.0/0", "::/0") for port in (25, 465, 587))


def group_v1(world: World, group: SecurityGroup) -> Json:
    servers = world.servers.under("group", group.id)
    return {
        "id": group.id,
        "creation_date": time_v1(group.created_ms),
        "modification_date": time_v1(group.updated_ms),
        "name": group.name,
        "description": group.description,
        "organization": world.organization,
        "project": group.project,
        "servers": [{"id": server.id, "name": server.name} for server in servers],
        "stateful": group.stateful,
        "inbound_default_policy": group.inbound_default_policy,
        "outbound_default_policy": group.outbound_default_policy,
        "organization_default": group.project_default,
        "project_default": group.project_default,
        "enable_default_security": group.enable_default_security,
        "state": "available",
        "tags": list(group.tags),
        "zone": group.zone,
    }


def rules_v1(group: SecurityGroup) -> list[Json]:
    """The six fixed rules against outgoing mail come first and cannot be edited."""
    shown = []
    if group.enable_default_security:
        for position, (ip_range, port) in enumerate(_MAIL, start=1):
            rule_id = f"11111111-2222-4333-8444-{position:012d}"
            rule = Rule(id=rule_id, direction="outbound", action="drop", ip_range=ip_range, dest_port_from=port)
            shown.append(_rule_v1(group, rule, position, editable=False))
    shown.extend(_rule_v1(group, rule, position, editable=True) for position, rule in enumerate(group.rules, start=1))
    return shown


def _rule_v1(group: SecurityGroup, rule: Rule, position: int, *, editable: bool) -> Json:
    return {
        "id": rule.id,
        "protocol": rule.protocol,
        "direction": rule.direction,
        "ip_range": rule.ip_range.removesuffix("/32"),
        "dest_ip_range": None,
        "dest_port_from": rule.dest_port_from,
        "dest_port_to": rule.dest_port_to,
        "position": position,
        "editable": editable,
        "action": rule.action,
        "zone": group.zone,
    }


def _fetch(call: Call) -> SecurityGroup:
    return call.fetch(call.world.security_groups, call.params["group"], place=call.zone, resource=RESOURCE)


def list_groups(call: Call) -> Response:
    query = call.query
    size, page = page_size(query, "per_page"), page_number(query)
    name, tags, default = query.first("name"), set((query.first("tags") or "").split(",")) - {""}, None
    default = query.flag("project_default")
    accept: Callable[[SecurityGroup], bool] | None = None
    if name is not None or tags or default is not None:
        accept = lambda group: (  # noqa: E731
            (name or "") in group.name and tags <= set(group.tags) and default in (None, group.project_default)
        )
    keys = call.keys_in(call.zone, "project")
    total, part = Selection(call.world.security_groups, keys, Order(True), accept).cut(
        offset=(page - 1) * size, limit=size
    )
    body = {"security_groups": [group_v1(call.world, group) for group in part]}
    return reply_v1(body, headers=links(query, path="/security_groups", page=page, size=size, total=total))


def create_group(call: Call) -> Response:
    body = call.body
    group = SecurityGroup(
        id=call.mint.uuid(),
        name=text(body, "name", "security-group"),
        zone=call.zone,
        project=call.project_of_body("project", "organization"),
        description=optional_text(body, "description"),
        tags=call.tags_of_body() or (),
        stateful=bool(body.get("stateful", True)),
        inbound_default_policy=_policy(body, "inbound_default_policy", "accept"),
        outbound_default_policy=_policy(body, "outbound_default_policy", "accept"),
        enable_default_security=body.get("enable_default_security") is not False,
        created_ms=call.now_ms,
        updated_ms=call.now_ms,
    )
    call.world.security_groups.put(group)
    location = f"https://api.scaleway.com{call.request.path}/{group.id}"
    return reply_v1({"security_group": group_v1(call.world, group)}, 201, {"Location": location})


def _policy(body: Json, name: str, default: str) -> str:
    value = text(body, name, default)
    if value not in {"accept", "drop"}:
        raise invalid(name, "constraint", "not a valid value")
    return value


def get_group(call: Call) -> Response:
    return reply_v1({"security_group": group_v1(call.world, _fetch(call))})


def update_group(call: Call) -> Response:
    group, body = _fetch(call), call.body
    changes: dict[str, Any] = {
        "name": text(body, "name", group.name),
        "inbound_default_policy": _policy(body, "inbound_default_policy", group.inbound_default_policy),
        "outbound_default_policy": _policy(body, "outbound_default_policy", group.outbound_default_policy),
    }
    if "description" in body:
        changes["description"] = optional_text(body, "description")
    for name in ("stateful", "enable_default_security"):
        if isinstance(body.get(name), bool):
            changes[name] = body[name]
    if (tags := call.tags_of_body()) is not None:
        changes["tags"] = tags
    fresh = call.world.security_groups.put(replace(group, **changes, updated_ms=call.now_ms))
    return reply_v1({"security_group": group_v1(call.world, fresh)})


def delete_group(call: Call) -> Response:
    """The default one too: the next server of the project gets a new one."""
    group = _fetch(call)
    if call.world.servers.count("group", group.id):
        raise Refusal(409, {"type": "conflict", "message": "Group is in use. You cannot delete it."})
    call.world.security_groups.remove(group.id)
    return nothing()


def list_rules(call: Call) -> Response:
    return reply_v1({"rules": rules_v1(_fetch(call))})


def set_rules(call: Call) -> Response:
    """The whole list; the fixed rules are added by the API, whatever is sent."""
    group, sent = _fetch(call), call.body.get("rules")
    if not isinstance(sent, list) or not all(isinstance(item, dict) for item in sent):
        raise invalid("rules", "format", "must be a list of rules")
    rules = tuple(_new_rule(call, item) for item in sent if item.get("editable") is not False)
    fresh = call.world.security_groups.put(replace(group, rules=rules, updated_ms=call.now_ms))
    return reply_v1({"rules": rules_v1(fresh)})


def add_rule(call: Call) -> Response:
    group = _fetch(call)
    rule = _new_rule(call, call.body)
    fresh = call.world.security_groups.put(replace(group, rules=(*group.rules, rule), updated_ms=call.now_ms))
    return reply_v1({"rule": rules_v1(fresh)[-1]}, 201)


def delete_rule(call: Call) -> Response:
    group, rule_id = _fetch(call), call.params["rule"]
    kept = tuple(rule for rule in group.rules if rule.id != rule_id)
    if len(kept) == len(group.rules):
        raise not_found("instance_security_group_rule", rule_id)
    call.world.security_groups.put(replace(group, rules=kept, updated_ms=call.now_ms))
    return nothing()


def _new_rule(call: Call, item: Json) -> Rule:
    return Rule(
        id=optional_text(item, "id") or call.mint.uuid(),
        protocol=text(item, "protocol", "TCP"),
        direction=text(item, "direction", "inbound"),
        action=_policy(item, "action", "accept"),
        ip_range=text(item, "ip_range", "0.0.0.0/0"),
        dest_port_from=optional_number(item, "dest_port_from"),
        dest_port_to=optional_number(item, "dest_port_to"),
    )


ROUTES = (
    Route("GET", BASE, list_groups, "security_group", listing=True),
    Route("POST", BASE, create_group, "security_group"),
    Route("GET", BASE + "/{group}", get_group, "security_group"),
    Route("PATCH", BASE + "/{group}", update_group, "security_group"),
    Route("DELETE", BASE + "/{group}", delete_group, "security_group"),
    Route("GET", BASE + "/{group}/rules", list_rules, "security_group"),
    Route("PUT", BASE + "/{group}/rules", set_rules, "security_group"),
    Route("POST", BASE + "/{group}/rules", add_rule, "security_group"),
    Route("DELETE", BASE + "/{group}/rules/{rule}", delete_rule, "security_group"),
)
