"""What the steps of one `apply` share: what was asked for, the doors to one scope's world, and the results so far.

The console hears of each plan and run when it happens; JSON is one document, written when everything is over, so that
a resumed run, a fresh one and several scopes never make two documents on one stdout.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict

from reconciler.cli.composition import Runtime, holder
from reconciler.cli.output import Out, Target
from reconciler.kernel.clock import Clock
from reconciler.kernel.executor import Executor
from reconciler.kernel.ids import Ids
from reconciler.model.plan import Mode, Plan, RunOutcome
from reconciler.model.scope import Scope
from reconciler.plan import canonical, digest
from reconciler.ports.cloud import Cloud
from reconciler.ports.engine import Engine
from reconciler.ports.records import Records
from reconciler.ports.store import Store
from reconciler.report import plan_text, run_text
from reconciler.report.document import ScopeFailure
from reconciler.report.jsontext import dumps

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the command line asked for. `plan_text` None: plan anew."""

    plan_text: str | None
    mode: Mode
    ask: bool
    dry_run: bool
    message: str | None
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that JSON will say, in order."""

    plans: list[Any] = field(default_factory=list)
    runs: list[Any] = field(default_factory=list)
    errors: list[Any] = field(default_factory=list)

    def failed(self, failure: ScopeFailure) -> int:
        """Note a scope that failed; its exit status."""
        self.errors.append(
            {"scope": failure.name, "code": failure.code, "message": failure.message, "hint": failure.hint}
        )
        return failure.exit_status

    def write(self, request: Request, *, exit_code: int, out: Out) -> None:
        """The one document, to every JSON target."""
        document = {
            "schema_version": SCHEMA_VERSION,
            "exit_code": exit_code,
            "plans": self.plans,
            "runs": self.runs,
            "errors": self.errors,
        }
        for target in request.targets:
            if target.format == "json":
                out.text(dumps(document), path=target.path)


class Doors(TypedDict):
    """What the apply room takes in every call."""

    scope: Scope
    cloud: Cloud
    engine: Engine
    store: Store
    clock: Clock
    ids: Ids
    executor: Executor
    holder: str
    checkpoint: Callable[[str], None]
    records: Records


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One scope of one `apply`."""

    runtime: Runtime
    request: Request
    scope: Scope
    store: Store
    out: Out
    results: Results

    def doors(self) -> Doors:
        runtime = self.runtime
        return Doors(
            scope=self.scope,
            cloud=runtime.cloud(self.scope),
            engine=runtime.engine(),
            store=self.store,
            clock=runtime.clock,
            ids=runtime.ids,
            executor=runtime.executor,
            holder=holder(),
            checkpoint=runtime.checkpoint,
            records=runtime.records(self.store),
        )

    def show(self, plan: Plan) -> None:
        """The plan for the person who decides: on stdout, or on stderr where a machine reads stdout."""
        self.results.plans.append(json.loads(canonical(plan)))
        blocks = plan_text.render(plan, now_ms=self.runtime.clock.now_ms(), full=self.out.full, digest=digest(plan))
        if Target("console") in self.request.targets:
            self.out.blocks(blocks)
        elif self.request.ask:
            self.out.aside(blocks)

    def report(self, outcome: RunOutcome, *, status: int) -> None:
        self.results.runs.append(run_text.document(outcome, exit_code=status))
        for target in self.request.targets:
            if target.format == "console":
                self.out.blocks(run_text.render(outcome, full=self.out.full), path=target.path)
