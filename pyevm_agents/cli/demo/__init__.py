"""`pyevm-agents demo`: runs the scenarios and shows the ends."""
