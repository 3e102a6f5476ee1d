"""Logs: events with fields on stderr, from the level that the user asked for.

structlog writes to stdout unless it is told otherwise, which would spoil a result that somebody pipes; so every
command that opens the world configures it first. Values are escaped by the renderer (`repr`), never shown raw.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

_LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)


def configure(*, verbose: int) -> None:
    """`verbose` counts `-v`: warnings, then infos, then everything."""
    import structlog

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.KeyValueRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[min(verbose, len(_LEVELS) - 1)]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
