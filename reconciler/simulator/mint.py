"""New ids, addresses and MACs: unique in a world, and the same again for the same seed."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from reconciler.kernel.randomness import Randomness
from reconciler.simulator.world import World


class Mint:
    def __init__(self, randomness: Randomness, *, taken: Callable[[str], bool]) -> None:
        """`taken` says whether an id exists: a world may have been made with the same seed before."""
        self._randomness, self._taken = randomness, taken

    def uuid(self) -> str:
        """A random UUID (version 4), as the cloud's ids are."""
        while True:
            fresh = str(uuid.UUID(int=self._randomness.bits(128), version=4))
            if not self._taken(fresh):
                return fresh

    def public_ipv4(self, world: World) -> str:
        """An address that no object of this world has: from the three ranges that recordings show."""
        while True:
            number = world.next_number()
            block, rest = divmod(number, 65_000)
            prefix = ("51.15", "51.158", "163.172", "212.47", "62.210", "51.159")[block % 6]
            address = f"{prefix}.{rest // 254}.{rest % 254 + 1}"
            if world.ips.count("address", address) == 0:
                return address

    def public_ipv6(self, world: World) -> str:
        number = world.next_number()
        return f"2001:bc8:{0x710 + number // 0x10000:x}:{number % 0x10000:x}::/64"

    def mac(self, world: World, prefix: str) -> str:
        """`de:00` for public interfaces, `02:00` for private ones."""
        number = world.next_number()
        return f"{prefix}:" + ":".join(f"{(number >> shift) & 0xFF:02x}" for shift in (24, 16, 8, 0))

    def private_ipv6(self, prefix: str) -> str:
        """An interface address inside a /64 such as `fd5f:519c:6d46:2759::/64`."""
        groups = [f"{self._randomness.bits(16) | 1:x}" for _ in range(4)]
        return prefix.split("::")[0] + ":" + ":".join(groups) + "/64"
