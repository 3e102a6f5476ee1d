"""Near misses: a program that differs from its machine in one thing, which must be refused by name."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from reconciler.simulator import ZONE
from tests.e2e.adoption_parts.shapes import Resource
from tests.e2e.adoption_parts.site import Site


@dataclass(frozen=True)
class Miss:
    """`change`: the arguments of a server, changed in place. `path`: where the difference is to be named."""

    name: str
    path: str
    change: Callable[[Site, Resource], None]

    def applied(self, site: Site, resources: Sequence[Resource], *, server: str) -> list[Resource]:
        """The program with one server changed."""
        changed = copy.deepcopy(list(resources))
        args = next(item["args"] for item in changed if item["name"] == server)
        self.change(site, args)
        return changed


def _other_type(_site: Site, args: Resource) -> None:
    args["type"] = "DEV1-M"


def _other_tags(_site: Site, args: Resource) -> None:
    """The same tags in another order: state compares positions."""
    args["tags"] = list(reversed(args["tags"]))


def _one_volume_more(site: Site, args: Resource) -> None:
    volume = site.stranger("add_volume", name="one-more")["volume"]
    args["additional_volume_ids"] = [*args.get("additional_volume_ids", []), f"{ZONE}/{volume}"]


def _other_cloud_init(_site: Site, args: Resource) -> None:
    given = args["cloud_init"]
    if isinstance(given, dict):
        args["cloud_init"] = {"$secret": f"{given['$secret']}# a comment\n"}
    else:
        args["cloud_init"] = f"{given}# a comment\n"


MISSES: Final = (
    Miss("other type", "type", _other_type),
    Miss("other tags", "tags", _other_tags),
    Miss("one volume more", "additionalVolumeIds", _one_volume_more),
    Miss("other cloud-init", "cloudInit", _other_cloud_init),
)
