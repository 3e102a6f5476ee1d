"""SARIF 2.1.0 (OASIS), as GitHub's code scanning takes it.

Limits there: 25,000 results a run (more are refused as a whole), stable rule ids and paths, compact JSON. All results
of a stack are on one line, so each carries a fingerprint, or they would be merged into one. What is over the limit is
named in a notification, the worst are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from reconciler import __version__
from reconciler.report.review import Level, Remark, worst

MOST_RESULTS: Final = 25_000
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final[dict[Level, Literal["error", "warning", "note"]]] = {
    Level.ERROR: "error",
    Level.WARNING: "warning",
    Level.NOTE: "note",
}


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True
    )


class Message(_Part):
    text: str


class Rule(_Part):
    id: str
    short_description: Message


class ArtifactLocation(_Part):
    uri: str


class Region(_Part):
    start_line: Annotated[int, Field(ge=1)]


class PhysicalLocation(_Part):
    artifact_location: ArtifactLocation
    region: Region


class LogicalLocation(_Part):
    fully_qualified_name: str
    kind: Literal["resource"] = "resource"


class Location(_Part):
    physical_location: PhysicalLocation
    logical_locations: list[LogicalLocation]


class Suppression(_Part):
    kind: Literal["external"] = "external"
    justification: str


class Result(_Part):
    rule_id: str
    rule_index: int
    level: Literal["error", "warning", "note"]
    message: Message
    locations: list[Location]
    partial_fingerprints: dict[str, str]
    suppressions: list[Suppression] | None = None


class Driver(_Part):
    name: Literal["reconciler"] = "reconciler"
    version: str
    rules: list[Rule]


class Tool(_Part):
    driver: Driver


class Notification(_Part):
    level: Literal["warning"] = "warning"
    message: Message


class Invocation(_Part):
    execution_successful: bool
    tool_execution_notifications: list[Notification]


class Run(_Part):
    tool: Tool
    invocations: list[Invocation]
    results: list[Result]
    column_kind: Literal["unicodeCodePoints"] = "unicodeCodePoints"


class Log(_Part):
    schema_uri: Annotated[str, Field(serialization_alias="$schema")] = SCHEMA
    version: Literal["2.1.0"] = "2.1.0"
    runs: list[Run]


def to_sarif(remarks: Sequence[Remark]) -> str:
    """The text of one log with one run."""
    kept, left_out = worst(remarks, MOST_RESULTS)
    meanings: dict[str, str] = {}
    for remark in kept:
        meanings.setdefault(remark.rule, remark.meaning)
    places = {rule: place for place, rule in enumerate(sorted(meanings))}
    more = f"{left_out} more, all of them less severe, were left out: {MOST_RESULTS} results are the most"
    notes = [Notification(message=Message(text=more))] if left_out else []
    run = Run(
        tool=Tool(
            driver=Driver(
                version=__version__,
                rules=[Rule(id=rule, short_description=Message(text=meanings[rule])) for rule in places],
            )
        ),
        invocations=[Invocation(execution_successful=True, tool_execution_notifications=notes)],
        results=[_result(remark, places[remark.rule]) for remark in kept],
    )
    return Log(runs=[run]).model_dump_json(exclude_none=True, ensure_ascii=True) + "\n"


def _result(remark: Remark, index: int) -> Result:
    location = PhysicalLocation(
        artifact_location=ArtifactLocation(uri=quote(remark.place.path)), region=Region(start_line=remark.place.line)
    )
    waived = [Suppression(justification=remark.waived)] if remark.waived is not None else None
    return Result(
        rule_id=remark.rule,
        rule_index=index,
        level=_LEVELS[remark.level],
        message=Message(text=remark.message),
        locations=[
            Location(
                physical_location=location, logical_locations=[LogicalLocation(fully_qualified_name=remark.subject)]
            )
        ],
        partial_fingerprints={"primaryLocationLineHash": remark.fingerprint},
        suppressions=waived,
    )
