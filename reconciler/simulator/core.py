"""The simulator itself: requests in, responses out, one world, one clock.

`handle` is all there is to it; HTTP (`http`), an in-process transport (`transport`) and tests call the same function.
One lock guards the world. Delays, held requests and broken connections are outside of it: they are described in the
response and carried out by whoever carries the response.
"""

from __future__ import annotations

import threading
import traceback
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from reconciler.kernel.clock import Clock, SystemClock
from reconciler.kernel.randomness import Randomness, SeededRandomness
from reconciler.simulator.access import check_right, key_of
from reconciler.simulator.ages import as_of
from reconciler.simulator.call import Call
from reconciler.simulator.defaults import REGIONS, ZONES
from reconciler.simulator.faults import FaultBook, FaultRule, Hit, fault_body
from reconciler.simulator.keys import Key
from reconciler.simulator.lies.asked import Asked
from reconciler.simulator.lies.book import LieBook
from reconciler.simulator.lies.telling import answer as tell
from reconciler.simulator.mint import Mint
from reconciler.simulator.rooms import ROUTES
from reconciler.simulator.routing import Route, Router
from reconciler.simulator.timings import Timings
from reconciler.simulator.traffic import Entry, Traffic
from reconciler.simulator.wire import Refusal, Request, Response, dump, dump_v1, http_date, not_found
from reconciler.simulator.world import World

_ROUTER = Router(ROUTES)
_NOBODY = Key(secret="", access_key="", projects=frozenset())


