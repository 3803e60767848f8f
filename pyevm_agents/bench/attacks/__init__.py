"""Attacks: the most work per gas, and the time of a full block."""
