"""The published JSON Schema of the drift document, as packaged beside this module."""

from __future__ import annotations

from importlib.resources import files


def drift_schema() -> str:
    """The text of `drift.schema.json` (JSON Schema, draft 2020-12)."""
    return files("reconciler.report").joinpath("drift.schema.json").read_text(encoding="utf-8")
