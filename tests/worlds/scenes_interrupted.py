"""Operations that a killed run left in a state."""

from __future__ import annotations

from typing import Any, Final

from reconciler.model.finding import ActionKind, FindingKind, Verdict
from tests.worlds.draft import MAIN, PROJECT, SIDE, Draft, Fleet
from tests.worlds.scenes import scene
from tests.worlds.scenes_states import SERVER, machine
from tests.worlds.truth import Interrupted, Rank, Whose

_KINDS: Final = (FindingKind.INTERRUPTED, FindingKind.VACANT, FindingKind.UNTAGGED_CHILD)


def _pending(draft: Draft, fleet: Fleet, slot: int, *, tags: tuple[str, ...]) -> str:
    """A create of a machine that began and never ended."""
    stack, name = draft.stacks[fleet.stack], f"{fleet.name}-{slot}"
    urn = fleet.urn_of(SERVER, name)
    inputs: dict[str, Any] = {
        "name": name,
        "type": "DEV1-S",
        "image": "ubuntu_noble",
        "zone": fleet.zone,
        "tags": list(tags),
        "projectId": PROJECT,
        "state": "started",
        "rootVolume": {"sizeInGb": 10, "sbsIops": 5000},
    }
    resource = {
        "urn": urn,
        "type": SERVER,
        "custom": True,
        "inputs": inputs,
        "provider": f"{stack.provider}::provider-id",
    }
    stack.pending.append({"type": "creating", "resource": resource})
    return urn


def _wait(draft: Draft, urn: str, *found: str) -> None:
    """Nothing is decided while the create may still be carried out."""
    action = ActionKind.NONE
    texts = [draft.text(id_) for id_ in found]
    draft.expect(FindingKind.INTERRUPTED, f"urn {urn}", *texts, verdict=Verdict.WAIT, action=action, rank=Rank.READ)


def _ask(draft: Draft, urn: str, *found: str) -> None:
    texts = [draft.text(id_) for id_ in found]
    draft.expect(
        FindingKind.INTERRUPTED,
        f"urn {urn}",
        *texts,
        verdict=Verdict.ASK,
        action=ActionKind.NONE,
        rank=Rank.READ,
        when="last",
    )


def _made(draft: Draft, fleet: Fleet, name: str, tags: tuple[str, ...]) -> tuple[str, str]:
    worker = draft.server(name, zone=fleet.zone, tags=tags)
    draft.is_(Whose.IN_USE, worker.server, worker.root, retag=bool(tags))
    return worker.server, worker.root


def _build(draft: Draft, stack: str) -> None:
    fleet, what = draft.fleet(1, stack=stack), draft.one_of("made", "made", "nothing", "nothing", "twice", "by name")
    urn, name = _pending(draft, fleet, 0, tags=fleet.tags(0)), f"{fleet.name}-0"
    if not draft.program:
        draft.vacant(fleet, 0, when="first")
    match what:
        case "made":
            server, root = _made(draft, fleet, name, fleet.tags(0))
            _wait(draft, urn, server, root)
            draft.adoptable[stack, urn] = server
            draft.interrupted.append(Interrupted(stack=stack, urn=urn, made=(server,)))
        case "nothing":
            _wait(draft, urn)
            draft.vacant(fleet, 0, when="last")
            draft.interrupted.append(Interrupted(stack=stack, urn=urn, may_clear=True))
        case "twice":
            ids = [*_made(draft, fleet, name, fleet.tags(0)), *_made(draft, fleet, name, fleet.tags(0))]
            _wait(draft, urn, *ids)
            _ask(draft, urn, *ids)
            _unsettled(draft, fleet, urn, ids)
        case _:
            # A stranger's machine of the same name, without our tags: nobody knows.
            server, root = _made(draft, fleet, name, ())
            draft.is_(Whose.STRANGER, server, root)
            _wait(draft, urn, server, root)
            _ask(draft, urn, server, root)
            draft.unmanaged(server, root)
            _unsettled(draft, fleet, urn, [server])


def _unsettled(draft: Draft, fleet: Fleet, urn: str, made: list[str]) -> None:
    draft.interrupted.append(Interrupted(stack=fleet.stack, urn=urn, made=tuple(made)))
    if not draft.program:
        draft.vacant(fleet, 0, when="last")


@scene("interrupted create in ci/prod", *_KINDS, stack=MAIN)
def create_main(draft: Draft) -> None:
    _build(draft, MAIN)


@scene("interrupted create in render/main", *_KINDS, stack=SIDE)
def create_side(draft: Draft) -> None:
    _build(draft, SIDE)


@scene("interrupted update", FindingKind.INTERRUPTED, stack=SIDE)
def update(draft: Draft) -> None:
    """Of what the state holds by its id: cleared, and compared like any other."""
    fleet = draft.fleet(1, stack=SIDE)
    worker = machine(draft, fleet, 0)
    stack = draft.stacks[SIDE]
    held = next(one for one in stack.resources if one.get("id") == f"{fleet.zone}/{worker.server}")
    stack.pending.append({"type": draft.one_of("updating", "deleting"), "resource": held})
    text = draft.text(worker.server)
    draft.expect(FindingKind.INTERRUPTED, text, verdict=Verdict.WAIT, action=ActionKind.NONE, rank=Rank.READ)
    draft.interrupted.append(Interrupted(stack=SIDE, urn=held["urn"], may_clear=True))
