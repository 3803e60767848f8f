"""Prices: schedules as published, parity with the EVM's worst case."""
