"""Performance budgets, as ratios within one run: `python -m benchmarks`. Nothing here is a test, and no test is timed."""
