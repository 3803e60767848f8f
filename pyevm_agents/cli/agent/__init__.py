"""`pyevm-agents agent`: packages of agents, and the control plane that runs agents."""
