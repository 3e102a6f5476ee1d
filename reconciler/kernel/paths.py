"""Paths as people write them."""

from __future__ import annotations

from pathlib import Path


def at_home(text: str) -> Path:
    """The path, with a leading `~` as the home folder. Where nobody knows of one (no HOME, no such user) `~` stays as
    it is, and whoever opens the path says that it is not there."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)
