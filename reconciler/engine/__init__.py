"""Everything Pulumi: export, locks, targeted refresh, and the gate that a refresh reads through.

The engine is the real CLI in a child process. The Automation API is not used: its `export_stack()` always passes
`--show-secrets`, and it neither has a deadline nor knows its child's process id (docs/design/engine.md).
"""
