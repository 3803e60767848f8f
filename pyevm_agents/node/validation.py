"""Validation of transactions before entry into the txpool, with geth's error messages.

The rules are the chain's; the pool adds the next block's gas limit, and lets transactions wait that
a later block may hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.node.txpool import PoolError
from pyevm_agents.vm import InvalidTransactionError, TransactionTerms, require_valid

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI, StateAPI

    from pyevm_agents.vm import Fork


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
    transaction: SignedTransactionAPI, state: StateAPI, context: ValidationContext
) -> None:
    """Reject an invalid transaction.

    Raises: PoolError: the reason, in geth's words.
    """
    terms = TransactionTerms(
        rules=context.fork.rules,
        chain_id=context.chain_id,
        initcode_bytes=context.initcode_bytes,
        base_fee_wei=context.base_fee_wei if context.requires_base_fee else 0,
        blob_base_fee_wei=context.blob_base_fee_wei if context.requires_base_fee else 0,
        may_follow=True,
    )
    if transaction.gas > context.gas_limit:
        raise PoolError(
            f"exceeds block gas limit: the transaction's is {transaction.gas}, the block's "
            f"{context.gas_limit}"
        )
    try:
        require_valid(transaction, state, terms)
    except InvalidTransactionError as error:
        raise PoolError(str(error)) from error
