"""One policy, evaluated in three places: a preview, the cloud, and what the ledgers hold.

`evaluate` is pure and takes neutral items; `adapters` make them out of a listing, a state, a preview or a row. The way
in from text is `decode`, which reads a policy file or any other text or value. Importing this package loads nothing;
pydantic comes with `decode`.
"""
