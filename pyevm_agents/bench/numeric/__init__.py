"""The models' precompile in whole transactions: the time of the prices, and attacks."""
