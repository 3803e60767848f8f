"""`python -m pyevm_agents` is the command line."""

from pyevm_agents.cli import main

main()
