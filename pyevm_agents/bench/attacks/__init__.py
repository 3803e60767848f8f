"""Attacks: the most work per gas, and the time that a block of it takes."""
