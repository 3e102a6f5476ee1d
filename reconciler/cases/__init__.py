"""The case language and its runner: incidents as files that anybody can read and run.

`load` reads a case file and names everything that is wrong with it; `run_case` runs one against the simulator through
an `Invoke` that the command line hands in (this room knows nothing of commands); `run_suite` runs many.
docs/cases.md is the reference.
"""
