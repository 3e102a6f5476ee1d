"""Writing tags, without losing anybody's.

PATCH replaces the whole list and there is no etag, so the list is read again first and refused when it is no longer
what the caller decided on (RC0420). A tag that is not ours is never dropped, whatever the caller asks (RC0421).
Afterwards the list is read back: what counts is what the API shows, not what it answered.

A PATCH without a clear answer (none, 429, 5xx) is not sent again blindly: the read tells whether it took effect. Still
the old list: one more try, three in all. Another list: somebody else wrote, RC0420. Between our read and our PATCH a
stranger's write can still be lost, for the length of one request; the API offers nothing against it.
"""

from __future__ import annotations

import json
from typing import Final

from reconciler.cloud import probing
from reconciler.cloud.answers import Answer
from reconciler.cloud.retry import retryable
from reconciler.cloud.transport import Api
from reconciler.kernel.errors import CloudError, RefusedError
from reconciler.kernel.randomness import Randomness
from reconciler.model.inventory import Presence
from reconciler.model.resources import Ref, Resource

OWN_TAG: Final = "reconciler"
_TRIES: Final = 3
_PAUSE_SECONDS: Final = 2.0


def is_own(tag: str) -> bool:
    """Whether a tag is one of those that this product writes: `reconciler` or `reconciler:…`, exactly so."""
    return tag == OWN_TAG or tag.startswith(f"{OWN_TAG}:")


def set_tags(
    api: Api,
    ref: Ref,
    tags: tuple[str, ...],
    *,
    expected: tuple[str, ...],
    project: str,
    randomness: Randomness,
) -> Resource:
    """Replace the tags of one object and return it as read back.

    Raises CloudError RC0420 (no longer the expected list), RC0422 (not read), RC0423 (the API did not do it) or RC0424
    (it answered 2xx, and the tags are not there); RefusedError RC0421 (would drop a stranger's tag) or RC0425 (another
    project's object).
    """
    _refuse_loss(ref, tags, expected)
    live, path = _read(api, ref, project=project)
    answer: Answer | None = None
    for tried in range(_TRIES + 1):
        if _same(live.tags, tags):
            return live
        if answer is not None and answer.ok:
            raise CloudError(
                f"{ref}: the API accepted the tags and does not show them",
                code="RC0424",
                hint="The list may lag; the next sweep looks again.",
            )
        if not _same(live.tags, expected):
            raise CloudError(
                f"{ref}: somebody else changed its tags meanwhile",
                code="RC0420",
                hint="Its tags are left as they are; the next sweep decides anew.",
            )
        refused = answer is not None and answer.fault is None and not retryable(answer.status)
        if refused or tried == _TRIES:
            break
        answer = api.send("PATCH", path, body=json.dumps({"tags": list(tags)}).encode())
        if not answer.ok:
            api.clock.sleep(randomness.uniform(0.0, _PAUSE_SECONDS))
        # The read follows every answer, clear or not, and comes right before the next try: it alone says what is there.
        live, path = _read(api, ref, project=project)
    raise CloudError(
        f"{ref}: its tags were not written: {'' if answer is None else answer.told()}",
        code="RC0423",
        hint="The tags are as they were.",
    )


def _refuse_loss(ref: Ref, tags: tuple[str, ...], expected: tuple[str, ...]) -> None:
    dropped = [tag for tag in expected if tag not in tags and not is_own(tag)]
    if dropped:
        raise RefusedError(
            f"{ref}: the new tags would drop {len(dropped)} that are not ours",
            code="RC0421",
            hint="Only tags that start with `reconciler` are ever removed.",
        )


def _read(api: Api, ref: Ref, *, project: str) -> tuple[Resource, str]:
    seen = probing.look(api, ref)
    probe = seen.probe
    if probe.presence is not Presence.PRESENT or probe.resource is None or seen.path is None:
        raise CloudError(
            f"{ref} could not be read, so its tags are not written: {probe.reason or probe.presence.value}",
            code="RC0422",
            hint="Tags are written only on what was read a moment before.",
        )
    if probe.resource.project != project:
        raise RefusedError(f"{ref} belongs to another project", code="RC0425")
    return probe.resource, seen.path


def _same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    # The API may keep or change the order and drops doubles; the set is what tags mean.
    return set(one) == set(other)
