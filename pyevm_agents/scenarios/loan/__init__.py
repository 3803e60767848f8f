"""A lending pool with its DAO and agents."""
