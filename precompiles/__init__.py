"""The consensus rules of the agent executor precompile.

Everything here decides which blocks are valid. It imports eth, eth_abi, eth_utils and the standard
library, never pyevm_agents. The host implements the interface in `language_model.py`.
"""
