"""Alembic's entry: runs on the connection it is given, inside that connection's transaction.

SQLite changes a table by copying it (`render_as_batch`), which is why every constraint has a name.
"""

from __future__ import annotations

from alembic import context

from reconciler.store.tables import VERSION_TABLE, metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=connection.dialect.name == "sqlite",
)
with context.begin_transaction():
    context.run_migrations()
