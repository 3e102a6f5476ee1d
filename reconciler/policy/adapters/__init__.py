"""From what a ledger says to the neutral items of a policy. Each tells what its ledger knows, and nothing else."""
