"""What a stack's program declares now, as `pulumi preview` shows it against the state.

The outputs in a state say what the last `pulumi up` declared. The program says what the next one would do: it may have
been edited since. Both are the desired ledger; the program is the newer word, and needs to be run to be heard.

Values are masked before they get here: a secret is `SECRET`, a value that is not known yet is a text that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

CREATE: Final = "create"
IMPORT: Final = "import"
UPDATE: Final = "update"
REPLACE: Final = "replace"
DELETE: Final = "delete"
SAME: Final = "same"

# The rule that a finding names which only a preview of the program can show.
PROGRAM_RULE: Final = "rule 15, by the program"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramChange:
    """A property that the next `pulumi up` would change: as the state has it, and as the program says it."""

    path: str
    state: Any
    program: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResource:
    """One resource of a preview. `operation`: what `up` would do with it. `zone`, `project`, `tags` and `parent` are
    known of a create only, as far as the program says them; of anything else the state has them."""

    urn: str
    type: str
    operation: str
    zone: str | None = None
    project: str | None = None
    tags: tuple[str, ...] = ()
    parent: str | None = None
    changes: tuple[ProgramChange, ...] = ()

    @property
    def name(self) -> str:
        return self.urn.rsplit("::", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramView:
    """The whole preview of one stack's program; only of one that ran to its end.

    What is in the state and not in `resources` at all was not spoken of, which says nothing about it.
    """

    stack: str
    at_ms: int
    resources: Mapping[str, ProgramResource] = field(default_factory=dict)

    @property
    def urns(self) -> frozenset[str]:
        """Everything that the program declares."""
        return frozenset(urn for urn, one in self.resources.items() if one.operation != DELETE)

    @property
    def creates(self) -> tuple[ProgramResource, ...]:
        return self._with(CREATE, IMPORT)

    @property
    def updates(self) -> tuple[ProgramResource, ...]:
        return self._with(UPDATE)

    @property
    def replaces(self) -> tuple[ProgramResource, ...]:
        return self._with(REPLACE)

    @property
    def deletes(self) -> tuple[ProgramResource, ...]:
        """In the state, and no longer in the program."""
        return self._with(DELETE)

    def _with(self, *operations: str) -> tuple[ProgramResource, ...]:
        return tuple(
            self.resources[urn] for urn in sorted(self.resources) if self.resources[urn].operation in operations
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedProgram:
    """A program that did not run to its end. What the stack's outputs declare stays what is known of its wishes."""

    stack: str
    code: str
    reason: str
    hint: str = ""
