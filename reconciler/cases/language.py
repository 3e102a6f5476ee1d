"""The case language: every key, its shape and its line in the reference. What exists is in `language_world`.

Published as docs/schemas/case.json by `json_schema`; `reader.load` makes frozen values of what is read here.
"""

from __future__ import annotations

from typing import Any, Final

from reconciler.cases.compound import Key, ListOf, MapOf, OneOf, Plain, Record
from reconciler.cases.language_world import (
    NONE,
    PROCESS,
    RESOURCE,
    RIGHTS,
    ROW,
    ROW_LEFT,
    STACK,
    STACK_CHANGE,
    TAGS,
)
from reconciler.cases.shapes import COUNT, DURATION, INSTANT, MONEY, TEXT, Choice, Name, Scalar

RULE: Final = Scalar("a rule, 1 to 17", ("int",), int, {"type": "integer", "minimum": 1, "maximum": 17})
NAMES_OR_NONE: Final = OneOf(((("str",), Name()), (("seq",), ListOf(Name()))))
_NAMES: Final = ListOf(Name(), lone=True)
_TEXTS: Final = ListOf(TEXT, lone=True)
_NUMBER: Final = Scalar("a number, or a bound such as `<= 12`", ("int", "str"), str, {"type": ["integer", "string"]})

