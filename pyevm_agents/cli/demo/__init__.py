"""`pyevm-agents demo`: runs the scenarios and shows how they end."""
