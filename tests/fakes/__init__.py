"""Small in-memory worlds that implement the ports, with a knob for each way in which the real ones fail."""
