"""The parts of `tests.e2e.equivalence`: worlds, faults, the two sides, and the relation between them.

`draft` makes one world's program and fault; `catalog` has one function per fault; `worlds` crosses faults, image kinds
and declarations; `steps` carries a fault out; `engine_side` and `our_side` ask for verdicts; `relation` judges them;
`batch` runs many worlds in one stack, since a world's verdicts are found by its URNs.
"""
