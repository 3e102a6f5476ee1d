"""The relation between the engine's verdicts and ours, for one resource.

1. What the engine would delete, we call missing; or the list of its kind is not believed, and we say so.
2. Each path that the engine says changed is a difference of ours, or is listed as not compared with the reason.
3. Each difference of ours that the engine lacks is in the published table of blind spots, and a GET confirmed it.
4. The table is true: what it calls blind, the engine does not report.

A resource that the engine could not read has no verdict to hold against ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from reconciler.model.finding import Verdict
from tests.e2e.equivalence_parts.engine_side import EngineVerdict
from tests.e2e.equivalence_parts.our_side import OurVerdict

_INDEX: Final = re.compile(r'\[(\d+|"[^"]*")\]')  # `tags[1]`, `userData["cloud-init"]`
# A server's addresses have two names, of which the engine reports one or both.
_SAME: Final = {"ipIds": "ipId"}


def judge(engine: EngineVerdict, ours: OurVerdict) -> Iterator[str]:
    """Every way in which the two verdicts break the relation, in words."""
    if engine.operation == "failed":
        return
    if engine.operation not in ("same", "update", "delete"):
        yield f"the engine wants {engine.operation}, which a refresh does not have"
    elif engine.operation == "delete" or ours.kind == "missing":
        yield from _gone(engine, ours)
    else:
        yield from _seen_by_engine(engine, ours)
        yield from _seen_by_us(engine, ours)


def _gone(engine: EngineVerdict, ours: OurVerdict) -> Iterator[str]:
    if engine.operation != "delete":
        yield "we say that it is missing, and the engine does not"
    elif not ours.covered:
        return
    elif ours.unknown is not None:
        if ours.verdict is Verdict.ACT:
            yield "the list of its kind is not believed, and we would act"
    elif ours.kind != "missing":
        yield "the engine says that it is gone, and we do not"
    elif ours.verdict is not Verdict.ACT:
        yield f"it is gone, and our verdict is {ours.verdict.value}"


def _seen_by_engine(engine: EngineVerdict, ours: OurVerdict) -> Iterator[str]:
    if engine.operation == "update" and not engine.paths:
        yield "the engine says that it changed, and not what"
    if not ours.covered:
        return
    ours_paths = [one.path for one in ours.differences] + list(ours.unlisted)
    for path in engine.paths:
        if not any(covers(mine, path) for mine in ours_paths):
            yield f"the engine sees {path}, which we neither report nor list as not compared"


def _seen_by_us(engine: EngineVerdict, ours: OurVerdict) -> Iterator[str]:
    if ours.kind == "changed" and not ours.differences:
        yield "we say that it changed, and not what"
    for mine in ours.differences:
        seen = any(covers(mine.path, path) for path in engine.paths)
        if not seen and mine.blind is None:
            yield f"we see {mine.path}, which the engine lacks and the table of blind spots does not hold"
        if seen and mine.blind is not None:
            yield f"the table of blind spots holds {mine.path} ({mine.blind}), and the engine sees it"
    if ours.differences and not ours.confirmed:
        yield "we say that it changed, and no GET confirmed it"


def covers(mine: str, path: str) -> bool:
    """Whether a property of ours is, or holds, the engine's path: `tags` covers `tags[1]`."""
    theirs = _INDEX.sub("", path)
    named, theirs = _SAME.get(mine, mine), _SAME.get(theirs, theirs)
    return theirs == named or theirs.startswith(f"{named}.")
