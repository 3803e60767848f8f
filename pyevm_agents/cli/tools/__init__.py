"""`pyevm-agents tools`: any contract as a tool of an agent."""
