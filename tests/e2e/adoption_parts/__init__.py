"""The parts of `python -m tests.e2e.adoption`."""
