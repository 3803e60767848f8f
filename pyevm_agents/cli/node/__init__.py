"""`pyevm-agents node`: the command, its options and the log that it prints."""
