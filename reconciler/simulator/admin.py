"""The simulator's own API under `/_simulator/`: what was asked, and what shall happen next. It needs no key.

It is for tests and the demo, which is why the server binds to loopback only. Nothing here is a call to the cloud, so
nothing here is counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from reconciler.kernel.errors import ConfigError
from reconciler.simulator import worldfile
from reconciler.simulator.call import nothing, reply
from reconciler.simulator.faults import rule_from_json
from reconciler.simulator.lies import lie_from_json, lie_to_json, step_from_json
from reconciler.simulator.strangers import mutate
from reconciler.simulator.traffic import entry_json
from reconciler.simulator.wire import Query, Refusal, Request, Response, dump

if TYPE_CHECKING:
    from reconciler.simulator.core import Simulator


def answer(simulator: Simulator, request: Request) -> Response:
    """Unknown paths are 404; what the request got wrong is 400 with the error's code and hint."""
    handler = _HANDLERS.get((request.method, request.path.removeprefix("/_simulator/")))
    if handler is None:
        known = sorted(f"{method} /_simulator/{path}" for method, path in _HANDLERS)
        return reply({"message": f"{request.method} {request.path} is not here", "known": known}, 404)
    try:
        return handler(simulator, request)
    except ConfigError as error:
        return reply({"message": error.message, "code": error.code, "hint": error.hint}, 400)
    except Refusal as error:
        return Response(status=error.status, headers={"Content-Type": "application/json"}, body=dump(error.body or {}))


def _body(request: Request) -> Any:
    try:
        return json.loads(request.body or b"null")
    except ValueError as error:
        raise ConfigError(f"the body is not JSON: {error}", code="RC7044", hint="Send one JSON value.") from error


def _stats(simulator: Simulator, _request: Request) -> Response:
    with simulator.editing() as world:
        objects = {kind: len(table) for kind, table in world.tables().items()}
    stats = simulator.traffic.stats()
    faults, lies, crashes = simulator.faults.counts(), simulator.lies.counts(), len(simulator.crashes)
    return reply({**stats, "faults": faults, "lies": lies, "objects": objects, "crashes": crashes})


def _log(simulator: Simulator, request: Request) -> Response:
    """`?last=N` for the last N only."""
    last = Query(request.query).number("last", 1000)
    return reply({"requests": [entry_json(entry) for entry in simulator.traffic.entries(last)]})


def _reset_log(simulator: Simulator, _request: Request) -> Response:
    simulator.traffic.reset()
    return nothing()


def _get_faults(simulator: Simulator, _request: Request) -> Response:
    return reply({"faults": simulator.faults.counts()})


def _put_faults(simulator: Simulator, request: Request) -> Response:
    """Replaces all rules: a list, or `{"faults": [...]}`."""
    value = _body(request)
    rules = value.get("faults") if isinstance(value, dict) else value
    if not isinstance(rules, list):
        raise ConfigError("faults are a list of rules", code="RC7041", hint='Send [] or {"faults": []} for none.')
    simulator.faults.set([rule_from_json(item) for item in rules])
    return reply({"faults": simulator.faults.counts()})


def _get_lies(simulator: Simulator, _request: Request) -> Response:
    """The lies in force as they can be sent back, their counts, and the operations of a script that came too late."""
    lies = simulator.lies
    shown = [lie_to_json(lie) for lie in lies.lies()]
    return reply({"lies": shown, "counts": lies.counts(), "late": lies.late()})


def _put_lies(simulator: Simulator, request: Request) -> Response:
    """Replaces all lies and ends every script: a list, or `{"lies": [...], "script": [...]}`."""
    value = _body(request)
    given = value if isinstance(value, dict) else {"lies": value}
    lies, script = given.get("lies", []), given.get("script", [])
    if not isinstance(lies, list) or not isinstance(script, list) or set(given) - {"lies", "script"}:
        raise ConfigError(
            "lies are a list, and so is a script", code="RC7046", hint='Send [] or {"lies": [], "script": []} for none.'
        )
    simulator.lies.set([lie_from_json(item) for item in lies], script=[step_from_json(item) for item in script])
    return _get_lies(simulator, request)


def _release(simulator: Simulator, request: Request) -> Response:
    """`{"name": ...}` lets go what the rules of that name hold; no name, all."""
    value = _body(request)
    name = value.get("name") if isinstance(value, dict) else None
    return reply({"released": simulator.faults.release(name)})


def _get_clock(simulator: Simulator, _request: Request) -> Response:
    return reply({"now_ms": simulator.clock.now_ms()})


def _post_clock(simulator: Simulator, request: Request) -> Response:
    """`{"advance_seconds": N}`; with a shared clock the product beside us moves too."""
    value = _body(request)
    seconds = value.get("advance_seconds") if isinstance(value, dict) else None
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds < 0:
        raise ConfigError("advance_seconds is a number of seconds", code="RC7042", hint="Time only moves forward.")
    advance = getattr(simulator.clock, "advance", None)
    if advance is None:
        return reply({"message": "this simulator lives on the machine's clock, which nobody here can move"}, 409)
    advance(float(seconds))
    return _get_clock(simulator, request)


def _get_world(simulator: Simulator, _request: Request) -> Response:
    """JSON Lines, without keys."""
    with simulator.editing() as world:
        text = worldfile.dump(world, with_keys=False)
    return Response(status=200, headers={"Content-Type": "application/jsonl"}, body=text.encode())


def _put_world(simulator: Simulator, request: Request) -> Response:
    """Replaces everything; the keys stay unless the file brings some."""
    with simulator.editing() as world:
        keys = list(world.keys.values())
    try:
        text = request.body.decode()
    except UnicodeDecodeError as error:
        raise ConfigError("the body is not UTF-8", code="RC7043", hint="A world is JSON Lines in UTF-8.") from error
    simulator.replace_world(worldfile.parse(text, name="body", keys=keys))
    return nothing()


def _mutate(simulator: Simulator, request: Request) -> Response:
    """One operation of `strangers`, or a list of them."""
    value = _body(request)
    changes = value if isinstance(value, list) else [value]
    with simulator.editing() as world:
        now_ms = simulator.clock.now_ms()
        done = [mutate(world, simulator.mint, change, now_ms=now_ms) for change in changes]
    return reply({"done": done})


_HANDLERS: Final[Mapping[tuple[str, str], Callable[[Simulator, Request], Response]]] = {
    ("GET", "stats"): _stats,
    ("GET", "log"): _log,
    ("POST", "reset-log"): _reset_log,
    ("GET", "faults"): _get_faults,
    ("PUT", "faults"): _put_faults,
    ("GET", "lies"): _get_lies,
    ("PUT", "lies"): _put_lies,
    ("POST", "release"): _release,
    ("GET", "clock"): _get_clock,
    ("POST", "clock"): _post_clock,
    ("GET", "world"): _get_world,
    ("PUT", "world"): _put_world,
    ("POST", "mutate"): _mutate,
}
