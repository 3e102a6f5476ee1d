"""What one adoption expects: this URN is that object, and the program declared these properties for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.model.resources import Kind, Ref
from reconciler.model.state import SECRET

# Kinds whose create can be proved, by Pulumi's type.
ADOPTABLE: Final[Mapping[str, Kind]] = {
    "scaleway:instance/server:Server": Kind.SERVER,
    "scaleway:instance/ip:Ip": Kind.IP,
    "scaleway:block/volume:Volume": Kind.VOLUME,
    "scaleway:instance/volume:Volume": Kind.INSTANCE_VOLUME,
    "scaleway:instance/privateNic:PrivateNic": Kind.NIC,
    "scaleway:ipam/ip:Ip": Kind.IPAM,
    "scaleway:network/privateNetwork:PrivateNetwork": Kind.PRIVATE_NETWORK,
    "scaleway:instance/placementGroup:PlacementGroup": Kind.PLACEMENT_GROUP,
}
# What the provider calls a thing without a name: a prefix, its kind, an adjective, a scientist.
_MADE_UP: Final = re.compile(r"tf-[a-z]+-[a-z]+-[a-z]+")
_ROOT: Final = re.compile(r"[^.\[]+")
# User data is a program that often holds a token; people write it in clear.
_ALWAYS_SECRET: Final = frozenset({"userData", "cloudInit"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """`inputs`: the planned ones, masked. `auto_named`: Pulumi makes up its name, anew in every run."""

    urn: str
    ref: Ref
    inputs: Mapping[str, Any] = field(default_factory=dict)
    auto_named: bool = False

    @property
    def named(self) -> bool:
        """Whether the program gives it a name, or Pulumi does; otherwise the provider makes one up, anew each time."""
        return "name" in self.inputs

    def could_be_named(self, name: object) -> bool:
        """Whether Pulumi can have made up this name for it: from its own name and something random."""
        logical = self.urn.rpartition("::")[2]
        return self.auto_named and isinstance(name, str) and logical in name and "${" not in name

    def secret(self, path: str) -> bool:
        """Whether a property, or anything inside it, is a secret of the program."""
        root = _ROOT.match(path)
        name = root.group() if root else ""
        return name in _ALWAYS_SECRET or holds_secret(self.inputs.get(name))


def holds_secret(value: Any) -> bool:
    if value is SECRET:
        return True
    if isinstance(value, Mapping):
        return any(map(holds_secret, value.values()))
    return isinstance(value, list | tuple) and any(map(holds_secret, value))


def made_up(name: object) -> bool:
    """Whether a name is one that the provider makes up for a resource without one."""
    return isinstance(name, str) and _MADE_UP.fullmatch(name) is not None
