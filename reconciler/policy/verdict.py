"""What an evaluation says: violations, what an exception or a baseline lets through, and what was not evaluated."""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.model.policy import Policy, PolicyException, Rule, Severity
from reconciler.policy.item import Item, violation_fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """One rule that one resource breaks. `facet`: the property at fault. `add`: tags that settle it. `doubtful`: it
    rests on a value that is not known yet."""

    text: str
    facet: str
    add: tuple[str, ...] = ()
    doubtful: bool = False


@dataclass(frozen=True, slots=True)
class NotTold:
    """The ledger does not tell what the rule asks for."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """`expired`: an exception that would have let it through, and is over."""

    policy: Policy
    rule: Rule
    item: Item
    text: str
    facet: str
    add: tuple[str, ...] = ()
    doubtful: bool = False
    expired: PolicyException | None = None

    @property
    def severity(self) -> Severity:
        return Severity.ADVISORY if self.doubtful else self.rule.severity

    @property
    def fingerprint(self) -> str:
        return violation_fingerprint(self.rule.id, self.item)

    @property
    def message(self) -> str:
        """What is wrong, in the policy's own words first where it has some."""
        said = f"{self.rule.message}: {self.text}" if self.rule.message else self.text
        if self.expired is None:
            return said
        return f"{said} (the exception of {self.expired.owner} is over: {self.expired.reason})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Excepted:
    """A violation that is let through, by whom and why; `exception` None: it is in the baseline."""

    violation: Violation
    exception: PolicyException | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotEvaluated:
    rule: Rule
    item: Item
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    violations: tuple[Violation, ...] = ()
    excepted: tuple[Excepted, ...] = ()
    not_evaluated: tuple[NotEvaluated, ...] = ()
    judged: int = 0  # pairs of rule and resource
