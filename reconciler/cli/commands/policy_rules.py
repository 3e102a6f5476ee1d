"""`policy list` and `policy explain`: which rules count, and what one of them asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.output import Out
from reconciler.kernel.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from reconciler.cli.composition import Runtime
    from reconciler.cli.options import Globals
    from reconciler.model.policy import Policy, Rule

_PATH: Any = click.Path(path_type=Path)


@click.command("list")
@click.option("--policy", "file", type=_PATH, metavar="FILE", help="This policy, not the configured one.")
@click.option("--stack", "stacks", multiple=True, metavar="STACK", help="Also what this stack declares; repeatable.")
@click.option("-j", "--json", "as_json", is_flag=True, help="The rules as JSON.")
@click.pass_obj
def list_command(options: Globals, file: Path | None, stacks: tuple[str, ...], as_json: bool) -> int:
    """Show the rules that count, and where each comes from."""
    from reconciler.cli.composition import open_runtime
    from reconciler.report.jsontext import dumps
    from reconciler.report.policy_text import render_rules

    out = Out(options)
    runtime = open_runtime(options, need_scopes=False)
    policies = _policies(runtime, file=file, stacks=stacks)
    if as_json:
        rules = [_entry(rule, policy) for policy in policies for rule in policy.rules]
        out.text(dumps({"schema_version": 1, "rules": rules}))
    else:
        out.blocks(render_rules(policies))
    return EXIT_OK


@click.command("explain")
@click.argument("rule")
@click.option("--policy", "file", type=_PATH, metavar="FILE", help="This policy, not the configured one.")
@click.option("--stack", "stacks", multiple=True, metavar="STACK", help="Also what this stack declares; repeatable.")
@click.pass_obj
def explain_command(options: Globals, rule: str, file: Path | None, stacks: tuple[str, ...]) -> int:
    """Show what a rule asks for, of which resources, with which effect, and its exceptions."""
    from reconciler.cli.composition import open_runtime
    from reconciler.report.policy_text import render_rule

    out = Out(options)
    runtime = open_runtime(options, need_scopes=False)
    policies = _policies(runtime, file=file, stacks=stacks)
    found = [(one, policy) for policy in policies for one in policy.rules if one.id == rule]
    if not found:
        known = ", ".join(one.id for policy in policies for one in policy.rules) or "none"
        raise UsageError(f"there is no rule {rule!r}", code="RC0846", hint=f"Rules: {known}.")
    for one, policy in found:
        out.blocks(render_rule(one, policy, now_ms=runtime.clock.now_ms()))
    return EXIT_OK


def _policies(runtime: Runtime, *, file: Path | None, stacks: tuple[str, ...]) -> list[Policy]:
    """Raises UsageError RC0839 where there is none."""
    from reconciler.cli.policy_sources import configured, declared_by

    found = configured(runtime, file=file, baseline=None).configured
    policies = [*([found] if found is not None else []), *declared_by(stacks, runtime)]
    if not policies:
        raise UsageError(
            "there is no policy", code="RC0839", hint="Name one: `[policy] file` in reconciler.toml, --policy, --stack."
        )
    return policies


def _entry(rule: Rule, policy: Policy) -> dict[str, Any]:
    from reconciler.report.policy_text import parameters

    return {
        "id": rule.id,
        "check": rule.check_name,
        "severity": rule.severity.value,
        "kinds": list(rule.kinds),
        "fleets": list(rule.fleets),
        "parameters": dict(parameters(rule)),
        "message": rule.message,
        "hint": rule.hint,
        "policy": policy.source,
    }
