"""Carry out a plan: one action after the other, each with its own conditions, its own journal and its own outcome.

One bad action never stops the others (rule 12); losing the lease, the credential or the user's patience does. A run
that was killed is resumed from its journal, and goes on with what it decided whatever became of the plan since.
"""

from __future__ import annotations

from reconciler.apply.runner import apply_plan, resume

__all__ = ["apply_plan", "resume"]
