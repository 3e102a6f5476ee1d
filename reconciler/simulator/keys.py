"""API keys of a simulated organization, and what each may see.

A list that the key has no right to answers 403, or, for the kinds in `hidden`, an empty 200: real APIs do both, and an
empty 200 is the worse one, because it looks like a world in which everything is gone (incident R008).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reconciler.simulator.defaults import ACCESS_KEY, PROJECT_ID, SECRET_KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """`projects` and `kinds`: None means all. `hidden`: kinds whose lists answer an empty 200 (by id: still 403)."""

    secret: str = field(repr=False)
    access_key: str = ACCESS_KEY
    projects: frozenset[str] | None = None
    kinds: frozenset[str] | None = None
    read_only: bool = False
    hidden: frozenset[str] = frozenset()
    # IPAM without an explicit project answers an empty 200 for this key.
    ipam_needs_project: bool = False
    # Where a create without a project puts its object.
    default_project: str = PROJECT_ID

    def may_see(self, project: str) -> bool:
        return self.projects is None or project in self.projects

    def has_right(self, kind: str) -> bool:
        return self.kinds is None or kind in self.kinds


def default_key() -> Key:
    """The one key of a fresh simulator: all rights, one project."""
    return Key(secret=SECRET_KEY, access_key=ACCESS_KEY, projects=frozenset({PROJECT_ID}))
