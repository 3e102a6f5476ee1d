"""`policy`: the rules about tags, machines and prices, held against every ledger. The subcommands are files beside."""

from __future__ import annotations

import click

from reconciler.cli.commands import policy_baseline, policy_check, policy_rules, policy_test


@click.group("policy")
def command() -> None:
    """Check tags, machines and prices against a policy; show, explain and test its rules."""


for _command in (
    policy_check.command,
    policy_rules.list_command,
    policy_rules.explain_command,
    policy_test.command,
    policy_baseline.command,
):
    command.add_command(_command)
