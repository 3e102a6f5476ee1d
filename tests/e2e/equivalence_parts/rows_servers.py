"""Faults that happen to servers and to their addresses."""

from __future__ import annotations

from typing import Any

from tests.e2e.equivalence_parts.draft import DECLARED, OMITTED, Draft, root


def nothing(draft: Draft) -> None:
    """A control: everything that a program may hang on a server, and no fault."""
    network = draft.add("private_network", "network", name=f"{draft.prefix}-network")
    inline = draft.random.random() < 0.5
    nics = [{"pn_id": draft.ref(network)}] if inline else None
    server = draft.server(ip=True, volume=True, private_networks=nics)
    if not inline:
        draft.add("nic", "nic", server_id=draft.ref(server), private_network_id=draft.ref(network), tags=["t0"])
    draft.server("dynamic", ip=False, enable_dynamic_ip=True)


def deleted(draft: Draft) -> None:
    server = draft.server()
    keep = draft.random.random() < 0.5
    draft.happens("kill_server", server=f"${server}", leave_volumes=True, leave_ips=keep)


def power(draft: Draft, *, op: str) -> None:
    server = draft.server(**draft.touching("state", "started"))
    draft.happens(op, server=f"${server}")


def started(draft: Draft) -> None:
    server = draft.server(**draft.touching("state", "stopped"))
    draft.happens("start_server", server=f"${server}")


def resized(draft: Draft) -> None:
    server = draft.server(**draft.touching("type", "DEV1-S"))
    draft.happens("resize", server=f"${server}", commercial_type="DEV1-L")


def _root(draft: Draft, **declared: Any) -> str:
    """A server whose root volume declares this, leaves it out, or ignores it (as a whole or by its path)."""
    if draft.declaration == OMITTED:
        others = [None, root()] if "size_in_gb" in declared else [None, root(), root(size_in_gb=20)]
        return draft.server(root_volume=draft.random.choice(others))
    key = {"size_in_gb": "sizeInGb", "sbs_iops": "sbsIops", "name": "name"}[next(iter(declared))]
    ignored = draft.ignoring(draft.random.choice(("rootVolume", f"rootVolume.{key}")))
    return draft.server(root_volume=root(**declared), **ignored)


def root_grown(draft: Draft) -> None:
    server = _root(draft, size_in_gb=20)
    draft.happens("edit", kind="block_volume", id=f"$root:{server}", set={"size": 50_000_000_000})


def root_faster(draft: Draft) -> None:
    server = _root(draft, sbs_iops=5000)
    draft.happens("edit", kind="block_volume", id=f"$root:{server}", set={"perf_iops": 15_000})


def root_renamed(draft: Draft) -> None:
    server = _root(draft, name=f"{draft.prefix}-root")
    draft.happens("rename", id=f"$root:{server}", name="renamed")


def element_ignored(draft: Draft) -> None:
    """`ignoreChanges` may name one element of a list."""
    server = draft.server(tags=["t0", "t1"], ignore=["tags[0]"])
    after = draft.random.choice((["other", "t1"], ["t0", "other"], ["other", "t1", "more"]))
    draft.happens("set_tags", id=f"${server}", tags=after)


def secret_tag(draft: Draft) -> None:
    server = draft.server(tags=["t0", {"$secret": "hush"}])
    draft.happens("set_tags", id=f"${server}", tags=["t0"])


def protected(draft: Draft) -> None:
    server = draft.server(**draft.touching("protected", False))
    draft.happens("protect", server=f"${server}")


def boot_type(draft: Draft) -> None:
    server = draft.server(**draft.touching("boot_type", "local", path="bootType"))
    draft.happens("edit", kind="server", id=f"${server}", set={"boot_type": "rescue"})


def dynamic_ip(draft: Draft) -> None:
    server = draft.server(**draft.touching("enable_dynamic_ip", False, path="enableDynamicIp"))
    draft.happens("edit", kind="server", id=f"${server}", set={"dynamic_ip_required": True})


def user_data(draft: Draft) -> None:
    server = draft.server(**draft.touching("user_data", {"role": "runner"}, path="userData"))
    key = draft.random.choice(("role", "another"))
    draft.happens("set_user_data", server=f"${server}", key=key, value="changed")


def cloud_init(draft: Draft) -> None:
    script = {"$secret": "#cloud-config\n"} if draft.secret else "#cloud-config\n"
    server = draft.server(**draft.touching("cloud_init", script, path="cloudInit"))
    draft.happens("set_user_data", server=f"${server}", key="cloud-init", value="#cloud-config\nchanged")


