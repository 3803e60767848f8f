"""Inference costs: probes of the engine and of calls, fitted terms, models of other shapes."""
