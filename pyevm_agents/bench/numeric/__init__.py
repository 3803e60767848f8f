"""The models' precompile in whole transactions: the time of its prices, and attacks on it."""
