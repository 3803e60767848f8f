"""Forks of live chains: a remote node's state and blocks, read when needed."""

from pyevm_agents.client.json_rpc import (
    DEFAULT_RETRIES,
    DEFAULT_TIMEOUT_SECONDS,
    RemoteError,
    Request,
)
from pyevm_agents.forking.fork import RemoteFork, open_fork

__all__ = [
    "DEFAULT_RETRIES",
    "DEFAULT_TIMEOUT_SECONDS",
    "RemoteError",
    "RemoteFork",
    "Request",
    "open_fork",
]
