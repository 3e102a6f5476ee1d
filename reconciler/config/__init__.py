"""Settings and scopes: what a run may look at, may do and never may, out of files, environment and flags.

Layers, the later wins: defaults < `$XDG_CONFIG_HOME/reconciler/config.toml` < `reconciler.toml` (or `[tool.reconciler]`
in pyproject.toml) < `RECONCILER_*` < flags. Tables are merged key by key; a list is replaced as a whole. Every value
knows where it came from, and every mistake is named by file, line and key path before anything else happens: a rail
that a typing error has switched off would be found out by what it did not stop.

`load.load_settings` is the way in. Importing this package loads nothing; pydantic comes with `load`.
"""
