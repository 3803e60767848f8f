"""State: account and storage tries, and the account database that py-evm's states use."""

from pyevm_agents.state.account import StateCache
from pyevm_agents.state.account_db import StateAccountDB
from pyevm_agents.state.trie import compute_list_root

__all__ = ["StateAccountDB", "StateCache", "compute_list_root"]
