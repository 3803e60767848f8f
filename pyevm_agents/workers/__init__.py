"""Loops over a chain's heads: rounds with delays after failures."""
