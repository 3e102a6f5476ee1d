"""Write `docs/incidents.md`: `python -m tests.incidents`."""

from __future__ import annotations

from tests.incidents.page import page
from tests.incidents.rows import ROOT

if __name__ == "__main__":
    (ROOT / "docs" / "incidents.md").write_text(page())
