"""Performance budgets, as ratios within one run: `python -m benchmarks`. No test is timed, and nothing here is one."""
