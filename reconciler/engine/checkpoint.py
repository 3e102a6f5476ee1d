"""Decodes a checkpoint: the output of `pulumi stack export`, or the file that a DIY backend keeps.

`stack export` does not check what it prints (tried: duplicate URNs and dangling references pass with status 0), so it
is checked here by the engine's own rules. A checkpoint that breaks one is not read at all (R023): choosing one of two
entries in silence would make the other one an orphan.

`serial` is a digest over the resources (in any order), the pending operations and with them the outputs. It is taken
from the raw text, ciphertexts and fields that we do not decode included: a stack whose serial stands still was not
written to.
"""

from __future__ import annotations

import gc
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from reconciler.engine import masking, shapes
from reconciler.engine.shapes import RawOperation, RawResource, RawSecretsProvider, broken
from reconciler.kernel.clock import parse_instant
from reconciler.kernel.errors import EngineError
from reconciler.model.state import PendingOperation, StateResource

STACK_TYPE: Final = "pulumi:pulumi:Stack"
PROVIDER_PREFIX: Final = "pulumi:providers:"
OLDEST_VERSION: Final = 3
NEWEST_VERSION: Final = 4
# What a version 4 may use. Another name means that an entry can have a meaning that we do not know.
KNOWN_FEATURES: Final = frozenset(
    {
        "refreshBeforeUpdate",
        "views",
        "hooks",
        "taint",
        "replaceWith",
        "snippets-prototype",
        "extensionParameterization",
        "byteString",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One decoded deployment. `secrets` says how its secrets are encrypted; it holds a salt or a wrapped key only.
    `written_ms`: the time of its last write, None where it is not told."""

    serial: str
    resources: tuple[StateResource, ...]
    pending: tuple[PendingOperation, ...]
    outputs: Mapping[str, Any]
    secrets: RawSecretsProvider
    written_ms: int | None = None


def decode(raw: bytes | bytearray) -> Checkpoint:
    """Decode one checkpoint of version 3 or 4.

    Raises EngineError RC0504 (no JSON), RC0505 (a version or feature not known), RC0506 (broken).
    """
    with _no_collector():
        return _decode(raw)


@contextmanager
def _no_collector() -> Iterator[None]:
    """The collector walks all of the half-built state again and again, which doubles the time of a big one."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _decode(raw: bytes | bytearray) -> Checkpoint:
    document = shapes.parse_object(raw, what="the exported state")
    del raw  # 200 MB are better not there twice
    deployment = _deployment(document)
    entries, pending = _Entries("resources"), _Entries("pending_operations")
    resources = tuple(
        _resource(entries.keep(shapes.resource(item, place)), secrets=secrets)
        for item, place, secrets in entries.take(shapes.items(deployment, "resources"))
    )
    _check(entries.kept)
    operations = tuple(
        _operation(shapes.operation(item, place), secrets=secrets)
        for item, place, secrets in pending.take(shapes.items(deployment, "pending_operations"))
    )
    return Checkpoint(
        serial=_serial(entries.digests, pending.digests),
        resources=resources,
        pending=operations,
        outputs=next((item.outputs for item in resources if item.type == STACK_TYPE and not item.pending_delete), {}),
        secrets=shapes.secrets_provider(deployment.get("secrets_providers")),
        written_ms=_written(deployment.get("manifest")),
    )


def _written(manifest: object) -> int | None:
    """When the engine wrote it. It begins and ends each step with a write, so that an interrupted operation is not
    younger than this."""
    text = manifest.get("time") if isinstance(manifest, dict) else None
    try:
        moment = parse_instant(text) if isinstance(text, str) else 0
    except ValueError:
        return None
    return moment if moment > 0 else None  # the zero time of Go is in the year 1


class _Entries:
    """Walks one list of the document once, and lets go of each entry: a big state is never there in two forms."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.digests: list[bytes] = []
        self.kept: list[RawResource] = []

    def take(self, items: list[Any]) -> Iterator[tuple[Any, str, bool]]:
        """(entry, its place, whether a wrapped secret is in it)."""
        for index in range(len(items)):
            item, items[index] = items[index], None
            text = json.dumps(item, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
            self.digests.append(hashlib.blake2b(text.encode(), digest_size=16).digest())
            yield item, f"{self._key}.{index}", masking.SIGNATURE in text

    def keep(self, item: RawResource) -> RawResource:
        """Note the entry without its properties, for the checks at the end."""
        self.kept.append(item.model_copy(update={"inputs": None, "outputs": None}))
        return item


def _deployment(document: dict[str, Any]) -> dict[str, Any]:
    """The deployment inside either envelope, its version and features checked."""
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise broken("it has no version")
    features = set(map(str, shapes.items(document, "features"))) - KNOWN_FEATURES
    if version > NEWEST_VERSION or features:
        what = f"uses {', '.join(sorted(features))}" if features else f"is of version {version}"
        raise EngineError(
            f"the checkpoint {what}, newer than what this reconciler knows (version {NEWEST_VERSION})",
            code="RC0505",
            hint="Upgrade reconciler. Reading a newer form by the old rules could miss what it holds.",
        )
    if version < OLDEST_VERSION:
        raise EngineError(
            f"the checkpoint is of version {version}, older than what this reconciler reads ({OLDEST_VERSION})",
            code="RC0505",
            hint="`pulumi stack export` of a current CLI followed by any `pulumi up` writes the current version.",
        )
    if "deployment" in document:
        return shapes.child(document, "deployment")
    if "checkpoint" in document:
        return shapes.child(shapes.child(document, "checkpoint"), "latest")
    raise broken("it holds neither `deployment` nor `checkpoint`")


def _serial(*parts: list[bytes]) -> str:
    whole = hashlib.blake2b(digest_size=16)
    for digests in parts:
        whole.update(len(digests).to_bytes(8, "big"))
        for digest in sorted(digests):
            whole.update(digest)
    return whole.hexdigest()


def _operation(raw: RawOperation, *, secrets: bool) -> PendingOperation:
    return PendingOperation(operation=raw.type, resource=_resource(raw.resource, secrets=secrets))


def _resource(raw: RawResource, *, secrets: bool) -> StateResource:
    inputs, outputs = masking.mask(
        raw.type, raw.inputs or {}, raw.outputs or {}, named=raw.secret_outputs or (), wrapped=secrets
    )
    return StateResource(
        urn=raw.urn,
        type=raw.type,
        id=raw.id or None,
        custom=raw.custom,
        parent=raw.parent or None,
        provider=raw.provider or None,
        inputs=inputs,
        outputs=outputs,
        protect=bool(raw.protect),
        external=bool(raw.external),
        pending_delete=bool(raw.delete),
        ignore_changes=tuple(raw.ignore_changes or ()),
        dependencies=tuple(raw.dependencies or ()),
        init_errors=tuple(raw.init_errors or ()),
    )


def _check(resources: Sequence[RawResource]) -> None:
    """The engine's own rules of integrity, but for the order of entries, which is no loss."""
    faults = [*_duplicates(resources), *_dangling(resources)]
    if faults:
        more = f" (and {len(faults) - 3} more)" if len(faults) > 3 else ""
        raise broken("; ".join(faults[:3]) + more)


def _duplicates(resources: Sequence[RawResource]) -> Iterator[str]:
    # A copy marked `delete` waits for its removal beside its successor: that is how a replace works.
    counts = Counter(item.urn for item in resources if not item.delete)
    for urn, count in counts.items():
        if count > 1:
            yield f"{urn} is there {count} times"


def _dangling(resources: Sequence[RawResource]) -> Iterator[str]:
    known = {item.urn for item in resources} | {alias for item in resources for alias in item.aliases or ()}
    providers = {f"{item.urn}::{item.id}" for item in resources if item.type.startswith(PROVIDER_PREFIX)}
    for item in resources:
        if not item.custom and item.id:
            yield f"{item.urn} is a component and has the id of a resource"
        if item.provider and item.provider not in providers and not item.pending_replacement:
            yield f"{item.urn} refers to the missing provider {item.provider}"
        if item.parent and item.parent not in known:
            yield f"{item.urn} refers to the missing parent {item.parent}"
        for urn in _references(item):
            if urn not in known:
                yield f"{item.urn} refers to the missing resource {urn}"


def _references(item: RawResource) -> set[str]:
    found = set(item.dependencies or ())
    for urns in (item.property_dependencies or {}).values():
        found |= set(urns or ())
    if item.deleted_with:
        found.add(item.deleted_with)
    return found
