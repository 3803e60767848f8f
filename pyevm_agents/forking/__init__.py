"""Forks of live chains: a remote node's state and blocks, read when they are needed."""

from pyevm_agents.forking.fork import RemoteFork, open_fork
from pyevm_agents.forking.remote_client import (
    DEFAULT_RETRIES,
    DEFAULT_TIMEOUT_SECONDS,
    RemoteError,
    Request,
)

__all__ = [
    "DEFAULT_RETRIES",
    "DEFAULT_TIMEOUT_SECONDS",
    "RemoteError",
    "RemoteFork",
    "Request",
    "open_fork",
]
