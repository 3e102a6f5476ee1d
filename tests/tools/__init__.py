"""Tests of the scripts in tools/, none of which builds or downloads the real thing."""