class Simulator:
    """A Scaleway that answers `handle(request)`.

    `speed` divides every duration of `timings`. `before` holds callables that see each request that is about to be
    executed, with the lock held, so that a test can change the world between two pages of a list. `lies` are told to
    requests by rule, by chance or by script; the same `seed` and the same requests give the same answers.
    """

    def __init__(
        self,
        world: World | None = None,
        *,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
        speed: float = 1.0,
        timings: Timings | None = None,
        faults: Iterable[FaultRule] = (),
        seed: int = 1,
    ) -> None:
        if speed <= 0:
            raise ValueError("speed must be above 0")
        self.clock: Clock = clock or SystemClock()
        self.mint = Mint(randomness or SeededRandomness(seed), taken=lambda record_id: record_id in self._world)
        self.speed = speed
        self.timings = timings or Timings()
        self.faults = FaultBook(faults)
        self.traffic = Traffic()
        # Tracebacks of our own bugs; empty in a healthy simulator.
        self.crashes: list[str] = []
        self.before: list[Callable[[Request], None]] = []
        self._world = world or World()
        self._lock = threading.RLock()
        self.lies = LieBook(self._world, clock=self.clock, seed=seed, lock=self._lock, mint=self.mint)

    @contextmanager
    def editing(self) -> Iterator[World]:
        """The world, settled to now and locked: how tests, the demo and the admin API look at it and change it."""
        with self._lock:
            self.lies.pass_time(self.clock.now_ms())
            yield self._world

    def replace_world(self, world: World) -> None:
        with self._lock:
            self._world = world
            self.lies.attend(world)

    def handle(self, request: Request) -> Response:
        """Never raises for anything that a client can send."""
        if request.path.startswith("/_simulator/"):
            from reconciler.simulator.admin import answer  # admin needs this module

            return answer(self, request)
        hit = self.faults.meet(request)
        number = self.traffic.next_number()
        response, route = self._answer(request, hit)
        at_ms = self.clock.now_ms()
        self.traffic.record(
            Entry(
                number=number,
                at_ms=at_ms,
                method=request.method,
                path=request.path,
                query=request.query,
                status=0 if response.drop in {"refused", "before", "after"} else response.status,
                route=route,
                fault=hit.rule.action if hit.rule is not None else "",
            )
        )
        stamp = {"Date": http_date(at_ms), "X-Request-Id": str(uuid.UUID(int=number))}
        return replace(response, headers={**stamp, **response.headers}, delay_ms=hit.delay_ms)

    def _answer(self, request: Request, hit: Hit) -> tuple[Response, str]:
        """(the answer, the template of the route that served or would have served it)."""
        rule = hit.rule
        if rule is not None and rule.action == "hold" and hit.gate is not None:
            hit.gate.wait()
        if rule is not None and rule.action in {"status", "refuse", "drop_request"}:
            found = _ROUTER.match(request.method, request.path)
            template = found[0].template if found is not None else ""
            return (_broken(rule, request), template)
        response, template = self._execute(request)
        if rule is None:
            return response, template
        if rule.action == "hold_answer" and hit.gate is not None:
            hit.gate.wait()
        if rule.action == "drop_answer":
            return Response(status=response.status, drop="after"), template
        if rule.action == "cut":
            cut_at = len(response.body) // 2 if rule.cut_at is None else rule.cut_at
            return replace(response, drop="cut", cut_at=cut_at), template
        return response, template

    def _execute(self, request: Request) -> tuple[Response, str]:
        with self._lock:
            now_ms = self.clock.now_ms()
            self.lies.pass_time(now_ms)
            for look in self.before:
                look(request)
            found = _ROUTER.match(request.method, request.path)
            if found is None:
                body = {"type": "not_simulated", "message": f"{request.method} {request.path} is not simulated"}
                return _refused(request, Refusal(501, body)), ""
            route, params = found
            response = self._told(request, route, params, now_ms)
            # What an instant transition has begun is over before anybody looks.
            self.lies.pass_time(now_ms)
            return response, route.template

    def _told(self, request: Request, route: Route, params: Mapping[str, str], now_ms: int) -> Response:
        """The answer, as the lies in force have it."""

        def handle(world: World, asked_for: Request, named: Mapping[str, str], at_ms: int) -> Response:
            return self._answered(asked_for, route, named, world=world, now_ms=at_ms)

        if self.lies.empty:
            return handle(self._world, request, params, now_ms)
        asked = Asked(
            request=request,
            route=route,
            params=params,
            world=self._world,
            now_ms=now_ms,
            later=self.lies.later,
            again=lambda world, at_ms: _ignored(handle(world, request, params, at_ms)),
        )
        told = self.lies.told(asked)
        return tell(told, asked, handle) if told else handle(self._world, request, params, now_ms)

    def _answered(
        self, request: Request, route: Route, params: Mapping[str, str], *, world: World, now_ms: int
    ) -> Response:
        try:
            return self._handled(request, route, params, world=world, now_ms=now_ms)
        except Refusal as refusal:
            return _refused(request, refusal)
        except Exception as error:
            # A client must not take our bug for the cloud's: 500 with what it was, kept for the stats.
            self.crashes.append("".join(traceback.format_exception(error)))
            body = {"type": "simulator_bug", "message": f"{type(error).__name__}: {error}"}
            return _refused(request, Refusal(500, body))

    def _handled(
        self, request: Request, route: Route, params: Mapping[str, str], *, world: World, now_ms: int
    ) -> Response:
        self._check_place(request, params.get("zone"), params.get("region"))
        call = Call(
            request=request,
            route=route,
            params=params,
            world=world,
            key=self._admit(request, route),
            mint=self.mint,
            timings=self.timings,
            speed=self.speed,
            now_ms=now_ms,
        )
        return as_of(self._world.options.api_date, request, route.handler(call))

    def _admit(self, request: Request, route: Route) -> Key:
        if not route.kind:
            return _NOBODY
        key = key_of(self._world, request)
        check_right(key, route)
        return key

    def _check_place(self, request: Request, zone: str | None, region: str | None) -> None:
        """A zone that does not exist, or a product that a place does not offer, is a 404 for a route."""
        place = zone or region
        product = request.path.split("/")[1]
        unknown = (zone is not None and zone not in ZONES) or (region is not None and region not in REGIONS)
        if unknown or f"{product}/{place}" in self._world.options.absent_products:
            raise not_found("unknown", "")


def _ignored(_response: Response) -> None:
    """Nobody waits for the answer of a request that is carried out late."""


def _refused(request: Request, refusal: Refusal) -> Response:
    if refusal.body is None:
        return Response(status=refusal.status, headers=refusal.headers)
    write = dump_v1 if request.path.startswith("/instance/v1/") else dump
    headers = {"Content-Type": "application/json", **refusal.headers}
    return Response(status=refusal.status, headers=headers, body=write(refusal.body))


def _broken(rule: FaultRule, request: Request) -> Response:
    if rule.action == "refuse":
        return Response(status=0, drop="refused")
    if rule.action == "drop_request":
        return Response(status=0, drop="before")
    body, kind = fault_body(rule, request)
    headers = {} if kind is None else {"Content-Type": kind}
    return Response(status=rule.status, headers={**headers, **rule.headers}, body=body)
