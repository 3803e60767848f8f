"""The consensus rules of the agent executor precompile.

Everything here decides which blocks are valid. It imports eth, eth_abi, eth_utils and the
standard library, never pyevm_agents: what a host supplies comes through `language_model.py`.
"""
