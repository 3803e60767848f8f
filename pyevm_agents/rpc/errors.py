"""What a request is answered with where it has no result: JSON-RPC's own codes, and the exception.

Source: JSON-RPC 2.0, section 5.1; EIP-1474 for `LIMIT_EXCEEDED` and
`RESOURCE_UNAVAILABLE`.
"""

from __future__ import annotations

from pyevm_agents.errors import AgentsError

PARSE_ERROR = -32700
"""The body is no JSON."""

INVALID_REQUEST = -32600
"""JSON that is no request, or more than the server takes."""

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

INTERNAL_ERROR = -32603
"""The request is fine and the service failed: a bug."""

RESOURCE_UNAVAILABLE = -32002
"""The request is fine and the host failed: its model died, a disk is full.

Not `INTERNAL_ERROR`, which viem takes for a contract's revert, and asks again three times.
"""

LIMIT_EXCEEDED = -32005
"""Fine by itself, too much at this moment: try again later, or ask for less."""


class RpcError(AgentsError):
    """An answer that is an error. Raise it in a method; every other exception is a bug."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        """Hold the three fields of an error; `data` is JSON-ready, and left out where None."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class WouldWaitError(Exception):
    """A method may not wait, and would have to. It has done nothing, and is called again."""
