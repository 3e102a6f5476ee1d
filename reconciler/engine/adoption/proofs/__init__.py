"""One proof per kind of call: when the gate may answer it, and with what.

A proof has the body of a call and reads the inventory. It answers only when every key of the body is equal to what is
there; a key that it does not know is a difference.
"""
