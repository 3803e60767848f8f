"""`pyevm-agents bench`: the command, its progress, its summary and its output files."""
