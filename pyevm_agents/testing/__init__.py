"""The test kit: agents in a test suite, on a real EVM with real gas."""
