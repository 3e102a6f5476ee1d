"""Which API the program of a stack talks to, found out before the gate takes its place.

All Scaleway providers count, those in state and those that the program would make, because one environment variable
sends all of them through the gate. What cannot be read plainly refuses: a proof held against another API is no proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from reconciler.engine.adoption.digest import Plan
from reconciler.engine.checkpoint import Checkpoint
from reconciler.kernel.errors import RefusedError
from reconciler.kernel.text import visible

_PROVIDER: Final = "pulumi:providers:scaleway"


def api_url(plan: Plan, state: Checkpoint, settings: Mapping[str, Any], *, env: Mapping[str, str], default: str) -> str:
    """The base URL of the API. Raises RefusedError RC0643."""
    providers = dict(_providers(plan, state))
    for urn, inputs in providers.items():
        if inputs.get("endpoints"):
            raise _refused(f"{visible(urn)} sets endpoints of its own")
    if env.get("SCW_API_URL"):
        return env["SCW_API_URL"]
    urls = {_plain(urn, inputs.get("apiUrl"), default) for urn, inputs in providers.items()}
    config = settings.get("config")
    configured = config.get("scaleway:apiUrl") if isinstance(config, dict) else None
    if configured is not None or not urls:
        urls.add(_plain("scaleway:apiUrl", configured, default))
    if len(urls) > 1:
        raise _refused(f"the program uses several API URLs ({visible(', '.join(sorted(urls)))})")
    return urls.pop()


def _providers(plan: Plan, state: Checkpoint) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for item in state.resources:
        if item.type == _PROVIDER and not item.pending_delete:
            yield item.urn, item.inputs
    for urn, planned in plan.creates.items():
        if planned.create.type == _PROVIDER:
            yield urn, planned.create.inputs


def _plain(where: str, url: object, default: str) -> str:
    if url is None or url == "":
        return default
    if not isinstance(url, str) or "://" not in url:
        raise _refused(f"the API URL in {visible(where)} cannot be read")
    return url


def _refused(why: str) -> RefusedError:
    return RefusedError(
        f"no gated adoption: {why}",
        code="RC0643",
        hint="Set SCW_API_URL to the one API that all of the program's resources are in.",
    )
