"""Scaleway over HTTP: what is there, what is proved gone, and the one door to destruction.

The room is a stack of small parts. `transport` sends one bounded request, `retry` and `limiter` say when; `kinds`
knows paths and shapes; `paging` proves that a list was read whole; `rights` proves that the list may be believed;
`proofs` joins both with a GET by id; `tags` writes tags; `destroy` alone destroys. `client.ScalewayCloud` is the port
`reconciler.ports.cloud.Cloud`.

Importing this package costs nothing: httpx2 and pydantic come with the first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reconciler.cloud.client import ScalewayCloud
    from reconciler.cloud.credentials import Credentials, load_credentials

__all__ = ["Credentials", "ScalewayCloud", "load_credentials"]


def __getattr__(name: str) -> object:
    if name == "ScalewayCloud":
        from reconciler.cloud.client import ScalewayCloud

        return ScalewayCloud
    if name in ("Credentials", "load_credentials"):
        from reconciler.cloud import credentials

        return getattr(credentials, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
