"""What every other room stands on: errors, clock, executor, ids, randomness, loaders. No product rules."""
