"""What went wrong once, or can, and what shows that it does not happen here: `tests/cases/rows.toml`, read and held."""
