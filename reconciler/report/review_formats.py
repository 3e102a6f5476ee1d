"""The names under which the command line offers the formats of a review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reconciler.report.review import Remark

REVIEW_FORMATS: Final = ("sarif", "junit", "github", "gitlab")


def render_review(name: str, remarks: Sequence[Remark]) -> str:
    """Raises KeyError for a name that is none of `REVIEW_FORMATS`."""
    if name == "sarif":
        from reconciler.report.sarif import to_sarif

        return to_sarif(remarks)
    if name == "junit":
        from reconciler.report.junit import to_junit

        return to_junit(remarks)
    from reconciler.report.annotations import to_github, to_gitlab

    return {"github": to_github, "gitlab": to_gitlab}[name](remarks)
