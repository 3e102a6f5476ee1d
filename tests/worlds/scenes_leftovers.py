"""What is in no state: leftovers with every mix of ownership signals, grace and doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from reconciler.model.finding import ActionKind, FindingKind, Verdict
from reconciler.model.scope import Ownership
from reconciler.simulator import effects
from tests.worlds import hostile
from tests.worlds.draft import BORN, GONE_STACK, GRACE_MS, LONG, MAIN, MINUTE, NOW, RECENT, Draft, owner_tags
from tests.worlds.scenes import scene
from tests.worlds.truth import Rank, Whose

SIGNALS: Final = (
    ("state", "tags"),
    ("lineage", "tags"),
    ("state", "mapping"),
    ("lineage", "mapping"),
    ("tags", "mapping"),
    ("tags",),
    ("mapping",),
    ("part",),
    ("state",),
    ("lineage",),
    ("state", "part"),
)
HARD: Final = frozenset({"state", "lineage"})
_SPECIAL: Final = (*("none",) * 8, "held", "elsewhere", "asks", "doomed", "moving", "stuck", "protected")
_STATES: Final = {
    "server": ("state", "starting", "locked"),
    "ip": ("state", "pending", "error"),
    "volume": ("status", "snapshotting", "error"),
    "local": ("state", "snapshotting", "error"),
}


@dataclass(frozen=True, slots=True)
class Mix:
    """One leftover as drawn. `grace`: `old` (over), `new` (never seen before), `young`, `detached` (a minute ago)."""

    shape: str
    signals: tuple[str, ...]
    grace: str
    special: str

    def proved(self, ownership: Ownership) -> bool:
        """Rule 9, in the words of the rule."""
        if ownership is Ownership.TAGS and "tags" in self.signals:
            return True
        proofs = [one for one in self.signals if one != "part"]
        return len(proofs) >= 2 and any(one in HARD for one in proofs)

    @property
    def from_ms(self) -> int:
        """When the grace is over."""
        begun = {"old": LONG, "new": NOW, "young": RECENT, "detached": RECENT}[self.grace]
        return 0 if self.special == "doomed" else begun + GRACE_MS

    @property
    def fleet(self) -> str | None:
        return "careful" if self.special == "asks" else None


def draw(draft: Draft) -> Mix:
    shape = draft.one_of("server", "server", "ip", "volume", "local")
    possible = [one for one in SIGNALS if shape != "ip" or "mapping" not in one]
    signals = draft.chance.choice([*possible, *possible[:2] * 4])
    grace = draft.one_of(*("old",) * 3, "new", "young", "detached" if shape == "volume" else "old")
    return Mix(shape, signals, grace, _fitting(draft.one_of(*_SPECIAL), shape, signals, grace, draft))


def _fitting(special: str, shape: str, signals: tuple[str, ...], grace: str, draft: Draft) -> str:
    hard, tagged = bool(HARD & set(signals)), "tags" in signals
    fits = {
        "elsewhere": hard,
        "asks": hard or tagged,
        "doomed": Mix(shape, signals, grace, "none").proved(draft.ownership),
        "protected": shape == "server",
    }
    return special if fits.get(special, True) else "none"


def verdict(mix: Mix, ownership: Ownership, *, over: bool) -> tuple[Verdict, Rank]:
    """What is right, the first doubt first. `over`: whether the grace has passed by now."""
    match mix.special:
        case "moving":
            return Verdict.WAIT, Rank.MOVING
        case "stuck":
            return Verdict.ASK, Rank.MOVING
        case "protected":
            return Verdict.ASK, Rank.PROTECTED
        case "doomed":
            return Verdict.ACT, Rank.DECIDED
        case "held":
            return Verdict.ASK, Rank.HELD
        case "elsewhere":
            return Verdict.ASK, Rank.ELSEWHERE
    if not over and mix.grace != "old":
        return Verdict.WAIT, Rank.GRACE
    if mix.special == "asks":
        return Verdict.ASK, Rank.ASKS
    return (Verdict.ACT, Rank.ACT) if mix.proved(ownership) else (Verdict.ASK, Rank.PROOF)


def tags_and_name(draft: Draft, mix: Mix) -> tuple[tuple[str, ...], str]:
    tags = owner_tags(mix.fleet or f"old-{draft.label}") if "tags" in mix.signals else ()
    named = "mapping" in mix.signals or ("part" in mix.signals and mix.shape != "ip")
    if "mapping" in mix.signals or ("part" in mix.signals and mix.shape == "ip"):
        tags = (*tags, "role=render")
    plain = hostile.text(draft.chance) if draft.hostile and draft.chance.random() < 0.3 else f"old-{draft.label}"
    return (*tags, *draft.extra_tags()), f"render-{draft.label}" if named else plain


def note(draft: Draft, mix: Mix, id_: str) -> None:
    """Put into the memory what the signals, the grace and the special case say."""
    source = next((one for one in mix.signals if one in HARD), None)
    if source is not None:
        stack = GONE_STACK if mix.special == "elsewhere" else MAIN
        kind = "state" if source == "state" else "attached"
        server = draft.uuid() if kind == "attached" else None
        draft.remember(id_, source=kind, stack=stack, fleet=mix.fleet, server=server)
    if mix.grace != "new":
        draft.memory.unowned[draft.ref(id_)] = LONG
    if mix.special == "held":
        draft.memory.held.append(draft.ref(id_))
    if mix.special in ("moving", "stuck"):
        name, moving, stuck = _STATES[mix.shape]
        draft.change(id_, **{name: moving if mix.special == "moving" else stuck})
    if mix.special == "protected":
        draft.change(id_, protected=True)


def say(draft: Draft, mix: Mix, *ids: str, beside: tuple[str, ...] = ()) -> bool:
    """Expect the findings about a leftover and what goes with it; whether it is gone in the end."""
    hangs = tuple(draft.text(id_) for id_ in beside)
    kind = FindingKind.ORPHAN if mix.shape == "server" else FindingKind.DETACHED
    texts = [draft.text(id_) for id_ in ids]
    for when, over in (("first", False), ("last", True)):
        said, rank = verdict(mix, draft.ownership, over=over)
        if when == "first" or said is not Verdict.ACT:
            action = ActionKind.DESTROY
            draft.expect(kind, *texts, verdict=said, action=action, rank=rank, beside=hangs, when=when)
    goes = verdict(mix, draft.ownership, over=True)[0] is Verdict.ACT
    whose = Whose.PROTECTED if mix.special == "protected" else Whose.HELD if mix.special == "held" else Whose.LEFTOVER
    draft.is_(whose, *ids, destroy=goes, from_ms=mix.from_ms, decided=mix.special == "doomed")
    if mix.special == "doomed":
        draft.memory.doomed.append((draft.ref(ids[0]), tuple(draft.ref(one) for one in ids[1:])))
    return goes


@scene("leftover", FindingKind.ORPHAN, FindingKind.DETACHED, FindingKind.UNMANAGED, weight=12)
def leftover(draft: Draft) -> None:
    mix = draw(draft)
    if mix.shape == "server":
        orphan(draft, mix)
        return
    tags, name = tags_and_name(draft, mix)
    made_ms = RECENT if mix.grace == "young" else BORN
    zone = draft.zone()
    match mix.shape:
        case "ip":
            id_ = draft.ip(zone, tags, created_ms=made_ms).id
        case "volume":
            detached = RECENT if mix.grace == "detached" else None
            id_ = draft.volume(zone, name, tags, created_ms=made_ms, last_detached_ms=detached).id
        case _:
            id_ = draft.local(zone, name, tags, created_ms=made_ms).id
    note(draft, mix, id_)
    say(draft, mix, id_)


def orphan(draft: Draft, mix: Mix) -> None:
    """A machine with a root, and perhaps more: inline storage, interfaces, addresses, what a person attached."""
    tags, name = tags_and_name(draft, mix)
    zone, made_ms = draft.zone(), RECENT if mix.grace == "young" else BORN
    network = draft.network(zone) if draft.chance.random() < 0.3 else None
    state = draft.one_of("running", "running", "stopped", "stopped in place")
    worker = draft.server(name, zone=zone, tags=tags, network=network, created_ms=made_ms, state=state)
    goes = [worker.root, *([worker.nic] if worker.nic else [])]
    if draft.chance.random() < 0.3:
        inline = draft.local(zone, "scratch", created_ms=made_ms)
        draft.attach(inline, worker.server)
        goes.append(inline.id)
    address = draft.one_of("none", "bare", "tagged", "proved")
    ip_id = _address(draft, address, worker.server) if address != "none" else None
    if ip_id is not None and _ip_goes(address, draft):
        goes.append(ip_id)
    note(draft, mix, worker.server)
    beside = (ip_id,) if ip_id is not None and ip_id not in goes else ()
    destroyed = say(draft, mix, worker.server, *goes, beside=beside)
    if ip_id is not None and not _ip_goes(address, draft):
        _spared_address(draft, ip_id, address, destroyed=destroyed)
    if draft.chance.random() < 0.3:
        _persons_volume(draft, worker.server)


def _ip_goes(address: str, draft: Draft) -> bool:
    return address == "proved" or (address == "tagged" and draft.ownership is Ownership.TAGS)


def _address(draft: Draft, address: str, server_id: str) -> str:
    server = draft.get_server(server_id)
    ip = draft.ip(server.zone, owner_tags(f"old-{draft.label}") if address in ("tagged", "proved") else ())
    effects.attach_ip(draft.world, ip, server, state="attached", now_ms=BORN)
    if address == "proved":
        draft.remember(ip.id, source="attached", server=server_id)
    return ip.id


def _spared_address(draft: Draft, ip_id: str, address: str, *, destroyed: bool) -> None:
    """In use while the machine is there; afterwards what its own signals say."""
    draft.is_(Whose.STRANGER if address == "bare" else Whose.LEFTOVER, ip_id)
    draft.unmanaged(ip_id, when="first")
    if address == "tagged" and destroyed:
        text, ask = draft.text(ip_id), Verdict.ASK
        draft.expect(FindingKind.DETACHED, text, verdict=ask, action=ActionKind.DESTROY, rank=Rank.PROOF, when="last")
    else:
        draft.unmanaged(ip_id, when="last")


def _persons_volume(draft: Draft, server_id: str) -> None:
    """Older than the machine: somebody attached it, and it stays whatever becomes of the machine."""
    server = draft.get_server(server_id)
    volume = draft.volume(server.zone, f"data-{draft.label}", draft.extra_tags(), created_ms=BORN - MINUTE)
    draft.attach(volume, server_id)
    draft.is_(Whose.STRANGER, volume.id)
    draft.unmanaged(volume.id)


@scene("takes a stranger's local volume along", FindingKind.ORPHAN, FindingKind.UNMANAGED)
def takes_along(draft: Draft) -> None:
    """Its termination would destroy local storage that a person attached."""
    worker = draft.server(f"old-{draft.label}", zone=draft.zone(), tags=owner_tags(f"old-{draft.label}"))
    volume = draft.local(draft.get_server(worker.server).zone, "scratch", created_ms=BORN - MINUTE)
    draft.attach(volume, worker.server)
    draft.remember(worker.server, source="state")
    draft.memory.unowned[draft.ref(worker.server)] = LONG
    draft.is_(Whose.IN_USE, worker.server, worker.root)
    draft.is_(Whose.STRANGER, volume.id)
    texts = (draft.text(worker.server), draft.text(worker.root))
    draft.expect(
        FindingKind.ORPHAN,
        *texts,
        verdict=Verdict.ASK,
        action=ActionKind.DESTROY,
        rank=Rank.PROTECTED,
        when="both",
    )
    draft.unmanaged(volume.id)
