"""JSON-RPC errors: codes, the exception, and failed executions in anvil's and geth's form.

Source: JSON-RPC 2.0, section 5.1; EIP-1474 for `LIMIT_EXCEEDED` and
`RESOURCE_UNAVAILABLE`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.exceptions import Revert

from pyevm_agents.abi.revert_reasons import quote_revert
from pyevm_agents.agents.failures import explain_revert
from pyevm_agents.errors import AgentsError
from pyevm_agents.node.errors import ExecutionFailedError, OutOfGasError
from pyevm_agents.tracing.error_messages import describe_halt

if TYPE_CHECKING:
    from eth.exceptions import VMError

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.agents.failures import RevertContext
    from pyevm_agents.node.errors import RequestError


PARSE_ERROR = -32700
"""The body is not JSON."""

INVALID_REQUEST = -32600
"""The JSON is not a request, or exceeds a limit."""

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

INTERNAL_ERROR = -32603
"""The request is valid and the service failed: a bug."""

RESOURCE_UNAVAILABLE = -32002
"""The request is valid and the engine failed: the model process died, or the disk is full.

Not `INTERNAL_ERROR`, which viem treats as a contract's revert and retries three times.
"""

LIMIT_EXCEEDED = -32005
"""The request is valid but exceeds a limit: retry later, or request less."""

SERVER_ERROR = -32000
"""Geth's code of every error of a transaction."""

EXECUTION_REVERTED = 3
"""Source: geth, internal/ethapi/errors.go."""

NO_OUTPUT = "0x"
"""`data` of a failed execution that is no revert. Hardhat's matchers (`reverted`,
`revertedWithoutReason`) take an error without data for one of the network."""


class RpcError(AgentsError):
    """An error response, raised by methods; any other exception is a bug."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        """Input: the three fields of an error; `data` is JSON-ready, and omitted if None."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class WouldBlockError(Exception):
    """A method would block in a thread that may not. Without effect; the call is repeated."""


def convert_request_error(error: RequestError, known: KnownContracts) -> RpcError:
    """Return the JSON-RPC error of a rejected request, or of one whose execution failed."""
    if isinstance(error, OutOfGasError):
        return RpcError(SERVER_ERROR, str(error), NO_OUTPUT)
    if isinstance(error, ExecutionFailedError):
        return execution_error(error.error, error.output, error.context, known)
    return RpcError(SERVER_ERROR, str(error))


def execution_error(
    error: VMError, output: bytes, context: RevertContext, known: KnownContracts
) -> RpcError:
    """Return the JSON-RPC error of a failed call.

    Input: the error; the call's output, which is the revert data of a revert; the context; the
           contracts whose errors are known.
    Output: of a revert, code 3 and the revert data; of another end, geth's words and no data.
    """
    if not isinstance(error, Revert):
        return RpcError(SERVER_ERROR, describe_halt(error), NO_OUTPUT)
    data = "0x" + output.hex()
    return RpcError(EXECUTION_REVERTED, revert_message(output, context, known), data)


def revert_message(output: bytes, context: RevertContext, known: KnownContracts) -> str:
    """Return geth's message of a revert, with the reason if known."""
    if not output and context.starved is None:
        return "execution reverted"
    return f"execution reverted: {explain_revert(output, context, known, write=quote_revert)}"
