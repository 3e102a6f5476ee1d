"""The one key, project and place that a simulator has when nobody says otherwise.

None of these is a credential of anything real: the secret is a constant of this file, public on purpose, so that
tests, the demo and the documentation can name it. It opens nothing but a simulator.
"""

from __future__ import annotations

from typing import Final

ORGANIZATION_ID: Final = "5ca1ab1e-0000-4000-8000-000000000001"
PROJECT_ID: Final = "5ca1ab1e-0000-4000-8000-000000000002"
# The Scaleway SDKs check both forms before they send anything: ^SCW[A-Z0-9]{17}$ and a UUID.
ACCESS_KEY: Final = "SCWSIMULATOR00000001"
SECRET_KEY: Final = "5ca1ab1e-0000-4000-8000-00000000abcd"  # noqa: S105  # opens a simulator only

ZONE: Final = "fr-par-1"
REGION: Final = "fr-par"
ZONES: Final = (
    "fr-par-1", "fr-par-2", "fr-par-3",
    "nl-ams-1", "nl-ams-2", "nl-ams-3",
    "pl-waw-1", "pl-waw-2", "pl-waw-3",
    "it-mil-1",
)  # fmt: skip
REGIONS: Final = ("fr-par", "nl-ams", "pl-waw", "it-mil")


def environment(url: str) -> dict[str, str]:
    """The variables that point Scaleway's tools, SDKs and provider, and this product, at a simulator at `url`."""
    return {
        "SCW_API_URL": url,
        "SCW_ACCESS_KEY": ACCESS_KEY,
        "SCW_SECRET_KEY": SECRET_KEY,
        "SCW_DEFAULT_ORGANIZATION_ID": ORGANIZATION_ID,
        "SCW_DEFAULT_PROJECT_ID": PROJECT_ID,
        "SCW_DEFAULT_REGION": REGION,
        "SCW_DEFAULT_ZONE": ZONE,
    }
