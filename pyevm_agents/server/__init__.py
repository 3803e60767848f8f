"""HTTP and WebSocket on one port around a JSON-RPC service. No Ethereum in here."""

from pyevm_agents.server.options import ServerOptions
from pyevm_agents.server.server import Server

__all__ = ["Server", "ServerOptions"]
