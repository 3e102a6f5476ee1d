"""Files and environment for configuration tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.config.errors import InvalidConfig, Problem
from reconciler.config.load import Loaded, load

UUID = "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c11"
OTHER = "6f1e6d2a-0c1b-4a53-9a39-0d5b0f3f3c12"
PROJECT = "5ca1ab1e-0000-4000-8000-000000000002"

MINIMAL = f"""\
[state]
stacks = ["ci/*"]

[[scope]]
name = "ci"
uuid = "{UUID}"
project = "{PROJECT}"
"""

FULL = f"""\
database_url = "sqlite:///memory.db"

[state]
stacks = ["ci/linux-prod", "render/*"]
backend_url = "file:///var/lib/pulumi"
work_dir = "infra"
projects = {{ ci = "infra/ci" }}

[[scope]]
name = "ci"
uuid = "{UUID}"
project = "{PROJECT}"
zones = "all"
ownership = "two-proofs"
never = {{ tags = ["keep"], names = ["bastion*", "pvc-*"], ids = [] }}
grace = "20m"
create_deadline = "10m"

[[scope]]
name = "render"
uuid = "{OTHER}"
project = "{PROJECT}"
zones = ["nl-ams-1"]

[scope.never]
names = ["gateway"]

[[fleet]]
name = "linux"
scope = "ci"
controller = "external"
match = {{ urn = "**::scaleway:instance/server:Server::ci-*", tags = ["role=ci"], name = "ci-linux-*", require = 2 }}
max_create = "25m"
actions = {{ orphan = "ask", detached_volume = "destroy", detached_ip = "ask" }}

[records]
adapter = "none"

[limits]
reconcile = {{ count = 20, percent = 5, eur_month = 300 }}
lifecycle = {{ per_hour = 400 }}
shrink_percent = 25
error_percent = 10
unknown_percent = 10
clock_skew = "30s"
plan_ttl = "2h"

[prices]
ip_hour = 0.005
sbs_gb_hour = 0.0001

[pulumi]
command = "/opt/pulumi/bin/pulumi"

[pulumi.deadlines]
export = "1m"
preview = "5m"
refresh = "20m"

[output]
format = "json"
color = "never"
"""


def write(folder: Path, text: str = MINIMAL, *, name: str = "reconciler.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def home(folder: Path) -> dict[str, str]:
    """An environment with a home of its own, and nothing else."""
    return {"HOME": str(folder / "home")}


def loaded(folder: Path, text: str = MINIMAL, *, env: Mapping[str, str] | None = None, **options: object) -> Loaded:
    write(folder, text)
    return load(folder, environ={**home(folder), **(env or {})}, **options)  # type: ignore[arg-type]


def mistakes(folder: Path, text: str, *, env: Mapping[str, str] | None = None) -> list[Problem]:
    """What is wrong with this configuration, which must be wrong."""
    with pytest.raises(InvalidConfig) as raised:
        loaded(folder, text, env=env)
    return list(raised.value.problems)


def mistake(folder: Path, text: str, *, env: Mapping[str, str] | None = None) -> Problem:
    (problem,) = mistakes(folder, text, env=env)
    return problem
