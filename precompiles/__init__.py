"""The consensus rules of the precompiles: the agent executor, and numeric models.

Everything here decides which blocks are valid. Imports: eth, eth_abi, eth_utils and the standard
library, never pyevm_agents. The host implements the interfaces in `language_model.py` and
`numeric_model.py`.
"""
