"""The callback worker: requests of an oracle's clients, answered as the executor would answer them.

A worker reads `AgentRequested` of an `AgentOracle` (contracts/callback), executes the request on a
fork of the chain at the request's block, and hands in the signed answer.
"""