EXPECTED: Final = Record(
    "an expected finding",
    {
        "verdict": Key(shape=Choice(("act", "wait", "ask", "unknown", "none")), help="The verdict.", required=True),
        "action": Key(
            shape=Choice(("none", "refresh", "tag", "destroy", "up", "adopt", "clear", "record", "attach", "purge")),
            help="What is to be done.",
        ),
        "reason": Key(shape=TEXT, help="Text that the reason contains."),
        "rule": Key(shape=TEXT, help="Text that the rule contains."),
        "wait": Key(shape=DURATION, help="How long it waits still."),
        "eur": Key(shape=MONEY, help="What it costs."),
        "changed": Key(shape=ListOf(TEXT, lone=True), help="The properties that differ, all of them."),
        "with": Key(shape=ListOf(Name(), lone=True), help="The other subjects, all of them."),
    },
)
_FINDING: Final = OneOf(((("str",), TEXT), (("map",), EXPECTED)))
_FINDINGS: Final = OneOf(((("map",), MapOf(_FINDING)), (("str",), NONE)))
OUTPUT: Final = OneOf(
    (
        (("str",), TEXT),
        (("seq",), ListOf(TEXT)),
        (
            ("map",),
            Record(
                "what a command says",
                {
                    "has": Key(shape=_TEXTS, help="Texts that are in it."),
                    "lacks": Key(shape=_TEXTS, help="Texts that are not."),
                },
            ),
        ),
    )
)
DO: Final = MapOf(OneOf(((("str",), Name()), (("map",), Plain("arguments", "object")))), words="an operation")
DURING: Final = Record(
    "something that happens meanwhile",
    {
        "request": Key(shape=TEXT, help="Before which request: `METHOD PATH`, a glob as in faults.", required=True),
        "nth": Key(shape=COUNT, help="Before the n-th that matches, from 1.", default="1"),
        "do": Key(shape=DO, help="What a stranger does, as in a step.", required=True),
    },
)
CALLS: Final = MapOf(_NUMBER, words="a mapping of counters")
STEP: Final = Record(
    "a step",
    {
        "run": Key(
            shape=TEXT,
            help="A command line of `reconciler`, without that word. `{w1}` in it stands for the id of w1.",
        ),
        "advance": Key(shape=DURATION, help="Time that passes."),
        "do": Key(shape=DO, help="What a stranger does to the cloud, or to a state: one operation with its arguments."),
        "faults": Key(
            shape=OneOf(((("seq",), Plain("a list of rules", "array")), (("str",), NONE))),
            help="The fault rules from here on; `none` ends them.",
        ),
        "lies": Key(
            shape=OneOf(((("seq",), Plain("a list of lies", "array")), (("str",), NONE))),
            help="The lies from here on; `none` ends them.",
        ),
        "stacks": Key(shape=MapOf(STACK_CHANGE), help="What changes about stacks; what is not named stays."),
        "key": Key(shape=RIGHTS, help="The rights of the key from here on; what is not named is granted."),
        "exit": Key(shape=COUNT, help="The exit status of `run`."),
        "findings": Key(
            shape=_FINDINGS, help="All findings of `drift` but `unmanaged`: `KIND SUBJECT: VERDICT ACTION`."
        ),
        "includes": Key(shape=MapOf(_FINDING), help="Some of the findings of `drift`."),
        "counts": Key(
            shape=OneOf(((("map",), MapOf(COUNT, words="a count for each kind")), (("str",), NONE))),
            help="How many findings of each kind `drift` has; `unmanaged` ones are looked at only where mentioned.",
        ),
        "actions": Key(
            shape=OneOf(((("map",), MapOf(TEXT)), (("str",), NONE))),
            help="All actions of `plan` (`planned`) or `apply` (`done`, `skipped`, `waiting`, `failed`): "
            "`ACTION SUBJECT: STATUS`.",
        ),
        "deletes": Key(shape=NAMES_OR_NONE, help="All that disappears from the cloud in this step, strangers apart."),
        "calls": Key(shape=CALLS, help="How often this step calls the API."),
        "stdout": Key(shape=OUTPUT, help="Text that stdout has."),
        "stderr": Key(shape=OUTPUT, help="Text that stderr has."),
        "kill": Key(shape=TEXT, help="The process dies at this step of the journal, such as `destroy.decided`."),
        "nth": Key(shape=COUNT, help="It dies at the n-th such step.", default="1"),
        "during": Key(shape=ListOf(DURING), help="What happens while the command runs."),
    },
    one_of=("run", "advance", "do", "faults", "lies", "stacks", "key"),
)
EXPECT: Final = Record(
    "what must hold at the end",
    {
        "deletes": Key(
            shape=NAMES_OR_NONE,
            help="All that the commands removed from the cloud.",
            default="what the steps name; else none",
        ),
        "survive": Key(shape=_NAMES, help="What is still in the cloud."),
        "tags": Key(shape=MapOf(TAGS), help="The tags of resources, in any order."),
        "state": Key(shape=MapOf(NAMES_OR_NONE), help="Stack -> the names of all its resources (no components)."),
        "pending": Key(
            shape=MapOf(OneOf(((("seq",), ListOf(TEXT)), (("str",), TEXT)))),
            help="Stack -> its pending operations, as `creating w3`; or `none`.",
        ),
        "calls": Key(shape=CALLS, help="How often all commands together call the API."),
        "rows": Key(
            shape=OneOf(((("seq",), ListOf(ROW_LEFT)), (("str",), NONE))), help="All rows of the records; `none`."
        ),
    },
)
CASE: Final = Record(
    "a case",
    {
        "why": Key(shape=TEXT, help="What happened, and what must never happen.", required=True),
        "source": Key(
            shape=ListOf(TEXT, lone=True), help="Reports and claims that it covers, such as R121.", default="none"
        ),
        "rules": Key(shape=ListOf(RULE, lone=True), help="The rules of docs/rules.md that it holds.", default="none"),
        "engine": Key(
            shape=TEXT,
            help="`no, REASON` for a case that the real engine cannot play.",
            default="it can",
        ),
        "seed": Key(shape=COUNT, help="The seed of everything that is random.", default="1"),
        "start": Key(shape=INSTANT, help="The time of the first step.", default="2026-11-30T00:00:00Z"),
        "memory": Key(
            shape=OneOf(((("str", "int"), DURATION),)),
            help="How long before the start the first sweep was; `0s`: there was none.",
            default="2d",
        ),
        "settings": Key(
            shape=Plain("a mapping", "object"),
            help="Keys of the scope, or tables of reconciler.toml (`fleet`, `limits`, `prices`).",
        ),
        "key": Key(shape=RIGHTS, help="What the API key may do from the first step on.", default="everything"),
        "options": Key(shape=Plain("a mapping", "object"), help="Options of the simulated world (docs/simulator.md)."),
        "timings": Key(shape=Choice(("real", "instant")), help="How long the cloud takes.", default="real"),
        "stacks": Key(shape=MapOf(STACK), help="The stacks by name, `project/stack`.", default="`ci/prod`"),
        "resources": Key(shape=ListOf(RESOURCE), help="What exists, and in which ledgers.", default="nothing"),
        "recorded": Key(
            shape=TEXT,
            help="The file that `simulate record` wrote beside the case: a live scope instead of `resources`.",
        ),
        "records": Key(shape=ListOf(ROW), help="Rows of the records.", default="none"),
        "processes": Key(
            shape=ListOf(PROCESS), help="Processes on this host that may still be at work.", default="none"
        ),
        "faults": Key(
            shape=Plain("a list of rules", "array"), help="Fault rules from the first step on.", default="none"
        ),
        "lies": Key(shape=Plain("a list of lies", "array"), help="Lies from the first step on.", default="none"),
        "steps": Key(shape=ListOf(STEP, least=1), help="What happens, in order.", required=True),
        "expect": Key(shape=EXPECT, help="What must hold at the end."),
    },
)


def json_schema() -> dict[str, Any]:
    """The published schema of a case file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://reconciler.invalid/case.json",
        "title": "A case of `reconciler simulate run`",
        **CASE.schema(),
    }
