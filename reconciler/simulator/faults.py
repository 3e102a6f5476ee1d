"""Faults by rule: what goes wrong, for which requests, how often.

Counting is exact and per rule: the n-th request that a rule matches is the n-th whoever sends it, so the same requests
in the same order meet the same faults. Several delays add up; of the other actions the first rule that fires wins.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, get_args

from reconciler.kernel.errors import ConfigError
from reconciler.simulator.wire import (
    Json,
    Request,
    dump,
    not_found,
    out_of_stock,
    precondition,
    quota_exceeded,
    transient,
)

Action = Literal["status", "delay", "refuse", "drop_request", "drop_answer", "cut", "hold", "hold_answer"]
ACTIONS: Final = get_args(Action)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """One rule.

    Which requests: `method` ("*", "GET" or "POST,PATCH"), `path` (a glob in which `*` stays inside one segment and
    `**` does not; or `re:` and a regular expression that must match somewhere), `query_contains`, `body_contains`.
    Which of them: `nth` (1 is the first match) or `every` (2 is each second one), after `skip` matches, at most
    `times`. Without any of these: all.
    What: `status` answers without executing; `delay` executes at once and answers late; `refuse` is a connection that
    is never made (over sockets: closed at once); `drop_request` closes the connection and never executes;
    `drop_answer` executes and then closes; `cut` executes and sends `cut_at` bytes of the body (half, when None);
    `hold` waits for `release` before it executes, `hold_answer` after.
    `body`: a name of `BODIES`, or the text itself.
    """

    name: str = ""
    method: str = "*"
    path: str = "**"
    query_contains: str = ""
    body_contains: str = ""
    nth: tuple[int, ...] = ()
    every: int = 0
    skip: int = 0
    times: int = 0
    action: Action = "status"
    status: int = 500
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_ms: int = 0
    cut_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """What the rules say about one request: the extra delay, and the rule that decides, if any."""

    delay_ms: int = 0
    rule: FaultRule | None = None
    gate: threading.Event | None = None


class FaultBook:
    """The rules in force, with their counters. Thread-safe."""

    def __init__(self, rules: Iterable[FaultRule] = ()) -> None:
        self._lock = threading.Lock()
        self._rules: list[_Armed] = []
        self.set(rules)

    def set(self, rules: Iterable[FaultRule]) -> None:
        """Replace all rules and start counting afresh; whatever an old rule still holds goes on."""
        armed = [_Armed(rule) for rule in rules]
        with self._lock:
            old, self._rules = self._rules, armed
        for item in old:
            item.gate.set()

    def add(self, rule: FaultRule) -> None:
        armed = _Armed(rule)
        with self._lock:
            self._rules.append(armed)

    def release(self, name: str | None = None) -> int:
        """Let go what `hold` rules hold, now and from now on: of that name, or of all. Returns how many rules."""
        with self._lock:
            chosen = [item for item in self._rules if name is None or item.rule.name == name]
        for item in chosen:
            item.gate.set()
        return len(chosen)

    def meet(self, request: Request) -> Hit:
        delay, decisive = 0, None
        with self._lock:
            for item in self._rules:
                if not item.fits(request):
                    continue
                if not item.fires(free=decisive is None or item.rule.action == "delay"):
                    continue
                delay += item.rule.delay_ms
                if item.rule.action != "delay":
                    decisive = item
        if decisive is None:
            return Hit(delay_ms=delay)
        return Hit(delay_ms=delay, rule=decisive.rule, gate=decisive.gate)

    def counts(self) -> list[Json]:
        with self._lock:
            return [
                {"name": item.rule.name, "action": item.rule.action, "matched": item.matched, "fired": item.fired}
                for item in self._rules
            ]


class _Armed:
    def __init__(self, rule: FaultRule) -> None:
        check(rule)
        self.rule, self.matched, self.fired = rule, 0, 0
        self.gate = threading.Event()
        self._methods = None if rule.method == "*" else {part.strip().upper() for part in rule.method.split(",")}
        self._pattern = _pattern(rule.path)

    def fits(self, request: Request) -> bool:
        rule = self.rule
        return (
            (self._methods is None or request.method in self._methods)
            and self._pattern.search(request.path) is not None
            and rule.query_contains in request.query
            and rule.body_contains.encode() in request.body
        )

    def fires(self, *, free: bool) -> bool:
        """Count this match and say whether the rule acts on it; it does not where another rule already has."""
        self.matched += 1
        rule, number = self.rule, self.matched - self.rule.skip
        if not free or number < 1 or (rule.times and self.fired >= rule.times):
            return False
        if (rule.nth and number not in rule.nth) or (rule.every and number % rule.every):
            return False
        self.fired += 1
        return True


def check(rule: FaultRule) -> None:
    """Refuse a rule that could not mean anything. Raises ConfigError RC7020."""
    _pattern(rule.path)
    problem = ""
    if rule.action not in ACTIONS:
        problem = f"action {rule.action!r} is none of {', '.join(ACTIONS)}"
    elif not 100 <= rule.status <= 599:
        problem = f"status {rule.status} is no HTTP status"
    elif rule.action == "delay" and rule.delay_ms <= 0:
        problem = "a delay needs delay_ms above 0"
    elif rule.nth and rule.every:
        problem = "nth and every exclude each other"
    elif min((*rule.nth, 1)) < 1 or min(rule.every, rule.skip, rule.times, rule.delay_ms) < 0:
        problem = "counts and delays are not negative, and nth starts at 1"
    if problem:
        raise _bad_rule(f"fault rule {rule.name or rule.path!r}: {problem}")


def rule_from_json(value: Any) -> FaultRule:
    """A rule from the admin API or a case. Raises ConfigError RC7020 for an unknown key or a wrong type."""
    if not isinstance(value, dict):
        raise _bad_rule("a fault rule is an object")
    known = {item.name: item for item in fields(FaultRule)}
    for name, given in value.items():
        if name not in known:
            raise _bad_rule(f"fault rule: unknown key {name!r}; known are {', '.join(known)}")
        if not _right_type(name, given):
            raise _bad_rule(f"fault rule: {name} cannot be {json.dumps(given)}")
    rule = FaultRule(**{**value, "nth": tuple(value.get("nth", ()))})
    check(rule)
    return rule


def _right_type(name: str, given: Any) -> bool:
    if name == "nth":
        return isinstance(given, list) and all(type(item) is int for item in given)
    if name == "headers":
        return isinstance(given, dict) and all(isinstance(item, str) for item in given.values())
    if name in {"every", "skip", "times", "status", "delay_ms"}:
        return type(given) is int
    if name == "cut_at":
        return given is None or type(given) is int
    return isinstance(given, str)


def _pattern(path: str) -> re.Pattern[str]:
    try:
        return path_pattern(path)
    except re.error as error:
        raise _bad_rule(f"fault rule: {path!r} is no regular expression: {error}") from error


def path_pattern(path: str) -> re.Pattern[str]:
    """A glob, or `re:` and a regular expression, to search a path with. Raises re.error."""
    if path.startswith("re:"):
        return re.compile(path[3:])
    parts = re.split(r"(\*\*|\*)", path)
    glob = {"**": ".*", "*": "[^/]*"}
    return re.compile("^" + "".join(glob.get(part, re.escape(part)) for part in parts) + "$")


def _bad_rule(message: str) -> ConfigError:
    return ConfigError(message, code="RC7020", hint="docs/simulator.md, section Faults, lists the keys and actions.")


BODIES: Final[Mapping[str, Callable[[], bytes]]] = {
    "empty": lambda: b"",
    "permissions_denied": lambda: dump(
        {
            "details": [{"action": "read", "resource": "unknown"}],
            "message": "insufficient permissions",
            "type": "permissions_denied",
        }
    ),
    "quotas_exceeded": lambda: dump(quota_exceeded("servers", current=25, quota=25).body or {}),
    "quota_v1": lambda: dump(
        {
            "type": "invalid_request_error",
            "message": "Quota exceeded for this resource.",
            "resource": "compute_servers_type_DEV1_S_available",
        }
    ),
    "out_of_stock": lambda: dump(out_of_stock("server").body or {}),
    "protected": lambda: dump(precondition("protected_resource", "server is protected").body or {}),
    "transient_state": lambda: dump(transient("instance_server", "", "starting").body or {}),
    "internal": lambda: dump({"message": "internal error", "type": "internal"}),
    "unavailable": lambda: b"upstream connect error or disconnect/reset before headers",
    "html": lambda: b"<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>",
    "not_json": lambda: b'{"servers": [',
}


def rate_limited(**which: Any) -> FaultRule:
    """A 429 as recorded: empty body, no content type, no Retry-After, one Envoy header."""
    return FaultRule(
        action="status", status=429, body="empty", headers={"X-Envoy-Ratelimited": "true"}, **{"name": "429", **which}
    )


def fault_body(rule: FaultRule, request: Request) -> tuple[bytes, str | None]:
    """(body, content type or None). `not_found:instance_server` is the typed 404 for the id at the path's end."""
    if rule.body in BODIES:
        raw = BODIES[rule.body]()
    elif rule.body.startswith("not_found:"):
        raw = dump(not_found(rule.body.partition(":")[2], request.path.rsplit("/", 1)[-1]).body or {})
    else:
        raw = rule.body.encode()
    if not raw:
        return raw, None
    if raw.startswith(b"<"):
        return raw, "text/html"
    return raw, "application/json" if raw.startswith(b"{") else "text/plain"
