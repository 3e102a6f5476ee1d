"""The simulator against recorded traffic of the live API: `python -m tests.fidelity`.

Every cassette is replayed from its first exchange to its last, against a simulator of its own. Exit status 1 when too
few exchanges agree or a difference has no reason. docs/design/fidelity.md says what is compared and how.
"""

from __future__ import annotations

import sys

from tests.fidelity.report import run
from tests.simulator import recordings


def main() -> int:
    if recordings.directory() is None:
        print("fidelity: 1 skipped, no recordings here: set RECONCILER_TEST_DATA")
        return 0
    report = run()
    print("\n".join(report.lines()))
    failures = report.failures()
    for failure in failures:
        print(f"MISMATCH: {failure}")
    print(report.summary())
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
