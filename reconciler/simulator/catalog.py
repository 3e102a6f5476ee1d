"""What the provider sells: server types with prices, marketplace images, storage prices.

`server_types.csv` holds what the API published for fr-par-1 in July and August 2026 (136 types, EUR without tax). Image
ids are made from label, zone, storage and architecture, so they are the same in every simulator and every run.
Product prices of IPs are in no API: the IPv4 price below is the published one.
"""

from __future__ import annotations

import csv
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from reconciler.simulator.defaults import ZONES
from reconciler.simulator.records_static import Image
from reconciler.simulator.wire import Json, time_z

SCALEWAY_ORGANIZATION: Final = "51b656e3-4865-41e8-adbc-0c45bdd780db"
_IMAGE_SPACE: Final = uuid.UUID("5ca1ab1e-0000-5000-8000-000000000000")
_IMAGES_BORN_MS: Final = 1_778_598_306_000  # 12 May 2026, when the recorded ones were published

_X86: Final = ("x86_64",)
_BOTH: Final = ("x86_64", "arm64")
# label -> (name, architectures, whether a local-storage variant exists). The labels are those of the recorded list;
# architectures and variants were recorded for Ubuntu, openvpn and Windows.
LABELS: Final[Mapping[str, tuple[str, tuple[str, ...], bool]]] = {
    "ubuntu_bionic": ("Ubuntu 18.04 Bionic Beaver", _X86, True),
    "ubuntu_focal": ("Ubuntu 20.04 Focal Fossa", _BOTH, True),
    "ubuntu_jammy": ("Ubuntu 22.04 Jammy Jellyfish", _BOTH, True),
    "ubuntu_noble": ("Ubuntu 24.04 Noble Numbat", _BOTH, True),
    "ubuntu_jammy_gpu_os_12": ("Ubuntu Jammy GPU OS 12", _X86, False),
    "ubuntu_noble_gpu_os_12": ("Ubuntu Noble GPU OS 12", _X86, False),
    "debian_bullseye": ("Debian 11 (Bullseye)", _BOTH, True),
    "debian_bookworm": ("Debian 12 (Bookworm)", _BOTH, True),
    "debian_trixie": ("Debian 13 (Trixie)", _BOTH, True),
    "almalinux_8": ("AlmaLinux 8", _X86, True),
    "almalinux_9": ("AlmaLinux 9", _X86, True),
    "centos_stream_9": ("Centos Stream 9", _X86, True),
    "fedora_40": ("Fedora 40", _X86, True),
    "fedora_41": ("Fedora 41", _X86, True),
    "fedora_42": ("Fedora 42", _X86, True),
    "fedora_43": ("Fedora 43", _X86, True),
    "rockylinux_8": ("Rocky Linux 8", _X86, True),
    "rockylinux_9": ("Rocky Linux 9", _X86, True),
    "docker": ("Docker", _X86, True),
    "gitlab": ("GitLab", _X86, True),
    "nextcloud": ("NextCloud", _X86, True),
    "openvpn": ("openvpn", _X86, True),
    "wordpress": ("WordPress", _X86, True),
    "kapsule": ("Kapsule", _X86, False),
    "kapsule_jammy": ("Kapsule Jammy", _X86, False),
    "kapsule_noble": ("Kapsule Noble", _X86, False),
    "windows_server_2022": ("Windows Server 2022", _X86, False),
    "windows_server_2022_core": ("Windows Server 2022 Core", _X86, False),
}

_CATEGORIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("docker", "gitlab", "nextcloud", "openvpn", "wordpress"), "instantapp"),
    **dict.fromkeys(("kapsule", "kapsule_jammy", "kapsule_noble"), "kapsule"),
    **dict.fromkeys(("ubuntu_jammy_gpu_os_12", "ubuntu_noble_gpu_os_12"), "Machine Learning"),
}
# Labels that the marketplace lists only to those who ask for what has ended.
_END_OF_LIFE: Final[Mapping[str, str]] = {"ubuntu_bionic": "2023-06-01T00:00:00Z"}

# EUR per GB and hour, in billionths (the API's `nanos`).
SBS_PRICES: Final[Mapping[int, int]] = {5000: 118_000, 15000: 177_000}
SBS_SNAPSHOT_NANOS: Final = 44_000
# EUR per hour of a public IPv4 address, attached or not.
IPV4_NANOS: Final = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """A type that is sold no more: the product catalog still has it, with its end and what replaces it."""

    nanos: int
    range: str
    replacement: str
    end_of_life_at: str


