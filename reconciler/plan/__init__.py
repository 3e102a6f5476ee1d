"""Build a plan from findings, hold it against the rails, write it down and read it back. Pure."""

from __future__ import annotations

from reconciler.plan.build import build_plan
from reconciler.plan.canonical import canonical, digest, load

__all__ = ["build_plan", "canonical", "digest", "load"]
