"""What EVM code takes per gas: cases, the search for the worst case, anvil beside it."""
