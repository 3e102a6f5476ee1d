"""Renders model values for people and machines. Sends nothing, reads nothing, decides nothing."""
