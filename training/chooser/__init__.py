"""Data, trainer and evaluation of the chooser: whether a sentence orders exactly a call, now."""
