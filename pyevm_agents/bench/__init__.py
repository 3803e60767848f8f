"""`pyevm-agents bench`: what inference costs in gas, measured on this machine and model.

Parts that measure return what `measurement/results.py` describes; `pricing/parity.py` makes prices
from it; `report/` shows it.
"""
