"""The gate of an adoption: reads pass, and a changing call is answered here when it would change nothing.

There is no code that passes a changing call on. What no proof answers gets 409 and is noted; the provider then fails
that resource, and whoever runs the gate takes it out of state again.

The reads of a proof use the headers of the very call that is judged, its token among them, and go past the rules for
the provider's reads: a proof takes a 200 for what is there and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Final

from reconciler.engine.adoption.book import Book
from reconciler.engine.adoption.live import Live, UnreadError
from reconciler.engine.adoption.proofs import ip, ipam, network, nic, placement_group, server, server_after, volume
from reconciler.engine.adoption.proofs.shared import (
    BLOCK,
    INSTANCE,
    INSTANCE_V2,
    SERVER,
    UUID,
    Call,
    NotProvedError,
    Reply,
)
from reconciler.engine.gate import JSON_HEADERS, Answer, Change, Gate
from reconciler.engine.gate_rules import ReadRules, failed_body
from reconciler.model.resources import Kind
from reconciler.ports.engine import Difference

REFUSED_STATUS: Final = 409
_REGION: Final = r"regions/(?P<place>[^/]+)"
_ROUTES: Final[tuple[tuple[str, re.Pattern[str], Callable[[Call], Reply]], ...]] = tuple(
    (method, re.compile(pattern), proof)
    for method, pattern, proof in (
        ("POST", rf"{INSTANCE}/servers", server.create),
        ("POST", rf"{SERVER}/action", server_after.act),
        ("PATCH", rf"{SERVER}/user_data/(?P<key>[^/]+)", server_after.set_user_data),
        ("DELETE", rf"{SERVER}/user_data/(?P<key>[^/]+)", server_after.drop_user_data),
        ("POST", rf"{SERVER}/private_nics", nic.create_v1),
        ("POST", rf"{INSTANCE_V2}/private-network-interfaces", nic.create_v2),
        ("POST", rf"{INSTANCE}/ips", ip.create),
        ("PATCH", rf"{INSTANCE}/ips/(?P<id>{UUID})", ip.update),
        ("POST", rf"{BLOCK}/volumes", volume.create_block),
        ("PATCH", rf"{BLOCK}/volumes/(?P<id>{UUID})", volume.update_block_root),
        ("POST", rf"{INSTANCE}/volumes", volume.create_local),
        ("PATCH", rf"{INSTANCE}/volumes/(?P<id>{UUID})", volume.update_local_root),
        ("POST", rf"{INSTANCE_V2}/placement-groups", placement_group.create),
        ("POST", rf"{INSTANCE}/placement_groups", placement_group.create_v1),
        ("PATCH", rf"{INSTANCE}/placement_groups/(?P<id>{UUID})", placement_group.update_v1),
        ("POST", rf"/vpc/v2/{_REGION}/private-networks", network.create),
        ("POST", rf"/ipam/v1/{_REGION}/ips", ipam.create),
    )
)


class AdoptionGate(Gate):
    """`book`: what is expected, and at the end what came of it."""

    reads_bodies: ClassVar[bool] = True

    def __init__(self, upstream: str, book: Book, *, verify: bool = True) -> None:
        super().__init__(upstream, ReadRules(), verify=verify)
        self._book = book
        self._headers: tuple[tuple[str, str], ...] = ()

    def change(self, call: Change) -> Answer:
        """See the base class. Answers 409 to what is not proved."""
        self.tally.refuse(call.method)
        try:
            reply = self._prove(call)
        except NotProvedError as error:
            self._book.refuse(error.differences)
            return REFUSED_STATUS, JSON_HEADERS, failed_body("this call would change the cloud, or may")
        except UnreadError as error:
            self._book.note_unread(str(error))
            return REFUSED_STATUS, JSON_HEADERS, failed_body("the inventory could not be read")
        return reply.status, JSON_HEADERS if reply.body else [], reply.body

    def _prove(self, call: Change) -> Reply:
        live = Live(lambda path: self._read(path, call.headers))
        for method, pattern, proof in _ROUTES:
            found = pattern.fullmatch(call.target)  # a call with a query is none that we know
            if method == call.method and found is not None and call.body is not None:
                reply = proof(Call(call.method, call.target, found.groupdict(), call.body, live, self._book))
                self._headers = call.headers
                return reply
        path = call.target.partition("?")[0]
        raise NotProvedError(
            [
                Difference(
                    urn="", path=f"{call.method} {path}", program="a call that cannot be proved", cloud="no answer"
                )
            ]
        )

    def _read(self, path: str, headers: tuple[tuple[str, str], ...]) -> tuple[int, bytes]:
        # What describes the body of the call would be wrong on a read.
        sent = [(name, value) for name, value in headers if name.lower() not in ("content-type", "expect")]
        status, _, body = self._ask(path, sent)
        return status, body

    def settle(self) -> None:
        """After the child has ended, if nothing was refused: note every target that no call met, and what is on a
        server that is not the program's. Reads with the token of the last call that was answered."""
        if self._book.differences or self._book.unread:
            return  # one refusal keeps others from being asked for
        self._book.refuse(
            Difference(urn=item.urn, path="", program="no create that was answered", cloud=str(item.ref))
            for item in self._book.unanswered()
        )
        live = Live(lambda path: self._read(path, self._headers))
        for item in self._book.answered(Kind.SERVER):
            keys = self._book.user_data(item.ref.id)
            try:
                self._book.refuse(server_after.left_over(live, item, set_keys=keys, known_nics=self._book.nics))
            except UnreadError as error:
                self._book.note_unread(str(error))
