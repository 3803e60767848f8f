"""A ready development chain, the wallet demo, and the scenarios of chain fixtures."""
