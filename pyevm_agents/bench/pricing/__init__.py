"""Prices: published schedules, and parity with the EVM."""
