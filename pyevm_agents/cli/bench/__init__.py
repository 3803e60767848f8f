"""`pyevm-agents bench`: the command, progress, summary and output files."""
