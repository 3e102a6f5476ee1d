"""The commands: name, module and one line of help. `--help` shows this table and imports nothing that it names."""

from __future__ import annotations

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """`module` is below `reconciler.cli.commands` and holds a click command named `command`."""

    module: str
    help: str


COMMANDS: Final[dict[str, Entry]] = {
    "drift": Entry("drift", "Show every difference between state, cloud and records, with its price."),
    "plan": Entry("plan", "Show the repair, its conditions and limits, and keep it for `apply`."),
    "apply": Entry("apply", "Carry out a plan, or plan and apply in one go."),
    "preflight": Entry("preflight", "Check before `pulumi up` that it makes no second machine."),
    "adopt": Entry("adopt", "Take machines that run already into Pulumi's state, or write their code."),
    "unlock": Entry("unlock", "Remove a stale lock of a stack, after a look at who holds it."),
    "release": Entry("release", "Stop managing a resource, and leave it as it runs."),
    "explain": Entry("explain", "Show the proof behind a finding, an id or a URN."),
    "doctor": Entry("doctor", "Check credentials, tools, state, database and clock."),
    "policy": Entry("policy", "Check tags, machines and prices against a policy."),
    "db": Entry("db", "Create, migrate and check the database."),
    "config": Entry("config", "Show, check or write the configuration."),
    "simulate": Entry("simulate", "Serve a local Scaleway API, or run cases on one."),
    "demo": Entry("demo", "Break a simulated fleet and watch it being repaired."),
    "completion": Entry("completion", "Print the completion script of a shell."),
}
