"""What a lie does to a request: five places on its way, each of which a kind of lie may use.

`instead` answers without executing. `see` bends what a read sees: the handler is given a view of the world, and the
world itself stays as it is. `redirect` lets a read be about another object. `outcome` is for requests that change
something, after they were carried out and before anybody knows: it may undo them (`Journal.undo`) or keep a part.
`after` bends the answer on its way out.

Each meeting of a lie and a request brings dice of its own (`dice`), thrown from the seed, the lie, the request and how
often that same request has been met. So what one client sees does not depend on who else is asking meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from reconciler.kernel.randomness import Randomness
from reconciler.simulator.lies.asked import Asked
from reconciler.simulator.lies.history import History
from reconciler.simulator.lies.journal import Journal
from reconciler.simulator.lies.keys import Key
from reconciler.simulator.lies.lie import Lie
from reconciler.simulator.lies.view import View
from reconciler.simulator.wire import Response
from reconciler.simulator.world import Change, World

# (the object, its zone, the moment) -> dice where the lie is told about it, None where it is not.
Meet = Callable[[Any, str, int], Randomness | None]


class Behaviour:
    """One lie at work. It may keep what it has seen: one instance lives as long as its lie is set."""

    # How long a history of the world this lie needs, in milliseconds; 0 for none.
    history_ms: int = 0
    # Told about what happens in the world, not about requests.
    of_events: ClassVar[bool] = False

    def __init__(self, lie: Lie) -> None:
        self.lie = lie
        # The book's, shared by all lies; it reaches back as far as the lie that asks for most.
        self.history = History()

    def concerns(self, asked: Asked) -> bool:
        """Whether this kind of lie can be told to such a request at all; `match` is checked beside it."""
        raise NotImplementedError

    def instead(self, asked: Asked, dice: Randomness) -> Response | None:
        return None

    def see(self, asked: Asked, dice: Randomness, view: View) -> None:
        return None

    def redirect(self, asked: Asked, dice: Randomness) -> str | None:
        """The id that the request shall be about instead."""
        return None

    def outcome(self, asked: Asked, dice: Randomness, response: Response, journal: Journal) -> Response:
        return response

    def after(self, asked: Asked, dice: Randomness, response: Response) -> Response:
        return response

    def heard(self, world: World, changes: Sequence[Change], meet: Meet) -> None:
        """What has happened, for lies about events; they change the world here, before anybody looks."""
        return


@dataclass(frozen=True, slots=True, kw_only=True)
class LieKind:
    """A kind of lie: one line that says what it is, its keys beside those of `Match`, and what carries it out.

    `changes` marks the kinds that change what happens (a deletion that stays, a create that fails). All others leave
    the world alone and bend only what is seen of it.
    """

    name: str
    summary: str
    keys: Mapping[str, Key]
    build: Callable[[Lie], Behaviour]
    changes: bool = False
    check: Callable[[Lie], str] = lambda _lie: ""
