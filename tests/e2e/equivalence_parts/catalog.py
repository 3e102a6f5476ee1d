"""The faults: one function per row, which declares a world's resources and says what happens to them.

A row names the declarations for which it makes sense: the property that the fault touches is declared, left out, or
declared and ignored (`ignoreChanges`). What is gone is gone whatever was declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from tests.e2e.equivalence_parts import rows_networks, rows_servers, rows_volumes
from tests.e2e.equivalence_parts.draft import DECLARED, IGNORED, OMITTED, Draft

BOTH: Final = (DECLARED, IGNORED)
ALL: Final = (DECLARED, OMITTED, IGNORED)
_FORBIDDEN: Final = {"deleted_ip_status": 403}


@dataclass(frozen=True)
class Row:
    """One fault. `options`: facts of the simulated API that it needs; `alone`: it shares its cloud with no other."""

    name: str
    build: Callable[[Draft], None]
    declarations: tuple[str, ...] = (DECLARED,)
    options: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False


def _tags(kind: str, declare: Callable[..., str], **fixed: Any) -> Iterator[Row]:
    """Five ways to touch the tags of a kind of resource."""
    for name, after, declarations in (
        ("one tag changed", ["t0", "other"], BOTH),
        ("one tag removed", ["t0"], BOTH),
        ("one tag added", ["t0", "t1", "other"], ALL),
        ("all tags removed", [], BOTH),
        ("tags in another order", ["t1", "t0"], BOTH),
    ):
        yield Row(f"{kind}: {name}", partial(_retagged, declare=declare, after=after, fixed=fixed), declarations)


def _retagged(draft: Draft, *, declare: Callable[..., str], after: list[str], fixed: Mapping[str, Any]) -> None:
    target = declare(draft, **fixed, **draft.touching("tags", ["t0", "t1"]))
    draft.happens("set_tags", id=f"${target}", tags=after)


def _renamed(kind: str, declare: Callable[..., str], **fixed: Any) -> Row:
    def build(draft: Draft) -> None:
        target = declare(draft, **fixed, **draft.touching("name", f"{draft.prefix}-name"))
        draft.happens("rename", id=f"${target}", name="renamed")

    return Row(f"{kind}: renamed", build, ALL)


def rows() -> tuple[Row, ...]:
    """All faults, in the order of the report."""
    servers, volumes, networks = rows_servers, rows_volumes, rows_networks
    return (
        Row("nothing", servers.nothing),
        Row("server: deleted", servers.deleted),
        Row("server: stopped", partial(servers.power, op="stop_server"), ALL),
        Row("server: on standby", partial(servers.power, op="standby_server"), ALL),
        Row("server: started", servers.started, (DECLARED, IGNORED)),
        Row("server: type changed", servers.resized, BOTH),
        Row("server: root volume grown", servers.root_grown, ALL),
        Row("server: root volume faster", servers.root_faster, ALL),
        Row("server: root volume renamed", servers.root_renamed, ALL),
        *_tags("server", Draft.server),
        Row("server: one of several tags ignored", servers.element_ignored, (IGNORED,)),
        Row("server: a secret tag", servers.secret_tag),
        _renamed("server", Draft.server),
        Row("server: protected", servers.protected, ALL),
        Row("server: boot type changed", servers.boot_type, ALL),
        Row("server: dynamic address asked for", servers.dynamic_ip, ALL),
        Row("server: user data changed", servers.user_data, ALL),
        Row("server: cloud-init changed", servers.cloud_init, ALL),
        Row("server: security group changed", servers.security_group, ALL),
        Row("server: placement group taken away", servers.placement_group_lost, BOTH),
        Row("server: placement group given", servers.placement_group_gained, (OMITTED, IGNORED)),
        Row("server: locked", servers.locked),
        Row("ip: moved to another server", servers.ip_moved, BOTH),
        Row("ip: detached", servers.ip_detached, BOTH),
        Row("ip: attached to a server", servers.ip_gained, ALL),
        Row("ip: replaced on its server", servers.ip_replaced, BOTH),
        Row("ip: order on its server", servers.ip_order, BOTH),
        Row("ip: deleted", servers.ip_deleted, ALL),
        Row("ip: deleted, the API says 403", servers.ip_deleted_among_others, ALL, _FORBIDDEN),
        Row("ip: the only one deleted, the API says 403", servers.only_ip_deleted, options=_FORBIDDEN, alone=True),
        Row("ip: reverse set", servers.ip_reverse),
        *_tags("ip", Draft.attached_ip),
        Row("volume: deleted", volumes.deleted),
        Row("volume: grown", partial(volumes.edited, path="sizeInGb", change={"size": 20_000_000_000}), BOTH),
        Row("volume: faster", partial(volumes.edited, path="iops", change={"perf_iops": 15_000}), BOTH),
        Row("volume: detached", volumes.detached, BOTH),
        Row("volume: moved to another server", volumes.moved, BOTH),
        Row("volume: attached to a server", volumes.attached, (OMITTED, IGNORED)),
        Row("volume: order on its server", volumes.order, BOTH),
        *_tags("volume", Draft.volume),
        _renamed("volume", Draft.volume),
        Row("local volume: deleted", volumes.local_deleted),
        Row("local volume: grown", volumes.local_grown, BOTH),
        *_tags("local volume", volumes.local),
        _renamed("local volume", volumes.local),
        Row("nic: inline one deleted", networks.inline_deleted, BOTH),
        Row("nic: one of its own deleted", networks.own_deleted),
        Row("nic: attached by somebody", networks.gained, ALL),
        *_tags("nic", networks.own_nic),
        *(row for kind in networks.TARGETED for row in _targeted(kind)),
        *_tags("ipam", networks.ipam),
        Row("ipam: deleted", networks.ipam_deleted),
        Row("security group: policy changed", networks.policy_of_group, ALL),
        Row("placement group: policy changed", networks.policy_of_placement, ALL),
    )


def _targeted(kind: str) -> Iterator[Row]:
    """The kinds that are read one by one."""
    name, declare = kind.replace("_", " "), partial(rows_networks.targeted, kind=kind)
    yield Row(f"{name}: deleted", partial(rows_networks.removed, kind=kind))
    yield from _tags(name, declare)
    yield _renamed(name, declare)
