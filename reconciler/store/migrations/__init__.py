"""The chain of migrations: linear, the same on SQLite and PostgreSQL, each step inside one transaction."""
