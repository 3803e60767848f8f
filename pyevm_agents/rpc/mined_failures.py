"""Failures of the transactions that are mined during a request, as errors of their sends.

Hardhat's network answers a send whose transaction fails with an error, though the transaction is
mined: tests expect the reason from the send.

Source: Hardhat 2 and 3, `throwOnTransactionFailures`; the error's data are those of Hardhat 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.agents.failures import RevertContext, read_revert_context
from pyevm_agents.rpc.errors import RpcError, execution_error
from pyevm_agents.rpc.serializers import encode_data

if TYPE_CHECKING:
    from eth.exceptions import VMError

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.chain import MinedBlock


class MinedFailures:
    """The failed transactions of blocks, by hash."""

    def __init__(self) -> None:
        """Start without a block."""
        self._failures: dict[bytes, tuple[VMError, bytes, RevertContext]] = {}

    def add(self, mined: MinedBlock) -> None:
        """Keep the failures of a block. Cheap: no ABI is loaded."""
        transactions = mined.block.transactions
        for transaction, computation in zip(transactions, mined.computations, strict=True):
            if computation.is_error:
                self._failures[bytes(transaction.hash)] = (
                    computation.error,
                    bytes(computation.output),
                    read_revert_context(computation),
                )

    def require_success(self, transaction_hash: bytes, known: KnownContracts) -> None:
        """Reject a transaction that failed.

        Input:  the hash; the contracts whose errors are known.
        Raises: RpcError: that of the same call, with the hash and the revert data in the data.
        """
        failure = self._failures.get(transaction_hash)
        if failure is None:
            return
        error, output, context = failure
        answer = execution_error(error, output, context, known)
        form = {
            "message": answer.message,
            "txHash": encode_data(transaction_hash),
            "data": answer.data if isinstance(answer.data, str) else "0x",
        }
        raise RpcError(answer.code, answer.message, form)
