"""The one door to destruction.

Nothing else in the product sends a DELETE, a terminate or anything of that effect, and an architecture test holds it.
The door opens for one id at a time, named by a `Warrant` that the store made after its transaction was committed, and
only after a look at the live object (rule 7):

1. No database transaction is open. 2. The warrant covers the id, and is for this project. 3. A GET a moment ago shows
an object with this id, in the warrant's project. 4. It is not protected: the API itself refuses to terminate a
protected server but deletes a stopped one without a word, so the flag is read here. 5. Nothing outside the warrant
uses it: what is attached elsewhere, or in use by IPAM's word, is refused; what is attached to something in the warrant
waits for that to go.
6. Nothing outside the warrant dies with it: terminate destroys local volumes (l_ssd, scratch), so each must be in the
warrant (also when the server is stopped, and a DELETE would leave them behind); the refusal names those that are not.
SBS volumes and IPs survive a server and are not looked at here; NICs have no life without one.

Then exactly one request, never a second. An answer that cannot be read as done, not done, or "ask again" raises
CloudError with the effect unknown; the caller repeats the whole of this, which looks at the world first. None of the
answers means that the thing is gone: that is for `proofs`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from reconciler.cloud import probing
from reconciler.cloud.answers import Answer, is_typed_404, read_refusal
from reconciler.cloud.holders import Hold, hold_of
from reconciler.cloud.kinds import SPECS
from reconciler.cloud.scanning import scan
from reconciler.cloud.transport import Api
from reconciler.kernel.errors import CloudError, RefusedError
from reconciler.kernel.guards import assert_outside_transaction
from reconciler.model.inventory import Presence, Scan
from reconciler.model.resources import Ip, IpamAddress, Kind, Other, Ref, Resource, Server, region_of
from reconciler.model.warrant import DestroyAnswer, Destroyed, Warrant

_SHARED: Final = frozenset({Kind.SECURITY_GROUP, Kind.PLACEMENT_GROUP, Kind.PRIVATE_NETWORK})
_RUNS: Final = frozenset({"running", "stopped in place"})
_MOVES: Final = frozenset({"starting", "stopping"})


def destroy(api: Api, warrant: Warrant, ref: Ref, *, project: str) -> Destroyed:
    """Send the one destructive request for `ref`, or say why not.

    Raises RefusedError RC0410 (the warrant does not cover it, or is for another project); CloudError RC0411 (not
    readable before, or what may use it is not; nothing was sent), RC0412 (the effect is unknown) or RC0413 (the
    API said no).
    """
    assert_outside_transaction(f"destroy {ref}")
    if not warrant.covers(ref) or warrant.project != project:
        raise RefusedError(
            f"the warrant of deletion {warrant.deletion_id} does not cover {ref} in this project", code="RC0410"
        )
    if ref.kind in _SHARED:
        return _refused(ref, f"a {ref.kind.value.replace('_', ' ')} is shared and is never destroyed")
    seen = probing.look(api, ref)
    if seen.probe.presence is Presence.ABSENT:
        return Destroyed(ref=ref, answer=DestroyAnswer.ALREADY_GONE, text="a typed 404 by id", status=404)
    live = seen.probe.resource
    if live is None or seen.path is None:
        raise CloudError(
            f"{ref} could not be read, so it is not destroyed: {seen.probe.reason}",
            code="RC0411",
            hint="Nothing was sent; the deletion stays open and is tried again.",
        )
    if live.project != warrant.project:
        return _refused(ref, "it belongs to another project")
    if isinstance(live, Server):
        return _destroy_server(api, warrant, ref, live, seen.path)
    verdict = _holder_verdict(api, warrant, ref, live) or _booking_verdict(api, warrant, ref, live)
    return verdict or _send(api, ref, "DELETE", seen.path, None)


def _destroy_server(api: Api, warrant: Warrant, ref: Ref, live: Server, path: str) -> Destroyed:
    if live.protected:
        return _refused(ref, "it is protected")
    if live.state == "locked":
        return _refused(ref, "it is locked by Scaleway; their support must unlock it")
    if live.state in _MOVES:
        return _moving(ref, f"it is {live.state}")
    missing = sorted(
        slot.id
        for slot in live.volumes
        if slot.kind is Kind.INSTANCE_VOLUME and not warrant.covers(Ref(slot.kind, ref.zone, slot.id))
    )
    if missing:
        return _refused(ref, f"its local volumes {', '.join(missing)} are not in the warrant")
    if live.state in _RUNS:
        return _send(api, ref, "POST", f"{path}/action", json.dumps({"action": "terminate"}).encode())
    if live.state == "stopped":
        return _send(api, ref, "DELETE", path, None)
    return _moving(ref, "its state is not one that this version knows")


def _holder_verdict(api: Api, warrant: Warrant, ref: Ref, live: Resource) -> Destroyed | None:
    """None when nothing holds the object."""
    hold = hold_of(live)
    if hold.refused is not None:
        return _refused(ref, hold.refused)
    covered = {other.id: other for other in warrant.refs if other != ref}
    strangers = [holder for holder in hold.ids if holder not in covered]
    if strangers:
        return _refused(ref, f"it is in use by {', '.join(strangers)}, outside the warrant")
    still = _still_there(api, hold, covered)
    if still is not None:
        return _moving(ref, f"it is attached to {still}, which is not gone yet")
    if hold.moving is not None:
        return _moving(ref, hold.moving)
    if ref.kind is Kind.SNAPSHOT:
        return _under_image(api, warrant, ref)
    return None


def _booking_verdict(api: Api, warrant: Warrant, ref: Ref, live: Resource) -> Destroyed | None:
    """The Instance API knows of servers alone; that a gateway or a load balancer has an address is in IPAM."""
    if not isinstance(live, Ip) or live.ipam_id is None:
        return None
    seen = probing.look(api, Ref(Kind.IPAM, region_of(ref.zone), live.ipam_id))
    probe = seen.probe
    if probe.presence is Presence.UNKNOWN and seen.offered:
        raise CloudError(
            f"{ref} is not destroyed: whether something uses it is not known ({probe.reason})",
            code="RC0411",
            hint="Nothing was sent; the deletion stays open and is tried again.",
        )
    booking = probe.resource
    if not isinstance(booking, IpamAddress) or not booking.used:
        return None
    if booking.resource_id in {other.id for other in warrant.refs}:
        return None
    return _refused(ref, f"IPAM has it in use by {booking.resource_type} {booking.resource_id}, outside the warrant")


def _still_there(api: Api, hold: Hold, covered: dict[str, Ref]) -> Ref | None:
    """The first holder in the warrant that the API does not deny by a typed 404."""
    for holder in hold.ids:
        if probing.look(api, covered[holder]).probe.presence is not Presence.ABSENT:
            return covered[holder]
    return None


def _under_image(api: Api, warrant: Warrant, ref: Ref) -> Destroyed | None:
    """A snapshot looks free while an image boots from it, so the images are read first."""
    images: Scan = scan(api, Kind.IMAGE, ref.zone, project=warrant.project)
    users = [image for image in _images(images.items) if ("snapshot", ref.id) in image.details]
    strangers = [image.id for image in users if not warrant.covers(image.ref)]
    if strangers:
        return _refused(ref, f"it is under the images {', '.join(strangers)}, outside the warrant")
    if users:
        return _moving(ref, f"it is under {users[0].ref}, which is not gone yet")
    if not images.complete or not images.offered:
        raise CloudError(
            f"{ref} is not destroyed: whether an image uses it is not known ({images.reason})",
            code="RC0411",
            hint="Nothing was sent; the deletion stays open and is tried again.",
        )
    return None


def _images(items: Iterable[Resource]) -> Iterable[Other]:
    return (item for item in items if isinstance(item, Other))


def _send(api: Api, ref: Ref, method: str, path: str, body: bytes | None) -> Destroyed:
    answer = api.send(method, path, body=body)
    if answer.ok:
        return _done(ref, answer, DestroyAnswer.ACCEPTED, "accepted")
    if any(is_typed_404(answer, words=source.words, resource_id=ref.id) for source in SPECS[ref.kind].gets):
        return _done(ref, answer, DestroyAnswer.ALREADY_GONE, "a typed 404 by id")
    refusal = read_refusal(answer)
    if refusal.type == "transient_state":
        return _done(ref, answer, DestroyAnswer.IN_TRANSITION, answer.told())
    if refusal.type == "locked" or refusal.precondition == "protected_resource":
        return _done(ref, answer, DestroyAnswer.REFUSED, answer.told())
    if refusal.type == "precondition_failed":
        # Something came between the look and the call, or lags behind it; the next look says what.
        return _done(ref, answer, DestroyAnswer.IN_TRANSITION, answer.told())
    return _raise(ref, answer)


def _raise(ref: Ref, answer: Answer) -> Destroyed:
    request = f" (request {answer.request_id})" if answer.request_id else ""
    said_no = (
        answer.fault is None
        and answer.status is not None
        and 400 <= answer.status < 500
        and answer.status not in (404, 408)
    )
    if said_no or not answer.sent:
        raise CloudError(
            f"{ref} was not destroyed: {answer.told()}{request}",
            code="RC0413",
            hint="The deletion stays open and is tried again.",
        )
    raise CloudError(
        f"whether {ref} is being destroyed is not known: {answer.told()}{request}",
        code="RC0412",
        hint="The request was sent once and is not repeated blindly; the next attempt looks at the object first.",
    )


def _done(ref: Ref, answer: Answer, what: DestroyAnswer, text: str) -> Destroyed:
    return Destroyed(ref=ref, answer=what, text=text, status=answer.status, request_id=answer.request_id)


def _refused(ref: Ref, text: str) -> Destroyed:
    return Destroyed(ref=ref, answer=DestroyAnswer.REFUSED, text=text)


def _moving(ref: Ref, text: str) -> Destroyed:
    return Destroyed(ref=ref, answer=DestroyAnswer.IN_TRANSITION, text=text)