RETIRED: Final[Mapping[str, Retired]] = {
    "ENT1-S": Retired(
        nanos=290_000_000, range="General Purpose", replacement="POP2-8C-32G", end_of_life_at="2025-09-01T00:00:00Z"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerType:
    name: str
    arch: str
    ncpus: int
    ram: int
    gpu: int
    volumes_max: int
    l_ssd_min: int
    l_ssd_max: int
    scratch_max: int
    scratch_count: int
    monthly: float
    hourly: float
    private_networks: int
    file_systems: int
    internal_bandwidth: int
    bandwidth: int
    block_bandwidth: int
    hot_snapshots: int
    end_of_service: int

    @property
    def local_storage(self) -> bool:
        return self.volumes_max > 0


@cache
def server_types() -> Mapping[str, ServerType]:
    """All types by name, in order of name."""
    text = (resources.files("reconciler.simulator") / "server_types.csv").read_text()
    found = {}
    for row in csv.DictReader(text.splitlines()):
        numbers = {key: int(value) for key, value in row.items() if key not in {"name", "arch", "monthly", "hourly"}}
        prices = {"monthly": float(row["monthly"]), "hourly": float(row["hourly"])}
        found[row["name"]] = ServerType(name=row["name"], arch=row["arch"], **numbers, **prices)  # type: ignore[arg-type]
    return dict(sorted(found.items()))


def render_type(item: ServerType) -> Json:
    """One entry of `products/servers`."""
    gpu = None
    if item.gpu:
        name, memory = ("P100", 17179869184) if item.name.startswith("RENDER") else ("L4", 25769803776)
        gpu = {"gpu_manufacturer": "NVIDIA", "gpu_name": name, "gpu_memory": memory}
    return {
        "alt_names": [],
        "arch": item.arch,
        "ncpus": item.ncpus,
        "ram": item.ram,
        "gpu": item.gpu,
        "gpu_info": gpu,
        "mig_profile": None,
        "volumes_constraint": {"min_size": 0, "max_size": item.volumes_max},
        "per_volume_constraint": {"l_ssd": {"min_size": item.l_ssd_min, "max_size": item.l_ssd_max}},
        "scratch_storage_max_size": item.scratch_max,
        "scratch_storage_max_volumes_count": item.scratch_count,
        "monthly_price": item.monthly,
        "hourly_price": item.hourly,
        "capabilities": {
            "boot_types": ["local", "rescue"],
            "placement_groups": True,
            "block_storage": True,
            "hot_snapshots_local_volume": bool(item.hot_snapshots),
            "private_network": item.private_networks,
            "max_file_systems": item.file_systems,
        },
        "network": {
            "ipv6_support": True,
            "sum_internal_bandwidth": item.internal_bandwidth,
            "sum_internet_bandwidth": item.bandwidth,
            "interfaces": [
                {"internal_bandwidth": item.internal_bandwidth, "internet_bandwidth": item.bandwidth}
            ],
        },
        "block_bandwidth": item.block_bandwidth,
        "end_of_service": bool(item.end_of_service),
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class LocalImage:
    """A marketplace image in one zone, for one architecture and one kind of root storage."""

    id: str
    label: str
    name: str
    zone: str
    arch: str
    type: str  # instance_sbs | instance_local
    snapshot: str

    @property
    def image(self) -> Image:
        """The same thing as the Instance API shows it."""
        return Image(
            id=self.id,
            name=self.name,
            zone=self.zone,
            project=SCALEWAY_ORGANIZATION,
            organization=SCALEWAY_ORGANIZATION,
            arch=self.arch,
            root_snapshot=self.snapshot,
            root_type="sbs_snapshot" if self.type == "instance_sbs" else "l_ssd",
            public=True,
            created_ms=_IMAGES_BORN_MS,
            updated_ms=_IMAGES_BORN_MS,
        )

    def render(self) -> Json:
        return {
            "id": self.id,
            "arch": self.arch,
            "zone": self.zone,
            "compatible_commercial_types": list(_compatible(self.arch, self.type)),
            "label": self.label,
            "type": self.type,
        }


@cache
def _compatible(arch: str, kind: str) -> tuple[str, ...]:
    types = server_types().values()
    return tuple(item.name for item in types if item.arch == arch and (kind == "instance_sbs" or item.local_storage))


@cache
def local_images() -> Mapping[str, LocalImage]:
    """Every marketplace image of every zone, by id."""
    found = {}
    for label, (name, archs, local) in LABELS.items():
        for zone in ZONES:
            for arch in archs:
                kinds = ("instance_local", "instance_sbs") if local and arch == "x86_64" else ("instance_sbs",)
                for kind in kinds:
                    path = f"{label}/{zone}/{arch}/{kind}"
                    image_id, snapshot = (str(uuid.uuid5(_IMAGE_SPACE, part + path)) for part in ("", "snapshot/"))
                    found[image_id] = LocalImage(image_id, label, name, zone, arch, kind, snapshot)
    return found


@cache
def image_id(label: str, *, zone: str, kind: str = "instance_sbs", arch: str = "x86_64") -> str:
    """The id that a label stands for. Raises KeyError for what the marketplace lacks."""
    for item in local_images().values():
        if (item.label, item.zone, item.type, item.arch) == (label, zone, kind, arch):
            return item.id
    raise KeyError(f"{label} {zone} {kind} {arch}")


def marketplace_image(label: str) -> Json:
    """A label as the marketplace describes it, whatever the zone."""
    return {
        "id": str(uuid.uuid5(_IMAGE_SPACE, f"marketplace/{label}")),
        "name": LABELS[label][0],
        "label": label,
        "description": LABELS[label][0],
        "logo": f"https://scw-marketplace-logos.s3.fr-par.scw.cloud/{label.split('_')[0]}.png",
        "categories": [_CATEGORIES.get(label, "distribution")],
        "valid_until": _END_OF_LIFE.get(label),
        "created_at": time_z(_IMAGES_BORN_MS),
        "updated_at": time_z(_IMAGES_BORN_MS),
    }


@cache
def public_snapshots() -> frozenset[str]:
    """Root snapshots of the marketplace's images: not the user's, so a GET of one answers 403."""
    return frozenset(item.snapshot for item in local_images().values())
