"""`preflight`: may `pulumi up` be run now? A check for the line before it, in CI and by hand.

It needs no database, and no configuration where stacks are named: the backend is where `pulumi` itself would look, the
key is that of the environment. Nothing is written.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK, UsageError, worst_exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.composition import Runtime
    from reconciler.cli.options import Globals
    from reconciler.observe.preflight import Problem, Project, StackCheck
    from reconciler.report.layout import Block

_STYLE = {"lock": "yellow", "interrupted": "bold red", "twin": "bold red"}


@click.command("preflight")
@click.argument("stacks", nargs=-1, metavar="[STACK]...")
@click.option("-j", "--json", "as_json", is_flag=True, help="The check as JSON.")
@click.pass_obj
def command(options: Globals, stacks: tuple[str, ...], as_json: bool) -> int:
    """Check before `pulumi up` that it makes no second machine.

    Ends with 6 when a stack is locked, has interrupted operations, or when a machine stands where `up` would put one;
    with 7 when that could not be read; with 0 when `pulumi up` may run. Without STACK, every stack of the
    configuration is checked.
    """
    from reconciler.cli.composition import open_runtime
    from reconciler.observe.preflight import preflight

    out = Out(options)
    runtime = open_runtime(options, need_scopes=not stacks)
    engine = runtime.engine()
    names = engine.stacks(_patterns(stacks, runtime))
    if not names:
        raise UsageError(
            "there is no stack to check", code="RC0665", hint="Name one: `reconciler preflight PROJECT/STACK`."
        )
    checks = preflight(names, engine=engine, projects=_projects(runtime), executor=runtime.executor)
    status = worst_exit(*(check.exit_status for check in checks))
    _say_errors(checks)
    if as_json:
        _write_json(checks, status=status, out=out)
    else:
        out.blocks(_blocks(checks))
    return status


def _patterns(stacks: Sequence[str], runtime: Runtime) -> tuple[str, ...]:
    from reconciler.cli.stack_names import full_name

    named = tuple(full_name(stack, start=Path.cwd()) for stack in stacks)
    return named or tuple(dict.fromkeys(pattern for scope in runtime.scopes(()) for pattern in scope.stacks))


def _projects(runtime: Runtime) -> list[Project]:
    """The configured projects; without a configuration the one that the environment names."""
    from reconciler.model.scope import KNOWN_ZONES, Scope
    from reconciler.observe.preflight import Project

    scopes = runtime.scopes(()) or (Scope(name="environment", uuid="", project="", zones=KNOWN_ZONES),)
    by_project = {scope.project: scope for scope in reversed(scopes)}
    return [
        Project(scope=scope, open=lambda scope=scope: runtime.cloud(scope))  # type: ignore[misc]  # bound as a default
        for scope in reversed(by_project.values())
    ]


def _say_errors(checks: Sequence[StackCheck]) -> None:
    from reconciler.cli.errors import show_error

    for check in checks:
        if check.error is not None:
            message = f"{check.stack}: {check.error.message}"
            show_error(code=check.error.code, message=message, hint=check.error.hint)


def _blocks(checks: Sequence[StackCheck]) -> list[Block]:
    from reconciler.report.layout import Span, line

    blocks: list[Block] = []
    for check in checks:
        blocks += _stack(check)
    if all(check.exit_status == EXIT_OK for check in checks):
        blocks.append(line(Span("`pulumi up` may run", "green")))
    return blocks


def _stack(check: StackCheck) -> list[Block]:
    from reconciler.report.layout import Span, line

    state = "not read" if check.error else "stop" if check.problems else "not read whole" if check.unread else "clean"
    color = "green" if state == "clean" else "bold red" if state == "stop" else "yellow"
    blocks: list[Block] = [line(Span(check.stack, "bold"), ": ", Span(state, color))]
    blocks += [line(Span(one.kind, _STYLE[one.kind]), f"  {_text(one)}", indent=2) for one in check.problems]
    blocks += [line(Span("unknown", "yellow"), f"  {text}", indent=2) for _, text in check.unread]
    blocks += [line(Span(f"note: {text}", "dim"), indent=2) for text in check.remarks]
    hints = dict.fromkeys(problem.hint for problem in check.problems)
    blocks += [line(Span(f"hint: {hint}", "dim"), indent=2) for hint in hints]
    return blocks


def _text(problem: Problem) -> str:
    from reconciler.report.phrases import bill

    priced = problem.cost.hour_nanos or problem.cost.unpriced
    return f"{problem.text}; {bill(problem.cost)}" if priced else problem.text


def _write_json(checks: Sequence[StackCheck], *, status: int, out: Out) -> None:
    from reconciler.report.jsontext import dumps

    entries = [
        {
            "stack": check.stack,
            "exit_code": check.exit_status,
            "problems": [_entry(problem) for problem in check.problems],
            "unread": [text for _, text in check.unread],
            "remarks": list(check.remarks),
            "error": None if check.error is None else {"code": check.error.code, "message": check.error.message},
        }
        for check in checks
    ]
    out.text(dumps({"schema_version": 1, "exit_code": status, "stacks": entries}))


def _entry(problem: Problem) -> dict[str, Any]:
    from reconciler.report.document import money

    found = problem.resource
    resource = None
    if found is not None:
        ref = found.ref
        resource = {"kind": ref.kind.value, "zone": ref.zone, "id": ref.id, "name": getattr(found, "name", None)}
        resource["cost"] = money(problem.cost)
    return {
        "kind": problem.kind,
        "text": problem.text,
        "hint": problem.hint,
        "urn": problem.urn,
        "resource": resource,
    }
