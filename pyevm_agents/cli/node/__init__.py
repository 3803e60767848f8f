"""`pyevm-agents node`: the command, the options and the printed log."""
