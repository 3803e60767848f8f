"""Agents in transactions: events during execution, traces afterwards, revert reasons."""
