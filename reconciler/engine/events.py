"""The engine's own event stream, one JSON object per line on stdout of `refresh --json`.

Under `refresh` each resource that was read ends in a `resOutputsEvent` whose op is the *result*: `same`, `update`,
`delete`. One that could not be read has a diagnostic of severity `error` with its URN and no result. A preview prints
the stream only with `PULUMI_ENABLE_STREAMING_JSON_PREVIEW`; without it there is one digest at the end in which every
op is `refresh`, so a CLI that does not know the variable is told by what it prints and refused.

Old and new properties are in the events too. They are dropped here: they may hold user data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from reconciler.engine.environment import Scrubber, is_noise

_INTERNAL: Final = "pulumi:"
_PREAMBLE: Final = re.compile(r"^refreshing urn:\S+ \d+ errors? occurred:\s*\*?\s*|^(Preview|Refresh) failed: ")
_MESSAGE_LIMIT: Final = 300


class Events:
    """Collects the events of one command; fed line by line from the thread that drains the pipe."""

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self.operations: dict[str, str] = {}
        self._failures: dict[str, str] = {}
        self.errors: list[str] = []
        self.streamed = False
        self.succeeded: bool | None = None

    def feed(self, line: bytes) -> None:
        """One line. What is no event is left alone: the caller sees that nothing was streamed."""
        if not line.startswith(b'{"'):
            return
        try:
            event = json.loads(line)
        except ValueError:
            return
        if not isinstance(event, dict) or "sequence" not in event:
            return
        self.streamed = True
        self._result(_object(event, "resOutputsEvent"))
        self._failure(_object(event, "resOpFailedEvent"))
        self._diagnostic(_object(event, "diagnosticEvent"))
        summary = _object(event, "summaryEvent")
        if summary:
            self.succeeded = summary.get("result") != "failed"

    def failed(self) -> dict[str, str]:
        """URN -> why, for what was tried and has no result."""
        return {urn: why for urn, why in self._failures.items() if urn not in self.operations}

    def _result(self, event: Mapping[str, Any]) -> None:
        metadata = _object(event, "metadata")
        urn, op = metadata.get("urn"), metadata.get("op")
        if not isinstance(urn, str) or not isinstance(op, str) or str(metadata.get("type", "")).startswith(_INTERNAL):
            return
        if self.operations.get(urn) != "delete":  # of two results the worse one counts
            self.operations[urn] = op

    def _failure(self, event: Mapping[str, Any]) -> None:
        urn = _object(event, "metadata").get("urn")
        if isinstance(urn, str):
            self._failures.setdefault(urn, "the engine reports that the read failed")

    def _diagnostic(self, event: Mapping[str, Any]) -> None:
        message = event.get("message")
        if event.get("severity") != "error" or not isinstance(message, str) or is_noise(message):
            return
        text = message.strip()
        while (shorter := _PREAMBLE.sub("", text)) != text:
            text = shorter
        said = self._scrubber.message(text, limit=_MESSAGE_LIMIT)
        urn = event.get("urn")
        if isinstance(urn, str) and urn and not _of_stack(urn):
            self._failures[urn] = said
        else:
            self.errors.append(said)


def _object(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _of_stack(urn: str) -> bool:
    return urn.split("::")[2:3] == ["pulumi:pulumi:Stack"]
