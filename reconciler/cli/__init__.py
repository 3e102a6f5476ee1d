"""The command line: the composition root, one file per command, and nothing that another room could need."""
