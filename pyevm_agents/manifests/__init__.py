"""Manifests of agents: registration documents, the manifest of capabilities, the log of runs.

A document is a JSON object with a schema in `schemas/`. `agent.json` is the source of an agent's
facts: both registration documents are built from there, so none can contradict the other.
"""
