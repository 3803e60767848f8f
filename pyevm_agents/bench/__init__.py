"""`pyevm-agents bench`: measure the gas and time of inference on this machine and model.

The measuring parts return the dataclasses of `measurement/results.py`, `pricing/parity.py` derives
prices, and `report/` renders both.
"""
