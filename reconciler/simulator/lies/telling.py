"""One request, and the lies that are told to it, in order.

The first lie that refuses decides, and nothing is executed. Otherwise the request is executed, on a view where it reads
and a lie bends what it sees, with a journal where it writes and a lie is about outcomes. Then each lie may bend the
answer, also a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from reconciler.kernel.randomness import Randomness
from reconciler.simulator.lies.asked import Asked
from reconciler.simulator.lies.behaviour import Behaviour
from reconciler.simulator.lies.journal import Journal
from reconciler.simulator.lies.view import View
from reconciler.simulator.wire import Request, Response
from reconciler.simulator.world import World

Told = Sequence[tuple[Behaviour, Randomness]]
# (the world to look at, the request, the parameters of its path, the time) -> the honest answer
Handle = Callable[[World, Request, Mapping[str, str], int], Response]


def answer(told: Told, asked: Asked, handle: Handle) -> Response:
    response = _refused(told, asked) or _executed(told, asked, handle)
    for behaviour, dice in told:
        response = behaviour.after(asked, dice, response)
    return response


def _refused(told: Told, asked: Asked) -> Response | None:
    for behaviour, dice in told:
        refusal = behaviour.instead(asked, dice)
        if refusal is not None:
            return refusal
    return None


def _executed(told: Told, asked: Asked, handle: Handle) -> Response:
    if asked.reads:
        return _read(told, asked, handle)
    journal = Journal(asked.world)
    with journal.kept():
        response = handle(asked.world, asked.request, asked.params, asked.now_ms)
    for behaviour, dice in told:
        response = behaviour.outcome(asked, dice, response, journal)
    return response


def _read(told: Told, asked: Asked, handle: Handle) -> Response:
    view, request, params = View(asked.world), asked.request, dict(asked.params)
    for behaviour, dice in told:
        behaviour.see(asked, dice, view)
        other = behaviour.redirect(asked, dice)
        if other is not None:
            path = f"{request.path.rstrip('/').rpartition('/')[0]}/{other}"
            request = replace(request, path=path)
            params = {name: other if value == asked.target else value for name, value in params.items()}
    return handle(view.world(), request, params, asked.now_ms)
