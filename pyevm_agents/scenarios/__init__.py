"""Worked worlds with agents: the demos, and the scenarios that chain_fixtures/ records."""
