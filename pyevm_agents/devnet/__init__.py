"""A ready development chain, the wallet demo and the recorded scenarios."""
