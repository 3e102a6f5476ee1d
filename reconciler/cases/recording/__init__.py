"""Recording a live scope as a case: what a sweep read, with every name, id, tag and address replaced.

`mask` says what stands for what, `worldlines` turns the inventory into a world, `statecopy` copies states, `skeleton`
makes the case. `playback` is the way back.
"""
