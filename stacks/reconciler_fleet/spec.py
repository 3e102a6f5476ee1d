"""The arguments of a fleet, and the digest of what cannot change on a living machine.

The revision is 12 hex digits over zone, commercial type, image, root volume and cloud-init: what a machine is made
from. How many machines there are, their network, extra volumes and tags are not in it.

A digest of a secret is a secret too unless it is keyed: who knows the template around a short password could try them
all. So a cloud-init (or image) that is not a plain string goes into the digest through HMAC-SHA-256 under a random key
of the fleet, which lives as a secret in Pulumi's state (`keyed_mark`). Without the key, the revision in the tags of a
machine says nothing about the secret.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pulumi

from reconciler_fleet.vocabulary import check_iops, check_name, check_scope, check_size, check_tag, check_zone

REVISION_DIGITS: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class RootVolume:
    """The root volume, on Block Storage (SBS). `iops` None: the image's default, which is 5000 on today's images."""

    size_gb: int = 20
    iops: int | None = None

    def __post_init__(self) -> None:
        check_size(self.size_gb)
        if self.iops is not None:
            check_iops(self.iops)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraVolume:
    """One more block volume per machine. Its name is `<fleet>-<slot>-<name>`."""

    name: str
    size_gb: int
    iops: int = 5000

    def __post_init__(self) -> None:
        check_name(self.name)
        check_size(self.size_gb)
        check_iops(self.iops)


@dataclass(frozen=True, slots=True)
class NewPrivateNetwork:
    """Ask for a private network of the fleet's own, in the region of its zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFleetArgs:
    """What a fleet is made of.

    Static: `replicas` machines, each a Pulumi resource. Elastic: `minimum` to `maximum` machines, made on demand by
    the reconciler and never by `pulumi up`. Exactly one of the two. Sizes are GB. `protect` is Pulumi's resource
    option, `protected` Scaleway's server protection. Raises ValueError with a reason.
    """

    scope: str
    zone: str
    type: str
    image: pulumi.Input[str]
    replicas: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    root: RootVolume = field(default_factory=RootVolume)
    volumes: tuple[ExtraVolume, ...] = ()
    public_ip: bool = True
    private_network: pulumi.Input[str] | NewPrivateNetwork | None = None
    security_group_id: pulumi.Input[str] | None = None
    placement_group_id: pulumi.Input[str] | None = None
    cloud_init: pulumi.Input[str] | None = None
    tags: tuple[str, ...] = ()
    protect: bool = False
    protected: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scope", check_scope(self.scope))
        check_zone(self.zone)
        check_bounds(replicas=self.replicas, minimum=self.minimum, maximum=self.maximum)
        for tag in self.tags:
            check_tag(tag)
        names = [volume.name for volume in self.volumes]
        if len(set(names)) != len(names):
            raise ValueError("two extra volumes have the same name")

    @property
    def controller(self) -> str:
        return "static" if self.replicas is not None else "elastic"

    @property
    def needs_key(self) -> bool:
        """Whether something in the digest may be secret: an Output does not say so before the engine runs."""
        return isinstance(self.image, pulumi.Output) or isinstance(self.cloud_init, pulumi.Output)


def check_bounds(*, replicas: int | None, minimum: int | None, maximum: int | None) -> None:
    """Exactly one of `replicas` and the pair `minimum`, `maximum`. Raises ValueError."""
    if (replicas is None) == (minimum is None and maximum is None):
        raise ValueError("a fleet has either `replicas` (static) or `min` and `max` (elastic)")
    if replicas is not None:
        if not 0 <= replicas <= 1000:
            raise ValueError("`replicas` is 0 to 1000")
        return
    if minimum is None or maximum is None or not 0 <= minimum <= maximum:
        raise ValueError("an elastic fleet has both `min` and `max`, and 0 <= min <= max")


def plain_mark(text: str) -> str:
    """How a text that is no secret stands in spec and digest."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def keyed_mark(text: str, *, key: str) -> str:
    """How a text that may be secret stands in spec and digest; `key` is the fleet's random key."""
    return f"hmac-sha256:{hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()[:32]}"


def revision_of(parts: Mapping[str, Any]) -> str:
    """12 hex digits of the canonical JSON of `parts`."""
    canonical = json.dumps(dict(parts), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:REVISION_DIGITS]
