"""Validation of transactions before entry into the txpool, with geth's error messages.

Clients match on these messages. Source: go-ethereum, core/error.go and core/txpool/errors.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import ValidationError, to_checksum_address

from pyevm_agents.chain.transactions import (
    BLOB_GAS,
    BLOB_TYPE,
    SET_CODE_TYPE,
    get_transaction_type,
    is_impersonated,
)
from pyevm_agents.node.txpool import PoolError

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI, StateAPI

    from pyevm_agents.vm import Fork

BLOB_VERSION = 1
"""First byte of a blob's versioned hash. Source: EIP-4844."""

MAX_NONCE = 2**64 - 1
"""Exclusive upper bound of a nonce. Source: EIP-2681."""

DELEGATION_PREFIX = b"\xef\x01\x00"
"""Prefix of the code of an account that delegates to a contract. Source: EIP-7702."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationContext:
    """The chain's values that a transaction is validated against."""

    chain_id: int
    fork: Fork
    gas_limit: int
    """Gas limit of the next block."""

    initcode_bytes: int
    """Upper bound of a creation's data."""

    base_fee_wei: int
    blob_base_fee_wei: int
    requires_base_fee: bool
    """Whether a fee below the next block's base fee is rejected; otherwise it is queued."""


def require_admissible(
    transaction: SignedTransactionAPI, state: StateAPI, terms: ValidationContext
) -> None:
    """Reject an invalid transaction.

    Raises: PoolError: the reason, in geth's words.
    """
    _require_well_formed(transaction, terms)
    sender = transaction.sender
    code = state.get_code(sender)
    has_code = bool(code) and not code.startswith(DELEGATION_PREFIX)
    if has_code and not is_impersonated(transaction):
        raise PoolError(f"sender not an eoa: address {to_checksum_address(sender)}")
    nonce = state.get_nonce(sender)
    if transaction.nonce < nonce:
        raise PoolError(f"nonce too low: next nonce {nonce}, tx nonce {transaction.nonce}")
    if terms.requires_base_fee and transaction.max_fee_per_gas < terms.base_fee_wei:
        raise PoolError(
            "max fee per gas less than block base fee: address "
            f"{to_checksum_address(sender)}, maxFeePerGas: {transaction.max_fee_per_gas}, "
            f"baseFee: {terms.base_fee_wei}"
        )
    cost = calculate_max_cost_wei(transaction)
    balance = state.get_balance(sender)
    if balance < cost:
        raise PoolError(
            "insufficient funds for gas * price + value: "
            f"address {to_checksum_address(sender)} have {balance} want {cost}"
        )


def _require_well_formed(transaction: SignedTransactionAPI, terms: ValidationContext) -> None:
    if transaction.chain_id not in {None, terms.chain_id}:
        raise PoolError(
            f"invalid chain id for signer: have {transaction.chain_id} want {terms.chain_id}"
        )
    if transaction.nonce >= MAX_NONCE:
        raise PoolError("nonce has max value")
    if transaction.gas > terms.gas_limit:
        raise PoolError(
            f"exceeds block gas limit: the transaction's is {transaction.gas}, the block's "
            f"{terms.gas_limit}"
        )
    if (capped := terms.fork.cap_gas(transaction.gas)) < transaction.gas:
        raise PoolError(f"transaction gas limit too high (cap: {capped}, tx: {transaction.gas})")
    fee, tip = transaction.max_fee_per_gas, transaction.max_priority_fee_per_gas
    if fee < tip:
        raise PoolError(f"max priority fee per gas higher than max fee per gas: {tip} and {fee}")
    if not transaction.to and len(transaction.data) > terms.initcode_bytes:
        raise PoolError(
            f"max initcode size exceeded: code size {len(transaction.data)}, "
            f"limit {terms.initcode_bytes}"
        )
    _require_enough_gas(transaction, terms)
    _require_type_fields(transaction, terms)
    try:
        transaction.validate()
    except ValidationError as error:
        raise PoolError(f"invalid sender: {error}") from error


def _require_type_fields(transaction: SignedTransactionAPI, terms: ValidationContext) -> None:
    if get_transaction_type(transaction) == BLOB_TYPE:
        _require_blobs(transaction, terms)
    if get_transaction_type(transaction) == SET_CODE_TYPE:
        _require_authorizations(transaction)


def _require_blobs(transaction: SignedTransactionAPI, terms: ValidationContext) -> None:
    hashes = transaction.blob_versioned_hashes
    if not transaction.to:
        raise PoolError("input transaction of type blob cannot create contracts")
    if not hashes:
        raise PoolError("blob transaction missing blob hashes")
    if len(hashes) > (most := terms.fork.max_transaction_blobs):
        raise PoolError(f"too many blobs in transaction: have {len(hashes)}, permitted {most}")
    for index, blob_hash in enumerate(hashes):
        if blob_hash[0] != BLOB_VERSION:
            raise PoolError(f"blob {index} has invalid hash version")
    if terms.requires_base_fee and transaction.max_fee_per_blob_gas < terms.blob_base_fee_wei:
        raise PoolError(
            "max fee per blob gas less than block blob gas fee: "
            f"have {transaction.max_fee_per_blob_gas} want {terms.blob_base_fee_wei}"
        )


def _require_authorizations(transaction: SignedTransactionAPI) -> None:
    if not transaction.to:
        raise PoolError("input transaction of type set code cannot create contracts")
    if not transaction.authorization_list:
        raise PoolError("set code tx must have at least one authorization tuple")


def _require_enough_gas(transaction: SignedTransactionAPI, terms: ValidationContext) -> None:
    least = transaction.intrinsic_gas
    if transaction.gas < least:
        raise PoolError(f"intrinsic gas too low: gas {transaction.gas}, minimum needed {least}")
    floor = terms.fork.floor_gas(transaction)
    if transaction.gas < floor:
        raise PoolError(
            f"insufficient gas for floor data gas cost: gas {transaction.gas}, "
            f"minimum needed {floor}"
        )


def calculate_max_cost_wei(transaction: SignedTransactionAPI) -> int:
    """Return the maximum cost of a transaction: gas and blob fees, and value, in wei."""
    blob_fee = 0
    if get_transaction_type(transaction) == BLOB_TYPE:
        blobs = len(transaction.blob_versioned_hashes)
        blob_fee = blobs * BLOB_GAS * transaction.max_fee_per_blob_gas
    return int(transaction.gas * transaction.max_fee_per_gas + transaction.value + blob_fee)
