"""Creates that fail half-way, at each step of making a worker, and what they leave behind.

Out of stock was seen to leave the address of the create that failed, at every retry (incident M13: 54 of them). A
volume, a stopped server or a booked private address can be what is left just as well: no create here is atomic, and
the one who asked is told only that it failed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from reconciler.kernel.randomness import Randomness
from reconciler.simulator.lies.asked import Asked
from reconciler.simulator.lies.behaviour import Behaviour, LieKind
from reconciler.simulator.lies.journal import Journal
from reconciler.simulator.lies.keys import Key
from reconciler.simulator.lies.refusals import refusal_response
from reconciler.simulator.lies.restore import put_back
from reconciler.simulator.records import Nic
from reconciler.simulator.wire import Refusal, Response, out_of_stock, quota_exceeded
from reconciler.simulator.world import World

STEPS: Final = ("ip", "volume", "server", "power_on", "nic", "user_data")
LEAVES: Final = ("server", "ip", "volume", "block_volume", "private_nic", "ipam_ip")


class _Fails(Behaviour):
    def concerns(self, asked: Asked) -> bool:
        return asked.step == self.lie.text("step")

    def outcome(self, asked: Asked, dice: Randomness, response: Response, journal: Journal) -> Response:
        """A request that is refused anyway keeps its own refusal."""
        if response.status >= 300:
            return response
        made = [record for kind, record in journal.created() if kind in self._left()]
        journal.undo()
        _leave(asked.world, made)
        return refusal_response(asked, _refusal(self.lie.text("reason"), asked))

    def _left(self) -> frozenset[str]:
        """An address comes with its entry in IPAM, or the worlds would disagree about it."""
        words = set(self.lie.words("leaves"))
        return frozenset(words | ({"ipam_ip"} if "ip" in words else set()))


def _leave(world: World, made: list[Any]) -> None:
    """Put back what stays, without what it pointed at and does not stay. Nothing about it is under way any more."""
    settled = [replace(item, state="available") if isinstance(item, Nic) else item for item in made]
    put_back(world, settled)


def _refusal(reason: str, asked: Asked) -> Refusal:
    if reason == "stock":
        return out_of_stock(_stock_word(asked))
    if reason == "quota":
        return quota_exceeded(asked.kind or asked.step, current=25, quota=25)
    if reason == "quota_v1":
        body = {
            "type": "invalid_request_error",
            "message": "Quota exceeded for this resource.",
            "resource": f"compute_{asked.kind}s_available",
        }
        return Refusal(403, body)
    return Refusal(500, {"message": "internal error", "type": "internal"})


def _stock_word(asked: Asked) -> str:
    server = asked.world.servers.get(asked.target)
    named = asked.sent("commercial_type") or asked.sent("server_type")
    return str(named or ("server" if server is None else server.commercial_type))


def _check(lie: Any) -> str:
    step, leaves = lie.text("step"), set(lie.words("leaves"))
    possible = {
        "ip": {"ip", "ipam_ip"},
        "volume": {"volume", "block_volume"},
        "server": {"server", "ip", "ipam_ip", "volume", "block_volume"},
        "nic": {"private_nic", "ipam_ip"},
    }.get(step, set())
    if strange := sorted(leaves - possible):
        return f"the step {step} makes no {strange[0]} that could be left"
    return ""


KINDS: Final = (
    LieKind(
        name="create_fails",
        summary="a step of a create fails for want of stock or quota, and leaves a part of itself behind",
        keys={
            "step": Key(type="choice", default="server", choices=STEPS, doc="which", samples=STEPS),
            "reason": Key(
                type="choice",
                default="stock",
                choices=("stock", "quota", "quota_v1", "internal"),
                doc="412 out_of_stock, 403 quotas_exceeded, 403 as v1 said it, or 500",
                samples=("stock", "quota", "quota_v1", "internal"),
            ),
            "leaves": Key(
                type="choices", default=(), choices=LEAVES, doc="what of it exists afterwards, though it failed"
            ),
        },
        build=_Fails,
        changes=True,
        check=_check,
    ),
)
