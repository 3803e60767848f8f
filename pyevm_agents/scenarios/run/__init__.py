"""Runs of agents with manifests and budgets: bills that are paid."""
