"""A development node in this process, opened by one call: the node of `pyevm-agents node`."""

from pyevm_agents.local_node.config import NodeConfig
from pyevm_agents.local_node.open_node import NodeUrls, OpenNode, open_node

__all__ = ["NodeConfig", "NodeUrls", "OpenNode", "open_node"]
