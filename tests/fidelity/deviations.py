"""Where the simulator is known to differ from the recordings, and why: each class with its reason and its bound.

A class is a reason, not a place for what is left over: it names the difference exactly, and an answer with any other
difference beside it is not in it. A difference that no class names is unexplained, and none is allowed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tests.fidelity.replay import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """Exchanges of `route` all of whose differences match `pattern`; at most `bound` of them."""

    name: str
    reason: str
    route: str
    pattern: str
    bound: int

    def explains(self, outcome: Outcome) -> bool:
        same = outcome.route == self.route
        return same and all(re.fullmatch(self.pattern, text) for text in outcome.differences)


DEVIATIONS: Final = (
    Deviation(
        name="environmental estimates",
        reason="grams of CO2 and litres of water per offer are in no published list; the simulator has no figure",
        route="/product-catalog/v2alpha1/public-catalog/products",
        pattern=r"products\[\]: -environmental_impact_estimation",
        bound=2,
    ),
    Deviation(
        name="moment at which a node is found",
        reason="somewhere while `starting` a server gets its location; when, differs from server to server",
        route="/instance/v1/zones/{zone}/servers/{server}",
        pattern=r"server\.location: (an object here null|null here an object)",
        bound=1,
    ),
    Deviation(
        name="reference that outlives its image",
        reason="a block snapshot shows a deleted image for less than six seconds (one recording); here it goes at once",
        route="/block/v1alpha1/zones/{zone}/snapshots/{snapshot}",
        pattern=r"references: items here empty",
        bound=1,
    ),
    Deviation(
        name="consequence of a call that was not replayed",
        reason="an attach whose body the recording lost: the volume is put there attached, not on its way",
        route="/instance/v1/zones/{zone}/servers/{server}",
        pattern=r"server\.allowed_actions: empty here items",
        bound=1,
    ),
)


def classify(outcomes: Iterable[Outcome]) -> tuple[Counter[str], list[Outcome]]:
    """(class -> how many, those that no class explains)."""
    counts, unexplained = Counter[str](), list[Outcome]()
    for outcome in outcomes:
        found = next((item.name for item in DEVIATIONS if item.explains(outcome)), None)
        if found is None:
            unexplained.append(outcome)
        else:
            counts[found] += 1
    return counts, unexplained
