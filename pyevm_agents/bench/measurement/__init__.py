"""Measuring: rounds, intervals, fits, usage, and the dataclasses of results."""
