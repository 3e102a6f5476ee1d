"""One file per command; each has one click command named `command`, and imports what it needs when it runs."""
