"""One cassette against a simulator of its own, from the first exchange to the last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from reconciler.kernel.clock import VirtualClock
from reconciler.kernel.randomness import SeededRandomness
from reconciler.simulator import SECRET_KEY, Key, Request, Response, Simulator, World, WorldOptions, rate_limited
from reconciler.simulator.catalog import SCALEWAY_ORGANIZATION
from reconciler.simulator.rooms import ROUTES
from reconciler.simulator.routing import Router
from tests.fidelity.cassettes import Cassette, Exchange
from tests.fidelity.compare import differences, words
from tests.fidelity.durations import timings
from tests.fidelity.existing import Existing
from tests.fidelity.translate import Translation

_ROUTER: Final = Router(ROUTES)
Verdict = Literal["agrees", "differs", "not served", "body lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one exchange. `route`: the template that served it, or the recorded path where none does."""

    cassette: Cassette
    exchange: Exchange
    verdict: Verdict
    route: str
    differences: tuple[str, ...] = ()
    words_same: int = 0
    words: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    outcomes: tuple[Outcome, ...] = field(repr=False)
    before: tuple[str, ...]
    elsewhere: tuple[str, ...]
    crashes: tuple[str, ...]


def replay(cassette: Cassette) -> Replayed:
    simulator = Simulator(
        _world(cassette), clock=VirtualClock(start_ms=cassette.begins_ms - 1), randomness=SeededRandomness(7)
    )
    names = Translation()
    existing = Existing(cassette, simulator, names)
    outcomes = [_one(cassette, index, simulator, names, existing) for index in range(len(cassette.exchanges))]
    return Replayed(
        outcomes=tuple(outcomes),
        before=tuple(existing.before),
        elsewhere=tuple(existing.elsewhere),
        crashes=tuple(simulator.crashes),
    )


def _one(cassette: Cassette, index: int, simulator: Simulator, names: Translation, existing: Existing) -> Outcome:
    exchange = cassette.exchanges[index]
    simulator.clock.sleep((exchange.at_ms - simulator.clock.now_ms()) / 1000)
    template = _route(exchange)
    if template is None or exchange.body_lost:
        existing.not_replayed(exchange)
        verdict: Verdict = "not served" if template is None else "body lost"
        return Outcome(cassette=cassette, exchange=exchange, verdict=verdict, route=template or exchange.path)
    existing.seed(exchange)
    _set_date(simulator, exchange)
    request = Request(
        method=exchange.method,
        path=names.text(exchange.path),
        query=names.query(exchange.query),
        headers={"X-Auth-Token": SECRET_KEY},
        body=names.text(exchange.sent).encode(),
    )
    if exchange.rate_limited:
        simulator.faults.add(rate_limited(method=request.method, path=request.path, times=1))
    simulator.timings = timings(cassette.exchanges, index)
    response = simulator.handle(request)
    if response.status == exchange.status and response.body:
        names.learn(exchange.json(), _json(response))
    found = tuple(differences(exchange, response))
    same, compared = words(exchange, response) if exchange.status == response.status else (0, 0)
    return Outcome(
        cassette=cassette,
        exchange=exchange,
        verdict="differs" if found else "agrees",
        route=template,
        differences=found,
        words_same=same,
        words=compared,
    )


def _route(exchange: Exchange) -> str | None:
    found = _ROUTER.match(exchange.method, exchange.path)
    return None if found is None else found[0].template


def _json(response: Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _world(cassette: Cassette) -> World:
    """The recorded organization and project; a key that sees all of it."""
    organization, project = _account(cassette)
    key = Key(secret=SECRET_KEY, projects=None, default_project=project or organization)
    return World(organization=organization, keys=[key])


def _set_date(simulator: Simulator, exchange: Exchange) -> None:
    """Answers get the shapes of the recording's moment."""
    moment = datetime.fromtimestamp(exchange.at_ms / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S")
    with simulator.editing() as world:
        world.options = WorldOptions(api_date=moment)


def _account(cassette: Cassette) -> tuple[str, str]:
    texts = list(_texts(cassette))
    organization = next((value for name, value in texts if name.startswith("organization")), "")
    project = next((value for name, value in texts if name.startswith("project")), organization)
    return organization or project, project


def _texts(cassette: Cassette) -> Iterator[tuple[str, str]]:
    for exchange in cassette.exchanges:
        for name, value in _named(exchange.json()):
            if value != SCALEWAY_ORGANIZATION:
                yield name, value


def _named(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name in {"organization", "organization_id", "project", "project_id"} and isinstance(item, str):
                yield name, item
            else:
                yield from _named(item)
    elif isinstance(value, list):
        for item in value:
            yield from _named(item)
