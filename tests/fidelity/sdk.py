"""Scaleway's own Python SDK as a reader of the simulator's answers, and a check of what it read.

The SDK does not check: what an answer lacks becomes None, and a word that is in no enumeration stays a text. So every
value that it returns is held to its own type annotations here: what is not optional is there, words are words of their
enumeration, times are times. A complaint says where.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from scaleway import Client
from scaleway.block.v1 import BlockV1API
from scaleway.block.v1alpha1 import BlockV1Alpha1API
from scaleway.instance.v1.custom_api import InstanceUtilsV1API
from scaleway.instance.v2alpha1 import InstanceV2Alpha1API
from scaleway.ipam.v1 import IpamV1API
from scaleway.marketplace.v2 import MarketplaceV2API
from scaleway.product_catalog.v2alpha1 import ProductCatalogV2Alpha1PublicCatalogAPI
from scaleway.vpc.v2 import VpcV2API

from reconciler.simulator import defaults

# Slips of the SDK's types, which recorded answers contradict as well: words that an enumeration writes otherwise or
# lacks, and fields that are null on the wire and not optional in the type.
WORDS: Final = frozenset(
    {
        "ServerState: stopped in place",
        "VolumeServerState: deleting",
        "VolumeState: deleting",
        "SecurityGroupRuleProtocol: TCP",
    }
)
NULLS: Final = frozenset({"Ip.address", "Ip.prefix"})
# The total of a list of v1, which is a header, becomes a text on its way through the SDK.
_TOTAL: Final = re.compile(r"\w+Response\.total_count: '\d+' is no int")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def complaints(value: Any, hint: Any, where: str) -> Iterator[str]:
    """Where `value` is not what `hint` promises."""
    origin = get_origin(hint)
    if hint is Any:
        return
    if origin in (Union, types.UnionType):
        if value is not None:
            yield from complaints(value, next(item for item in get_args(hint) if item is not type(None)), where)
    elif value is None:
        yield f"{where}: nothing, and it is not optional"
    elif origin in (list, dict):
        yield from _container(value, origin, get_args(hint), where)
    elif isinstance(hint, type):
        yield from _plain(value, hint, where)


def _container(value: Any, origin: type, args: tuple[Any, ...], where: str) -> Iterator[str]:
    if isinstance(value, list) and origin is list:
        for item in value:
            yield from complaints(item, args[0], f"{where}[]")
    elif isinstance(value, dict) and origin is dict:
        for item in value.values():
            yield from complaints(item, args[1], f"{where}{{}}")
    else:
        yield f"{where}: {type(value).__name__} in the place of {origin.__name__}"


def _plain(value: Any, hint: type, where: str) -> Iterator[str]:
    if is_dataclass(hint):
        if not isinstance(value, hint):
            yield f"{where}: {type(value).__name__} in the place of {hint.__name__}"
            return
        for item in fields(hint):
            if getattr(value, item.name) is None and f"{hint.__name__}.{item.name}" in NULLS:
                continue
            yield from complaints(getattr(value, item.name), _hints(hint)[item.name], f"{where}.{item.name}")
    elif issubclass(hint, Enum):
        words = {str(member.value) for member in hint}
        if str(value) not in words and f"{hint.__name__}: {value}" not in WORDS:
            yield f"{where}: {value!r} is no {hint.__name__}"
    elif hint in (str, int, float, bool, datetime) and not isinstance(value, (float, int) if hint is float else hint):
        yield f"{where}: {value!r} is no {hint.__name__}"


@dataclass
class Sdk:
    """Every API that the simulator has, behind one door. `read` checks each answer and collects complaints."""

    url: str
    found: list[str] = field(default_factory=list)
    read_types: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        client = Client(
            access_key=defaults.ACCESS_KEY,
            secret_key=defaults.SECRET_KEY,
            api_url=self.url,
            default_organization_id=defaults.ORGANIZATION_ID,
            default_project_id=defaults.PROJECT_ID,
            default_region=defaults.REGION,
            default_zone=defaults.ZONE,
        )
        self.instance = InstanceUtilsV1API(client)
        self.servers = InstanceV2Alpha1API(client)
        self.block = BlockV1API(client)
        self.block_alpha = BlockV1Alpha1API(client)
        self.ipam = IpamV1API(client)
        self.vpc = VpcV2API(client)
        self.marketplace = MarketplaceV2API(client)
        self.catalog = ProductCatalogV2Alpha1PublicCatalogAPI(client)

    def read(self, answer: Any) -> Any:
        """The answer, looked through. None is the answer of a deletion."""
        if answer is not None:
            kind = type(answer)
            self.read_types.add(kind.__name__)
            found = complaints(answer, kind, kind.__name__)
            self.found.extend(text for text in found if not _TOTAL.fullmatch(text))
        return answer
