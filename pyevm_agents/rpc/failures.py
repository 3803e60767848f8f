"""How an execution that failed is told: anvil's and geth's shape, which every client knows."""

from __future__ import annotations

from ast import literal_eval
from typing import TYPE_CHECKING

from eth.exceptions import Revert

from pyevm_agents.reasons import explain
from pyevm_agents.rpc.errors import RpcError

if TYPE_CHECKING:
    from eth.exceptions import VMError

SERVER_ERROR = -32000
"""Geth's code for everything that is wrong with a transaction."""

EXECUTION_REVERTED = 3
"""Source: geth, internal/ethapi/errors.go."""

ERROR_STRING = bytes.fromhex("08c379a0")
"""Selector of `Error(string)`."""


class ExecutionFailedError(RpcError):
    """What was tried was executed, and failed."""


def execution_failed(error: VMError, output: bytes) -> ExecutionFailedError:
    """Return the error of a call that failed.

    Input: why; what it returned, which is the reason where it reverted.
    """
    if not isinstance(error, Revert):
        return ExecutionFailedError(
            SERVER_ERROR, f"execution failed: {type(error).__name__}: {words(error)}"
        )
    data = "0x" + output.hex()
    if not output:
        return ExecutionFailedError(EXECUTION_REVERTED, "execution reverted", data)
    return ExecutionFailedError(EXECUTION_REVERTED, f"execution reverted: {reason(output)}", data)


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
