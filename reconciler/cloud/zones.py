"""The places that exist. Recorded in 2026: ten zones in four regions; a project's listing covers them all by default,
because what nobody expects to be billed is where nobody looks."""

from __future__ import annotations

from typing import Final

from reconciler.model.resources import region_of

ZONES: Final = (
    "fr-par-1", "fr-par-2", "fr-par-3",
    "nl-ams-1", "nl-ams-2", "nl-ams-3",
    "pl-waw-1", "pl-waw-2", "pl-waw-3",
    "it-mil-1",
)  # fmt: skip

REGIONS: Final = tuple(dict.fromkeys(region_of(zone) for zone in ZONES))
FIRST_ZONES: Final = tuple(next(zone for zone in ZONES if region_of(zone) == region) for region in REGIONS)
