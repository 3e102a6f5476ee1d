"""Faults that happen to volumes: block volumes and the Instance API's local ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.e2e.equivalence_parts.draft import Draft


def _used(draft: Draft, volume: str) -> None:
    """Half of the volumes are attached."""
    if draft.random.random() < 0.5:
        draft.server(additional_volume_ids=[draft.ref(volume)])


def deleted(draft: Draft) -> None:
    draft.happens("delete_volume", volume=f"${draft.volume()}")


def edited(draft: Draft, *, path: str, change: Mapping[str, Any]) -> None:
    volume = draft.volume(**draft.ignoring(path))
    _used(draft, volume)
    draft.happens("edit", kind="block_volume", id=f"${volume}", set=dict(change))


def _holder(draft: Draft, volumes: Sequence[str], name: str = "server") -> str:
    return draft.server(
        name, additional_volume_ids=[draft.ref(one) for one in volumes], **draft.ignoring("additionalVolumeIds")
    )


def detached(draft: Draft) -> None:
    volume = draft.volume()
    _holder(draft, [volume])
    draft.happens("detach_volume", volume=f"${volume}")


def moved(draft: Draft) -> None:
    volume = draft.volume()
    _holder(draft, [volume])
    other = draft.server("other", volume=False, **draft.ignoring("additionalVolumeIds"))
    draft.happens("detach_volume", volume=f"${volume}")
    draft.happens("attach_volume", volume=f"${volume}", server=f"${other}")


def attached(draft: Draft) -> None:
    volume = draft.volume()
    server = draft.server(volume=False, **draft.ignoring("additionalVolumeIds"))
    draft.happens("attach_volume", volume=f"${volume}", server=f"${server}")


def order(draft: Draft) -> None:
    server = _holder(draft, [draft.volume("first"), draft.volume("second")])
    draft.happens("swap_volumes", server=f"${server}")


def local(draft: Draft, *, ignore: Sequence[str] = (), **touched: Any) -> str:
    args = {"type": "l_ssd", "size_in_gb": 10, "tags": ["t0"], "name": f"{draft.prefix}-local"}
    return draft.add("local_volume", "local", ignore=ignore, **{**args, **touched})


def local_deleted(draft: Draft) -> None:
    draft.happens("delete_volume", volume=f"${local(draft)}")


def local_grown(draft: Draft) -> None:
    volume = local(draft, **draft.ignoring("sizeInGb"))
    draft.happens("edit", kind="volume", id=f"${volume}", set={"size": 20_000_000_000})
