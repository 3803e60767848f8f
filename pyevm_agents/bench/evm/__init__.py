"""Time per gas of EVM code: cases, the search for the worst case, anvil as a comparison."""
