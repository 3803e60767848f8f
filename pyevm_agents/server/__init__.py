"""JSON-RPC server: HTTP, WebSocket and IPC around a service, independent of Ethereum."""

from pyevm_agents.server.options import ServerOptions
from pyevm_agents.server.server import Server
from pyevm_agents.server.thread import serve_in_thread

__all__ = ["Server", "ServerOptions", "serve_in_thread"]
