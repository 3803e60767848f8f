"""`pyevm-agents oracle`: contracts, runs and money of callback execution, and the worker."""
