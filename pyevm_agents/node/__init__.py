"""A development node around a chain: keys, txpool, pending block, mining, clock, snapshots."""

from pyevm_agents.node.clock import Clock
from pyevm_agents.node.keys import DEFAULT_MNEMONIC, Keys
from pyevm_agents.node.mining import MiningMode
from pyevm_agents.node.node import Node
from pyevm_agents.node.txpool import PoolError, TxPool
from pyevm_agents.node.write_queue import BusyError

__all__ = [
    "DEFAULT_MNEMONIC",
    "BusyError",
    "Clock",
    "Keys",
    "MiningMode",
    "Node",
    "PoolError",
    "TxPool",
]
