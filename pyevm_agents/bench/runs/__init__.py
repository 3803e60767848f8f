"""Whole agent runs: their time and gas, growth with steps, models of other sizes."""
