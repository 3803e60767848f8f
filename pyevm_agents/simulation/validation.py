"""Validation of simulated calls, in geth's order, with geth's messages and codes.

The limits are those of `vm.transaction_rules`, whose messages are those of geth's txpool: a
simulation has the ones of an execution, and checks some rules only if asked to. A call may have
more gas than a transaction (EIP-7825).

Source: execution-apis, `eth_simulateV1`; geth, core/state_transition.go and
internal/ethapi/errors.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_utils import to_checksum_address

from pyevm_agents.chain.transactions import BLOB_TYPE, DYNAMIC_FEE_TYPE, get_transaction_type
from pyevm_agents.errors import AgentsError
from pyevm_agents.vm import BLOB_VERSION, MAX_NONCE, calculate_max_cost_wei, intrinsic_gas

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI, StateAPI

    from pyevm_agents.vm import TransactionRules

INVALID_PARAMS = -32602
SERVER_ERROR = -32000
INTERNAL_ERROR = -32603
NONCE_TOO_LOW = -38010
NONCE_TOO_HIGH = -38011
FEE_TOO_LOW = -38012
INTRINSIC_GAS = -38013
INSUFFICIENT_FUNDS = -38014
BLOCK_GAS_LIMIT = -38015
BLOCK_NUMBERS = -38020
BLOCK_TIMESTAMPS = -38021
INITCODE_SIZE = -38025
TOO_MANY_BLOCKS = -38026


class SimulationError(AgentsError):
    """An invalid simulation request, with the JSON-RPC error code that geth uses."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def require_valid(
    transaction: SignedTransactionAPI,
    state: StateAPI,
    rules: TransactionRules,
    *,
    validates: bool,
    has_base_fee: bool,
) -> None:
    """Reject a call that can't be executed.

    Input:  the rules of the block's fork. `validates`: whether nonces and fees are checked.
            `has_base_fee`: whether the block has a base fee.
    Raises: SimulationError: with geth's code and message.
    """
    if validates:
        _require_nonce(transaction, state)
    if has_base_fee:
        _require_fee(transaction, int(state.base_fee), validates=validates)
    if get_transaction_type(transaction) == BLOB_TYPE:
        _require_blobs(transaction, state, rules, validates=validates)
    _require_funds(transaction, state)
    _require_gas(transaction, state, rules)


def _make_error(transaction: SignedTransactionAPI, code: int, reason: str) -> SimulationError:
    return SimulationError(code, f"err: {reason} (supplied gas {transaction.gas})")


def _require_nonce(transaction: SignedTransactionAPI, state: StateAPI) -> None:
    nonce = state.get_nonce(transaction.sender)
    whose = f"address {to_checksum_address(transaction.sender)}"
    detail = f"{whose}, tx: {transaction.nonce} state: {nonce}"
    if transaction.nonce > nonce:
        raise _make_error(transaction, NONCE_TOO_HIGH, f"nonce too high: {detail}")
    if transaction.nonce < nonce:
        raise _make_error(transaction, NONCE_TOO_LOW, f"nonce too low: {detail}")
    if nonce == MAX_NONCE:
        reason = f"nonce has max value: {whose}, nonce: {nonce}"
        raise _make_error(transaction, INTERNAL_ERROR, reason)


def _require_fee(transaction: SignedTransactionAPI, base_fee: int, *, validates: bool) -> None:
    fee, tip = transaction.max_fee_per_gas, transaction.max_priority_fee_per_gas
    if not validates and fee == tip == 0:
        return
    whose = f"address {to_checksum_address(transaction.sender)}"
    is_legacy = get_transaction_type(transaction) < DYNAMIC_FEE_TYPE
    if fee < tip and not is_legacy:
        raise _make_error(
            transaction,
            INVALID_PARAMS,
            f"max priority fee per gas higher than max fee per gas: {whose}, "
            f"maxPriorityFeePerGas: {tip}, maxFeePerGas: {fee}",
        )
    if fee < base_fee:
        raise _make_error(
            transaction,
            FEE_TOO_LOW,
            f"max fee per gas less than block base fee: {whose}, maxFeePerGas: {fee}, "
            f"baseFee: {base_fee}",
        )


def _require_blobs(
    transaction: SignedTransactionAPI, state: StateAPI, rules: TransactionRules, *, validates: bool
) -> None:
    if not transaction.to:
        raise _make_error(
            transaction, INTERNAL_ERROR, "input transaction of type blob cannot create contracts"
        )
    hashes = transaction.blob_versioned_hashes
    if not hashes:
        raise _make_error(transaction, INTERNAL_ERROR, "blob transaction missing blob hashes")
    if len(hashes) > rules.max_blobs:
        raise _make_error(transaction, INTERNAL_ERROR, "blob transaction has too many blobs")
    for index, blob_hash in enumerate(hashes):
        if blob_hash[0] != BLOB_VERSION:
            raise _make_error(transaction, INTERNAL_ERROR, f"blob {index} has invalid hash version")
    fee = transaction.max_fee_per_blob_gas
    if (validates or fee) and fee < state.blob_base_fee:
        raise _make_error(
            transaction,
            INTERNAL_ERROR,
            "max fee per blob gas less than block blob gas fee: address "
            f"{to_checksum_address(transaction.sender)} blobGasFeeCap: {fee}, "
            f"blobBaseFee: {state.blob_base_fee}",
        )


def _require_funds(transaction: SignedTransactionAPI, state: StateAPI) -> None:
    cost = calculate_max_cost_wei(transaction)
    balance = state.get_balance(transaction.sender)
    if balance < cost:
        raise _make_error(
            transaction,
            INSUFFICIENT_FUNDS,
            "insufficient funds for gas * price + value: address "
            f"{to_checksum_address(transaction.sender)} have {balance} want {cost}",
        )


def _require_gas(
    transaction: SignedTransactionAPI, state: StateAPI, rules: TransactionRules
) -> None:
    least = intrinsic_gas(transaction)
    if transaction.gas < least:
        reason = f"intrinsic gas too low: have {transaction.gas}, want {least}"
        raise _make_error(transaction, INTRINSIC_GAS, reason)
    floor = rules.compute_floor_gas(transaction)
    if transaction.gas < floor:
        reason = f"insufficient gas for floor data gas cost: gas {transaction.gas}, minimum {floor}"
        raise _make_error(transaction, INTRINSIC_GAS, reason)
    computation_class: Any = state.computation_class
    limit = 2 * computation_class.code_size_bytes
    if not transaction.to and len(transaction.data) > limit:
        raise _make_error(
            transaction,
            INITCODE_SIZE,
            f"max initcode size exceeded: code size {len(transaction.data)} limit {limit}",
        )
