"""One world in the making: what its program declares, and what happens to it behind the program's back.

What a fault does not touch is drawn at random, so that two worlds of one cell are not the same world: addresses,
further volumes, a declared state, names, how much of the root volume is spelled out, a secret cloud-init.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from reconciler.simulator import ZONE
from reconciler.simulator.catalog import image_id

DECLARED: Final = "declared"
OMITTED: Final = "omitted"
IGNORED: Final = "ignored"
LABEL: Final = "label"
UUID: Final = "uuid"

_REGION: Final = "fr-par"
_REGIONAL: Final = frozenset({"private_network", "ipam"})
_LABELS: Final = ("ubuntu_noble", "debian_bookworm")
_TYPES: Final = ("DEV1-S", "DEV1-M", "PLAY2-PICO")


@dataclass
class Draft:
    """`resources` is what `rig_program` declares, `steps` what `steps.carry_out` does. Names get the world's prefix."""

    prefix: str
    image: str
    declaration: str
    secret: bool
    random: random.Random
    resources: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)

    # -- the program

    def add(self, kind: str, label: str, /, *, ignore: Sequence[str] = (), **args: Any) -> str:
        """Declare a resource; an argument that is None is left out. Returns the reference to it."""
        place = {"region": _REGION} if kind in _REGIONAL else {"zone": ZONE}
        given = {key: value for key, value in args.items() if value is not None}
        full = f"{self.prefix}-{label}"
        self.resources.append({"type": kind, "name": full, "args": {**place, **given}, "ignore": list(ignore)})
        return full

    def ref(self, full: str) -> dict[str, str]:
        return {"$ref": full}

    def server(
        self,
        label: str = "server",
        /,
        *,
        ignore: Sequence[str] = (),
        ip: bool | None = None,
        volume: bool | None = None,
        **touched: Any,
    ) -> str:
        """A server with what the fault touches as given, and the rest drawn. `ip`, `volume`: drawn when None."""
        args: dict[str, Any] = {
            "type": self.random.choice(_TYPES),
            "image": self._image(),
            "tags": [f"t{number}" for number in range(self.random.randint(1, 3))],
            "name": self.random.choice((None, f"{self.prefix}-{label}")),
            "state": self.random.choice((None, "started")),
            "root_volume": self.random.choice((None, root(), root(size_in_gb=20))),
            "cloud_init": {"$secret": "#cloud-config\n"} if self.secret else None,
        }
        if self._chance(ip) and not {"ip_id", "ip_ids"} & touched.keys():
            address = self.add("ip", f"{label}-ip", tags=["t0"])
            one, several = {"ip_id": self.ref(address)}, {"ip_ids": [self.ref(address)]}
            args |= self.random.choice((one, several))
        if self._chance(volume) and "additional_volume_ids" not in touched:
            extra = self.volume(f"{label}-data")
            args["additional_volume_ids"] = [self.ref(extra)]
        return self.add("server", label, ignore=ignore, **{**args, **touched})

    def volume(self, label: str = "volume", /, *, ignore: Sequence[str] = (), **touched: Any) -> str:
        args = {"iops": 5000, "size_in_gb": 10, "tags": ["t0"], "name": f"{self.prefix}-{label}"}
        return self.add("volume", label, ignore=ignore, **{**args, **touched})

    def attached_ip(self, label: str = "ip", /, *, ignore: Sequence[str] = (), **touched: Any) -> str:
        """An address, on a server or free."""
        address = self.add("ip", label, ignore=ignore, **{"tags": ["t0", "t1"], **touched})
        if self.random.random() < 0.5:
            self.server(ip_id=self.ref(address))
        return address

    def touching(self, name: str, value: Any, *, path: str | None = None) -> dict[str, Any]:
        """The arguments that declare, omit or ignore one property; `path` is its name in the state."""
        if self.declaration == OMITTED:
            return {name: None}
        return {name: value, **self.ignoring(path or name)}

    def ignoring(self, *paths: str) -> dict[str, Any]:
        return {"ignore": list(paths)} if self.declaration == IGNORED else {}

    def _image(self) -> str:
        label = self.random.choice(_LABELS)
        return label if self.image == LABEL else f"{ZONE}/{image_id(label, zone=ZONE)}"

    def _chance(self, wanted: bool | None) -> bool:
        return self.random.random() < 0.3 if wanted is None else wanted

    # -- the fault

    def happens(self, op: str, **args: Any) -> None:
        """One step of the fault. A text `$NAME` stands for the id of that resource, see `steps`."""
        self.steps.append({"op": op, **args})


def root(**values: Any) -> dict[str, Any]:
    """A root volume's arguments."""
    return {"volume_type": "sbs_volume", **values}
