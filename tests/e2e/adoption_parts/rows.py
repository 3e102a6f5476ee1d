"""One shape of worker: deployed, lost from the state, refused where it differs, adopted where it does not."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from reconciler.model.resources import Kind, Ref
from reconciler.ports.engine import AdoptionRefused
from reconciler.simulator import ZONE
from tests.e2e.adoption_parts.misses import MISSES, Miss
from tests.e2e.adoption_parts.shapes import CLOUD_INIT, Resource, Shape, Variant
from tests.e2e.adoption_parts.site import STACK, Site

# Shapes whose children are all there before the server is asked for: what a kill leaves is the same every time.
KILLED: Final = frozenset({"ip_id", "ip_ids", "extra volumes", "private network"})


@dataclass
class Row:
    """What became of one shape. `faults`: one line for each thing that did not hold."""

    shape: str
    adopted: int = 0
    refused: int = 0
    after: str = ""
    faults: list[str] = field(default_factory=list)

    def line(self) -> str:
        verdict = "ok" if not self.faults else "FAILED"
        return (
            f"{self.shape:18} {self.after:14} {self.adopted:3} adopted {self.refused:3} near misses refused  {verdict}"
        )


def run(shape: Shape, variants: Sequence[Variant], *, misses: Iterable[Miss] = MISSES, killed: bool) -> Row:
    """The whole story, in a world of its own. `killed`: by a deploy that dies, else by taking it out of the state."""
    row = Row(shape.name, after="killed deploy" if killed else "lost state")
    with tempfile.TemporaryDirectory(prefix="adoption-") as directory, Site(Path(directory)) as site:
        resources = [item for variant in variants for item in shape.worker(variant)]
        site.describe(resources)
        site.begin()
        try:
            targets = killed_deploy(site, len(variants)) if killed else _lost(site)
            for miss, variant in zip(misses, _cycle(variants), strict=False):
                _refuse(site, row, miss, resources, targets=targets, server=f"w-{variant.name}")
            site.describe(resources)
            _adopt(site, row, targets)
        except Exception as error:  # a row that breaks must not hide the others
            row.faults.append(f"{type(error).__name__}: {str(error)[:2000]}")
    return row


def _cycle(variants: Sequence[Variant]) -> Iterable[Variant]:
    while True:
        yield from variants


def _lost(site: Site) -> Mapping[str, Ref]:
    site.deploy()
    targets = site.refs()
    site.forget(targets)
    return targets


def killed_deploy(site: Site, servers: int) -> Mapping[str, Ref]:
    """The servers are the targets: the rest was there when they were asked for."""
    site.interrupt(servers=servers)
    with site.simulator.editing() as world:
        ids = {server.name: server.id for server in world.servers}
    planned = site.engine().planned_creates(STACK)
    targets = {item.urn: Ref(Kind.SERVER, ZONE, ids[item.name]) for item in planned if item.name in ids}
    pending = {item.resource.urn for item in site.state().pending}
    assert len(ids) == servers, sorted(ids)
    assert pending == set(targets), sorted(pending)
    return targets


def _refuse(
    site: Site, row: Row, miss: Miss, resources: Sequence[Resource], *, targets: Mapping[str, Ref], server: str
) -> None:
    """A refusal names the difference and leaves cloud and state as they are, to the byte."""
    site.describe(miss.applied(site, resources, server=server))
    cloud, state = site.cloud_text(), site.checkpoint()
    urn = next(urn for urn in targets if urn.endswith(f"::{server}"))
    try:
        site.adopt(targets)
    except AdoptionRefused as refusal:
        named = [(item.urn, item.path) for item in refusal.differences]
        if named != [(urn, miss.path)]:
            row.faults.append(f"{miss.name}: named {named}, not {miss.path}")
        if CLOUD_INIT.strip() in str(refusal) or "a comment" in str(refusal):
            row.faults.append(f"{miss.name}: the refusal shows the cloud-init")
    else:
        row.faults.append(f"{miss.name}: was not refused")
    for what, before, after in (("cloud", cloud, site.cloud_text()), ("state", state, site.checkpoint())):
        if before != after:
            row.faults.append(f"{miss.name}: the {what} is another")
    row.refused += 1


def _adopt(site: Site, row: Row, targets: Mapping[str, Ref]) -> None:
    calls, cloud = len(site.mutating_calls()), site.cloud_text()
    row.adopted = len(site.adopt(targets).adopted)
    assert row.adopted == len(targets)
    assert site.refs().items() >= dict(targets).items()
    assert site.state().pending == ()
    site.require_quiet()
    assert site.mutating_calls()[calls:] == []
    assert site.cloud_text() == cloud
    site.require_clean()
