"""Takes what runs in the cloud into a stack's state by running the program's own create before a gate.

An interrupted `pulumi up` leaves a machine that no state holds, and the next `up` makes a second one. `pulumi import`
is no way back: the `up` after it takes the machine's address away (tried). What works is to let the program create it
once more, with a gate in the API's place that answers with the machine that is there, and only when what the program
asks for equals it. docs/design/adoption.md tells what was tried.
"""
