"""Errors of JSON-RPC: its codes, the exception, and failed executions in anvil's and geth's shape.

Source: JSON-RPC 2.0, section 5.1; EIP-1474 for `LIMIT_EXCEEDED` and
`RESOURCE_UNAVAILABLE`.
"""

from __future__ import annotations

from ast import literal_eval
from typing import TYPE_CHECKING

from eth.exceptions import Revert

from pyevm_agents.agents.revert_reasons import decode_revert, explain_revert
from pyevm_agents.errors import AgentsError
from pyevm_agents.node.errors import ExecutionFailedError, OutOfGasError

if TYPE_CHECKING:
    from eth.exceptions import VMError

    from pyevm_agents.agents.revert_reasons import RevertContext
    from pyevm_agents.node.errors import RequestError


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


class WouldBlockError(Exception):
    """A method may not wait, and would have to. It has done nothing, and is called again."""


SERVER_ERROR = -32000
"""Geth's code for everything that is wrong with a transaction."""

EXECUTION_REVERTED = 3
"""Source: geth, internal/ethapi/errors.go."""

ERROR_STRING = bytes.fromhex("08c379a0")
"""Selector of `Error(string)`."""


def convert_request_error(error: RequestError) -> RpcError:
    """Return the error of a request that the node refuses, or whose execution failed."""
    if isinstance(error, ExecutionFailedError) and not isinstance(error, OutOfGasError):
        return execution_error(error.error, error.output, error.context)
    return RpcError(SERVER_ERROR, str(error))


def execution_error(error: VMError, output: bytes, context: RevertContext) -> RpcError:
    """Return the JSON-RPC error of a failed call.

    Input: the error; the call's output, which is the revert data of a revert; its context.
    """
    if not isinstance(error, Revert):
        return RpcError(
            SERVER_ERROR, f"execution failed: {type(error).__name__}: {error_text(error)}"
        )
    data = "0x" + output.hex()
    return RpcError(EXECUTION_REVERTED, revert_message(output, context), data)


def revert_message(output: bytes, context: RevertContext) -> str:
    """Return geth's message of a revert, with the reason if it is known."""
    if not output and context.starved is None:
        return "execution reverted"
    return f"execution reverted: {revert_reason(output, context)}"


def error_text(error: Exception) -> str:
    """Return what an error of py-evm says: the text of one that keeps numbers beside it."""
    texts = [argument for argument in error.args if isinstance(argument, str)]
    return texts[0] if texts else str(error)


def revert_reason(output: bytes, context: RevertContext) -> str:
    """Return revert data as text: the text of a `require` alone, other errors by name."""
    text = decode_revert(output)
    if output[:4] == ERROR_STRING and text.startswith("Error("):
        return str(literal_eval(text.removeprefix("Error(").removesuffix(")")))
    return explain_revert(output, context)
