"""`pyevm-agents bench`: what inference costs in gas, measured on this machine and model.

Parts that measure return what `form` describes; `parity` makes prices from it; the report shows it.
"""
