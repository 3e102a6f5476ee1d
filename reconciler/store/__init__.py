"""The database: tables, units of work, the deletion protocol, migrations.

::

    tables.py      what is stored, and the one eligibility view         schema.py    versions, creation, upgrade
    urls.py        which database a URL means                           check.py     is it whole, is it ours
    engine.py      settings of SQLite and PostgreSQL                    unit.py      one transaction, tried again
    failures.py    what a driver's error means                          locks.py     row locks, in one place
    leases.py      who may write; the fence                             holds.py     adoptions forbid deletions
    resources.py   rows of things that may be destroyed                 claims.py    rows of deletions
    deletions.py   decide, strike, extend, finalise; makes warrants     memory.py    what a sweep reads
    sweeps.py      what a sweep writes                                  plans.py, journal.py   plans and runs
"""

from __future__ import annotations

from reconciler.store.check import CheckLine, check
from reconciler.store.schema import SchemaVersion, current, upgrade
from reconciler.store.store import SqlStore, open_store

__all__ = ["CheckLine", "SchemaVersion", "SqlStore", "check", "current", "open_store", "upgrade"]
