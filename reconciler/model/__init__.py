"""Frozen values that the rooms pass to each other. No I/O, no clock, no rules about what to do."""
