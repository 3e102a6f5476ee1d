"""Which API the gate stands before, and whether it can stand before it at all.

The provider resolves its API URL as: default < active profile < explicit provider < `SCW_API_URL`. The gate takes the
last place, so it has to find out what would have been there. A provider that the gate cannot stand before would read
past it, and a 403 there would take resources out of state; then the refresh is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from reconciler.engine.checkpoint import Checkpoint
from reconciler.kernel.errors import RefusedError
from reconciler.model.state import StateResource

DEFAULT_URL: Final = "https://api.scaleway.com"
_PROVIDER: Final = "pulumi:providers:scaleway"
# Modules whose reads all go to the one API. Object Storage, for one, has endpoints and a protocol of its own.
_MODULES: Final = ("scaleway:instance/", "scaleway:block/", "scaleway:network/", "scaleway:ipam/")


def upstream(checkpoint: Checkpoint, urns: Collection[str], *, env: Mapping[str, str], default: str) -> str:
    """The API URL behind the gate for reads of `urns`. Raises RefusedError RC0614."""
    providers = _providers(checkpoint, _wanted(checkpoint, urns))
    for provider in providers:
        if provider.inputs.get("endpoints"):
            raise _refused(f"{provider.urn} sets endpoints of its own")
    if env.get("SCW_API_URL"):
        return env["SCW_API_URL"]
    urls = {_url(provider, default) for provider in providers}
    if len(urls) > 1:
        raise _refused(f"the providers of these resources use several API URLs ({', '.join(sorted(urls))})")
    return next(iter(urls), default)


def require_gated(checkpoint: Checkpoint, urns: Collection[str]) -> None:
    """Each of `urns` is of a type that is read through the one API. Raises RefusedError RC0614."""
    for item in _wanted(checkpoint, urns):
        if not item.type.startswith(_MODULES):
            raise _refused(f"{item.urn} is of type {item.type}, which is not read through Scaleway's API alone")


def _wanted(checkpoint: Checkpoint, urns: Collection[str]) -> list[StateResource]:
    wanted = frozenset(urns)
    return [item for item in checkpoint.resources if item.urn in wanted and not item.pending_delete]


def _providers(checkpoint: Checkpoint, resources: Iterable[StateResource]) -> list[StateResource]:
    wanted = {item.provider for item in resources}
    return [item for item in checkpoint.resources if item.type == _PROVIDER and f"{item.urn}::{item.id}" in wanted]


def _url(provider: StateResource, default: str) -> str:
    url = provider.inputs.get("apiUrl")
    return url if isinstance(url, str) and url else default


def _refused(why: str) -> RefusedError:
    return RefusedError(
        f"no gated refresh: {why}",
        code="RC0614",
        hint="Refresh it by hand after a look at `pulumi refresh --preview-only`: reading past the gate could take "
        "what a token may not see for gone.",
    )
