"""A lending pool with a DAO and agents."""
