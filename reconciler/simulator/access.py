"""Who may call what: 401 for a key that nobody knows, 403 for a right that it lacks.

Without the right to a kind, a list answers 403, or an empty 200 where the key hides it (`Key.hidden`); a call by id
always answers 403.
"""

from __future__ import annotations

from reconciler.simulator.keys import Key
from reconciler.simulator.routing import Route
from reconciler.simulator.wire import Request, denied, unauthenticated
from reconciler.simulator.world import World


def key_of(world: World, request: Request) -> Key:
    """The key of `X-Auth-Token`. Raises the API's 401."""
    secret = request.header("X-Auth-Token")
    if not secret:
        raise unauthenticated("not_found")
    key = world.keys.get(secret)
    if key is None:
        raise unauthenticated("invalid_argument")
    return key


def check_right(key: Key, route: Route) -> None:
    """Raises the API's 403."""
    if route.mutating and (key.read_only or not key.has_right(route.kind)):
        raise denied("write", route.kind)
    if not key.has_right(route.kind) and not (route.listing and route.kind in key.hidden):
        raise denied("read", route.kind)
