"""A recording read back: its world, its states, its memory.

The file comes from somebody else's machine, so it is checked as anything from outside is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reconciler.cases.recording.skeleton import RECORDED_VERSION
from reconciler.kernel.clock import Clock
from reconciler.kernel.errors import ConfigError
from reconciler.kernel.ids import Ids
from reconciler.kernel.text import visible
from reconciler.model.memory import Lineage, Release, SweepRecord
from reconciler.model.resources import Kind, Ref
from reconciler.ports.store import Store
from reconciler.simulator import Key, World, worldfile

MOST_BYTES: Final = 64 << 20


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Ref(_Part):
    kind: Kind
    zone: str
    id: str

    @property
    def ref(self) -> Ref:
        return Ref(self.kind, self.zone, self.id)


class _Unowned(_Ref):
    since_ms: int


class _Line(_Ref):
    source: Literal["attached", "state"]
    fleet: str | None
    stack: str | None
    urn: str | None
    worker: str | None
    server_id: str | None
    first_seen_ms: int


class _Released(_Ref):
    with_id: str
    stack: str
    urn: str


class _Complete(_Part):
    finished_ms: int
    counts: dict[Kind, int]


class _Memory(_Part):
    first_complete_ms: int | None
    last_complete: _Complete | None
    unowned_since: list[_Unowned]
    lineage: list[_Line]
    released: list[_Released]


class Recorded(_Part):
    """The data file of a recording."""

    schema_version: int = Field(ge=RECORDED_VERSION, le=RECORDED_VERSION)
    world: list[str]
    stacks: dict[str, dict[str, Any]]
    written: dict[str, int | None]
    memory: _Memory | None

    def cloud(self, key: Key) -> World:
        """Raises ConfigError RC7001 to RC7006."""
        return worldfile.parse("\n".join(self.world), name="recording", keys=[key])


def load(path: Path) -> Recorded:
    """Raises ConfigError RC0815."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise _wrong(path, "it is too large")
        return Recorded.model_validate_json(path.read_bytes())
    except OSError as error:
        raise _wrong(path, str(error.strerror)) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise _wrong(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _wrong(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"cannot read the recording {visible(str(path))}: {visible(why)}",
        code="RC0815",
        hint="It lies beside its case, as `reconciler simulate record` wrote both.",
    )


def remember(memory: _Memory, store: Store, *, scope: str, ids: Ids, clock: Clock) -> None:
    """Write what was remembered, through the same door as a sweep does."""
    moments = [moment for moment in (memory.first_complete_ms, _last_ms(memory)) if moment is not None]
    for number, moment in enumerate(dict.fromkeys(moments)):
        last = number == len(set(moments)) - 1
        store.record_sweep(_sweep(memory, scope=scope, moment_ms=moment, ids=ids, whole=last))
    if not moments and (memory.unowned_since or memory.lineage):
        store.record_sweep(_sweep(memory, scope=scope, moment_ms=clock.now_ms(), ids=ids, whole=True, complete=False))
    released = [Release(ref=one.ref, with_id=one.with_id, stack=one.stack, urn=one.urn) for one in memory.released]
    if released:
        store.begin_release(scope, released, by="recording", reason="as recorded")
        store.finish_release(scope, [one.ref for one in released])


def _last_ms(memory: _Memory) -> int | None:
    return memory.last_complete.finished_ms if memory.last_complete is not None else None


def _sweep(memory: _Memory, *, scope: str, moment_ms: int, ids: Ids, whole: bool, complete: bool = True) -> SweepRecord:
    counts = memory.last_complete.counts if memory.last_complete is not None else {}
    return SweepRecord(
        sweep_id=ids.new(),
        scope=scope,
        trigger="drift",
        started_ms=moment_ms,
        finished_ms=moment_ms,
        complete=complete,
        scans=(),
        counts=counts,
        serials={},
        summary={},
        newly_unowned={one.ref: one.since_ms for one in memory.unowned_since} if whole else {},
        new_lineage=tuple(_line(one) for one in memory.lineage) if whole else (),
    )


def _line(one: _Line) -> Lineage:
    return Lineage(
        ref=one.ref,
        source=one.source,
        fleet=one.fleet,
        stack=one.stack,
        urn=one.urn,
        worker=one.worker,
        server_id=one.server_id,
        first_seen_ms=one.first_seen_ms,
    )
