"""The records ledger behind its port: our own tables (`native`), or nobody's (`none`).

An adapter that cannot read says so by an error; it never answers with no rows. One contract test runs on all of them.
Each adapter is imported by its own name: `native` brings the database's library, `none` brings nothing.
"""
