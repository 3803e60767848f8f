"""`pyevm-agents council`: taking part in councils."""
