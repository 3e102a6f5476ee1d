"""What the provider does to a server after it has created it: user data, power. And what must be on it at the end."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote, unquote

from reconciler.engine.adoption.comparison import Comparison
from reconciler.engine.adoption.expectation import Expectation
from reconciler.engine.adoption.live import Live
from reconciler.engine.adoption.proofs import server
from reconciler.engine.adoption.proofs.shared import Call, NotProvedError, Reply
from reconciler.model.resources import Kind
from reconciler.ports.engine import Difference

# The machine writes this key itself at its first boot, and the provider's own diff passes over it.
_OWN_KEYS: Final = frozenset({"ssh-host-fingerprints"})
_STATE_AFTER: Final = {"poweron": "running", "poweroff": "stopped", "stop_in_place": "stopped in place"}
# What programs call these states.
_SPOKEN: Final = {"running": "started", "stopped in place": "standby"}
_TASK: Final = "00000000-0000-0000-0000-000000000000"


def set_user_data(call: Call) -> Reply:
    """`PATCH .../user_data/{key}`: answered when the value, byte for byte, is there already."""
    item, key = call.target(Kind.SERVER), unquote(call.parts["key"])
    found = call.live.raw(f"{server.path_of(item)}/user_data/{quote(key, safe='')}")
    if found != call.raw:
        comparison = Comparison(item)
        comparison.differ(_property(item, key), "a value", "another" if found is not None else None)
        raise NotProvedError(comparison.differences)
    call.book.note_user_data(item.ref.id, key)
    return Reply(204)


def drop_user_data(call: Call) -> Reply:
    """`DELETE .../user_data/{key}` of a key that the program does not have: answered when it is not there.

    The provider deletes all keys that the program does not declare, in a create too. A key that the machine has made
    itself stays where it is, and the answer says that all is well: the provider never looks at that key again.
    """
    item, key = call.target(Kind.SERVER), unquote(call.parts["key"])
    present = call.live.raw(f"{server.path_of(item)}/user_data/{quote(key, safe='')}") is not None
    if present and key not in _OWN_KEYS:
        raise NotProvedError([_extra_key(item, key)])
    return Reply(204)


def act(call: Call) -> Reply:
    """`POST .../action`: answered when the server already is in the state that the action leads to."""
    item, body = call.target(Kind.SERVER), call.body()
    found = server.read(call.live, item)
    comparison = Comparison(item)
    comparison.only(body, {"action"})
    wanted = _STATE_AFTER.get(str(body.get("action")))
    state = None if found is None else str(found.get("state"))
    if wanted is None or state != wanted:
        says = _SPOKEN.get(wanted, wanted) if wanted is not None else body.get("action")
        comparison.differ("state", says, None if state is None else _SPOKEN.get(state, state))
    if comparison.differences:
        raise NotProvedError(comparison.differences)
    return Reply.json(202, {"task": _task(item)})


def _task(item: Expectation) -> dict[str, Any]:
    """The kind of task that the API answers with; nobody can ask what became of it."""
    return {
        "id": _TASK,
        "description": "fake task",
        "status": "pending",
        "href_from": f"/servers/{item.ref.id}/action",
        "href_result": f"/servers/{item.ref.id}",
        "started_at": None,
        "terminated_at": None,
        "progress": 0,
        "zone": item.ref.zone,
    }


def _property(item: Expectation, key: str) -> str:
    if key == "cloud-init" and item.inputs.get("cloudInit") is not None:
        return "cloudInit"
    return f"userData[{json.dumps(key)}]"


def _extra_key(item: Expectation, key: str) -> Difference:
    return Difference(urn=item.urn, path=_property(item, key), program="nothing", cloud="a value")


def left_over(live: Live, item: Expectation, *, set_keys: frozenset[str], known_nics: set[str]) -> list[Difference]:
    """What is on a server and did not come from the program: user data and private NICs.

    Neither shows in a preview, for the provider does not look for more than the program names; but the program would
    not have made this machine. Raises UnreadError.
    """
    keys = live.get(f"{server.path_of(item)}/user_data").get("user_data")
    present = {key for key in keys if isinstance(key, str)} if isinstance(keys, list) else set()
    found = [_extra_key(item, key) for key in sorted(present - set_keys - _OWN_KEYS)]
    nics = (server.read(live, item) or {}).get("private_nics") or []
    for nic in nics:
        if isinstance(nic, dict) and nic.get("id") not in known_nics:
            network = f"private NIC {nic.get('id')} in private network {nic.get('private_network_id')}"
            found.append(Difference(urn=item.urn, path="privateNetworks", program="nothing", cloud=network))
    return found
