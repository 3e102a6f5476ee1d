"""Broken copies of the product, each of which a test must catch."""
