"""State: account and storage tries, and the account database that py-evm's states use."""

from pyevm_agents.state.account import StateCache
from pyevm_agents.state.account_db import StateAccountDB
from pyevm_agents.state.overlay_account_db import OverlayAccountDB, OverlayCache, write_origin
from pyevm_agents.state.remote_state import RemoteAccount, RemoteState
from pyevm_agents.state.trie import compute_list_root

__all__ = [
    "OverlayAccountDB",
    "OverlayCache",
    "RemoteAccount",
    "RemoteState",
    "StateAccountDB",
    "StateCache",
    "compute_list_root",
    "write_origin",
]
