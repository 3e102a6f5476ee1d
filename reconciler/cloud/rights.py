"""The right to see a kind, proved instead of assumed.

A list without the right may answer an empty 200 (incident R008), so a list is believed only with a witness. Ids
that another ledger knows are the witnesses: each must be in the list or answer its GET with 200 or a typed 404 under
the same key. Read literally that is one GET per known id; two remarks bound it:

- An id that is in the list needs no GET: it has been answered, and it proves that the list is not blind.
- A right belongs to a project, not to an object, so a lost one shows on the first ids asked. At most `limit` ids are
  asked; when more are missing from the list, the right is at most *assumed*, unless a witness is in the list.

A known id that answers 200 though the list lacks it (and that is of this project and older than the list) refutes the
list: it is not complete, whatever its totals say.

For IPs a 403 by id is no answer either way, because the API is reported to give it for what is gone (incident R009).
It leaves the right proved only beside a positive witness: a known id in the list, one that answers 200, or any address
of the project in the list. A list that shows nothing while known ids answer 403 is blind, not empty.

With no known id the right is *assumed*, and reports say so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from reconciler.model.inventory import Presence, Probe, Right
from reconciler.model.resources import Kind

PROBE_LIMIT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`refuted`: why the list cannot be complete, None when nothing speaks against it."""

    right: Right
    refuted: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRead:
    """What the judgement needs of a list that was read whole."""

    kind: Kind
    project: str
    started_ms: int
    ids: Collection[str]


def judge(
    read: ListRead, known_ids: Collection[str], probe: Callable[[str], Probe], *, limit: int = PROBE_LIMIT
) -> Verdict:
    """Whether the list may be believed. `probe` is one GET by id (or an answer already had), asked in the order of
    `known_ids`."""
    if not known_ids:
        return Verdict(right=Right.ASSUMED)
    known = dict.fromkeys(known_ids)
    missing = [id_ for id_ in known if id_ not in read.ids]
    witness = len(missing) < len(known)
    hidden = 0
    for id_ in missing[:limit]:
        answer = probe(id_)
        if answer.presence is Presence.PRESENT:
            if _refutes(read, answer):
                return Verdict(
                    right=Right.UNKNOWN, refuted=f"{read.kind.value} {id_} answers 200 but is not in the list"
                )
            witness = True
        elif answer.presence is Presence.UNKNOWN and answer.status == 403 and read.kind is Kind.IP:
            hidden += 1
        elif answer.presence is Presence.UNKNOWN:
            return Verdict(
                right=Right.UNKNOWN,
                refuted=f"known {read.kind.value} {id_} gave neither 200 nor a typed 404: {answer.reason}",
            )
    if hidden and not (witness or read.ids):
        return Verdict(
            right=Right.UNKNOWN, refuted=f"{hidden} known ids answer 403 and the list shows nothing: it may be blind"
        )
    return Verdict(right=Right.PROVED if witness or len(missing) <= limit else Right.ASSUMED)


def _refutes(read: ListRead, answer: Probe) -> bool:
    resource = answer.resource
    if resource is None or resource.project != read.project:
        return False
    return resource.created_ms is None or resource.created_ms < read.started_ms
