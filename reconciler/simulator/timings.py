"""How long the cloud takes for each transition, in seconds.

The defaults are medians of recorded traffic of 2026 (docs/simulator.md lists n and the spread). They were read by
pollers that ask every five seconds, so they are upper bounds. A simulator divides them all by its `speed`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    poweron: float = 5.0
    poweron_local: float = 16.0  # a root on local storage is copied first
    poweroff: float = 26.0
    standby: float = 44.0
    reboot: float = 41.0
    terminate: float = 5.0
    volume_create: float = 5.0
    volume_update: float = 5.0
    volume_attach: float = 1.0
    volume_detach: float = 48.0  # from a running server; at once from a stopped one
    volume_release: float = 5.0  # after the DELETE of its server
    snapshot: float = 5.0
    snapshot_local: float = 42.0  # of a volume on a node; at once where no server runs
    nic_attach: float = 56.0  # to a running server; at once to a stopped one
    ip_attach: float = 10.0  # to a running server; at once to a stopped one

    @classmethod
    def instant(cls) -> Timings:
        """Every transition is over before the next request."""
        return cls(**{item.name: 0.0 for item in fields(cls)})
