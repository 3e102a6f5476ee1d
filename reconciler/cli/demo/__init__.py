"""The demo: a fleet drifts, is shown, and is brought back, by the real commands and the real Pulumi engine.

`stage` makes a folder with everything in it and the environment that points at it, `world` is the simulated cloud,
`commands` runs what a user would type and checks how it ends, `story` is the sequence. Nothing outside the folder is
read or written, no account is needed, and no question is asked.
"""