def security_group(draft: Draft) -> None:
    group = draft.add("security_group", "group", name=f"{draft.prefix}-group")
    other = draft.add("security_group", "other", name=f"{draft.prefix}-other")
    server = draft.server(**draft.touching("security_group_id", draft.ref(group), path="securityGroupId"))
    draft.happens("edit", kind="server", id=f"${server}", set={"security_group": f"${other}"})


def placement_group_lost(draft: Draft) -> None:
    group = draft.add("placement_group", "group", name=f"{draft.prefix}-group")
    server = draft.server(**draft.touching("placement_group_id", draft.ref(group), path="placementGroupId"))
    draft.happens("edit", kind="server", id=f"${server}", set={"placement_group": None})


def placement_group_gained(draft: Draft) -> None:
    group = draft.add("placement_group", "group", name=f"{draft.prefix}-group")
    server = draft.server(**draft.ignoring("placementGroupId"))
    draft.happens("edit", kind="server", id=f"${server}", set={"placement_group": f"${group}"})


def locked(draft: Draft) -> None:
    """The provider refuses to read a locked server."""
    draft.happens("lock_server", server=f"${draft.server()}")


# -- addresses


def _ignore_ips(draft: Draft) -> dict[str, Any]:
    return draft.ignoring("ipId", "ipIds")


def _with_ip(draft: Draft, name: str = "server", *, ignored: dict[str, Any] | None = None) -> tuple[str, str]:
    """A server and its address, declared in one of the two ways that there are."""
    address = draft.add("ip", f"{name}-ip", tags=["t0"])
    declared = draft.random.choice(({"ip_id": draft.ref(address)}, {"ip_ids": [draft.ref(address)]}))
    return draft.server(name, **declared, **(_ignore_ips(draft) if ignored is None else ignored)), address


def ip_moved(draft: Draft) -> None:
    _, address = _with_ip(draft)
    other = draft.server("other", ip=False, **_ignore_ips(draft))
    draft.happens("move_ip", ip=f"${address}", server=f"${other}")


def ip_detached(draft: Draft) -> None:
    _, address = _with_ip(draft, ignored=_ignored_alone(draft))
    draft.happens("detach_ip", ip=f"${address}")


def _ignored_alone(draft: Draft) -> dict[str, Any]:
    """One of the two names of the address, which may be the one that is not used, or the output that has no effect."""
    return draft.ignoring(draft.random.choice(("ipId", "ipIds", "publicIps")))


def ip_gained(draft: Draft) -> None:
    if draft.declaration == OMITTED:
        server = draft.server(ip=False)
    elif draft.declaration == DECLARED:
        server, _ = _with_ip(draft)
    else:
        ignored, bare = _ignored_alone(draft), draft.random.random() < 0.5
        server = draft.server(ip=False, **ignored) if bare else _with_ip(draft, ignored=ignored)[0]
    draft.happens("gain_ip", server=f"${server}")


def ip_replaced(draft: Draft) -> None:
    server, address = _with_ip(draft)
    draft.happens("detach_ip", ip=f"${address}")
    draft.happens("gain_ip", server=f"${server}")


def ip_order(draft: Draft) -> None:
    first, second = (draft.add("ip", name, tags=["t0"]) for name in ("first", "second"))
    server = draft.server(ip_ids=[draft.ref(first), draft.ref(second)], **draft.ignoring("ipIds"))
    draft.happens("detach_ip", ip=f"${first}")
    draft.happens("move_ip", ip=f"${first}", server=f"${server}")


def ip_deleted(draft: Draft) -> None:
    if draft.declaration == OMITTED:
        address = draft.add("ip", "free", tags=["t0"])
    else:
        _, address = _with_ip(draft)
    draft.happens("delete_ip", ip=f"${address}")


def ip_deleted_among_others(draft: Draft) -> None:
    """One that stays is the witness that the list of addresses is not empty for lack of a right."""
    draft.add("ip", "witness", tags=["t0"])
    ip_deleted(draft)


def only_ip_deleted(draft: Draft) -> None:
    draft.server(ip=False)
    draft.happens("delete_ip", ip=f"${draft.add('ip', 'only', tags=['t0'])}")


def ip_reverse(draft: Draft) -> None:
    address = draft.attached_ip()
    draft.happens("edit", kind="ip", id=f"${address}", set={"reverse": "worker.example.com"})
