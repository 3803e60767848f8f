"""How an execution that failed is told: anvil's and geth's shape, which every client knows."""

from __future__ import annotations

from ast import literal_eval
from typing import TYPE_CHECKING

from eth.exceptions import Revert

from pyevm_agents.agents.revert_reasons import explain
from pyevm_agents.node.errors import ExecutionFailedError, OutOfGasError
from pyevm_agents.rpc.errors import RpcError

if TYPE_CHECKING:
    from eth.exceptions import VMError

    from pyevm_agents.node.errors import RequestError

SERVER_ERROR = -32000
"""Geth's code for everything that is wrong with a transaction."""

EXECUTION_REVERTED = 3
"""Source: geth, internal/ethapi/errors.go."""

ERROR_STRING = bytes.fromhex("08c379a0")
"""Selector of `Error(string)`."""


def request_refused(error: RequestError) -> RpcError:
    """Return the error of a request that the node refuses, or whose execution failed."""
    if isinstance(error, ExecutionFailedError) and not isinstance(error, OutOfGasError):
        return execution_failed(error.error, error.output)
    return RpcError(SERVER_ERROR, str(error))


def execution_failed(error: VMError, output: bytes) -> RpcError:
    """Return the error of a call that failed.

    Input: why; what it returned, which is the reason where it reverted.
    """
    if not isinstance(error, Revert):
        return RpcError(SERVER_ERROR, f"execution failed: {type(error).__name__}: {words(error)}")
    data = "0x" + output.hex()
    if not output:
        return RpcError(EXECUTION_REVERTED, "execution reverted", data)
    return RpcError(EXECUTION_REVERTED, f"execution reverted: {reason(output)}", data)


def words(error: Exception) -> str:
    """Return what an error of py-evm says: the text of one that keeps numbers beside it."""
    said = [one for one in error.args if isinstance(one, str)]
    return said[0] if said else str(error)


def reason(output: bytes) -> str:
    """Return revert data in words: the text of a `require` by itself, other errors by name."""
    told = explain(output)
    if output[:4] == ERROR_STRING and told.startswith("Error("):
        return str(literal_eval(told.removeprefix("Error(").removesuffix(")")))
    return told
