"""Validity of transactions: one function of rules, for the txpool, own blocks, imports and calls.

A rule refuses a transaction before its execution. What goes wrong later is a failed call, with a
receipt, or a fault of the host. The messages are geth's, on which clients match; the refusals have
the names of Ethereum's test suites.

Source: go-ethereum, core/error.go and core/txpool/errors.go; ethereum/execution-spec-tests,
`TransactionException`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from eth.constants import SECPK1_N
from eth.vm.forks.cancun.constants import (
    BLOB_TX_TYPE,
    GAS_PER_BLOB,
)
from eth.vm.forks.prague.constants import DELEGATION_DESIGNATION_PREFIX, SET_CODE_TRANSACTION_TYPE
from eth.vm.forks.prague.state import PragueTransactionExecutor
from eth.vm.forks.shanghai.constants import INITCODE_WORD_COST
from eth_utils import ValidationError, to_checksum_address

from precompiles.spec import HASH_BYTES, WORD_BYTES
from pyevm_agents.vm.blobs import CANCUN_BLOBS, PRAGUE_BLOBS
from pyevm_agents.vm.rule_error import RuleError

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI, StateAPI, TransactionFieldsAPI

MAX_NONCE = 2**64 - 1
"""Exclusive upper bound of a nonce. Source: EIP-2681."""

BLOB_VERSION = 1
"""First byte of a blob's versioned hash. Source: EIP-4844."""

MAX_TRANSACTION_GAS = 1 << 24
"""Upper bound of a transaction's gas limit from Osaka on. Source: EIP-7825."""

MAX_TRANSACTION_BLOBS = 6
"""Upper bound of a transaction's blobs from Osaka on. Source: EIP-7594."""


class TransactionRefusal(Enum):
    """Why a transaction is invalid, by the names of ethereum/execution-spec-tests."""

    INVALID_CHAINID = auto()
    INVALID_SIGNATURE_VRS = auto()
    NONCE_IS_MAX = auto()
    NONCE_MISMATCH_TOO_LOW = auto()
    NONCE_MISMATCH_TOO_HIGH = auto()
    GAS_ALLOWANCE_EXCEEDED = auto()
    """More than is left of the block's gas limit."""

    GAS_LIMIT_EXCEEDS_MAXIMUM = auto()
    INTRINSIC_GAS_TOO_LOW = auto()
    INTRINSIC_GAS_BELOW_FLOOR_GAS_COST = auto()
    INITCODE_SIZE_EXCEEDED = auto()
    PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS = auto()
    INSUFFICIENT_MAX_FEE_PER_GAS = auto()
    INSUFFICIENT_MAX_FEE_PER_BLOB_GAS = auto()
    INSUFFICIENT_ACCOUNT_FUNDS = auto()
    SENDER_NOT_EOA = auto()
    TYPE_3_TX_CONTRACT_CREATION = auto()
    TYPE_3_TX_ZERO_BLOBS = auto()
    TYPE_3_TX_BLOB_COUNT_EXCEEDED = auto()
    TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED = auto()
    """More blobs than are left of the block's."""

    TYPE_3_TX_INVALID_BLOB_VERSIONED_HASH = auto()
    TYPE_4_TX_CONTRACT_CREATION = auto()
    TYPE_4_EMPTY_AUTHORIZATION_LIST = auto()


class InvalidTransactionError(RuleError):
    """No block may hold the transaction; nothing of it was executed."""

    def __init__(self, refusal: TransactionRefusal, message: str) -> None:
        """Input: the class of the reason; geth's message."""
        super().__init__(message)
        self.refusal = refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRules:
    """A fork's limits of a transaction."""

    last_type: int
    """The highest transaction type."""

    max_blobs: int
    max_gas: int | None = None
    """Upper bound of a gas limit (EIP-7825); None for the block's."""

    has_floor: bool
    """Whether calldata has a floor price (EIP-7623)."""

    def compute_floor_gas(self, transaction: TransactionFieldsAPI) -> int:
        """Return the floor price of a transaction's calldata, in gas; 0 before EIP-7623."""
        return floor_gas(transaction) if self.has_floor else 0

    def compute_least_gas(self, transaction: SignedTransactionAPI) -> int:
        """Return the least gas limit with which a transaction is valid."""
        return max(intrinsic_gas(transaction), self.compute_floor_gas(transaction))


CANCUN_RULES = TransactionRules(
    last_type=BLOB_TX_TYPE, max_blobs=CANCUN_BLOBS.maximum, has_floor=False
)
PRAGUE_RULES = TransactionRules(
    last_type=SET_CODE_TRANSACTION_TYPE, max_blobs=PRAGUE_BLOBS.maximum, has_floor=True
)
OSAKA_RULES = TransactionRules(
    last_type=SET_CODE_TRANSACTION_TYPE,
    max_blobs=MAX_TRANSACTION_BLOBS,
    max_gas=MAX_TRANSACTION_GAS,
    has_floor=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionTerms:
    """What a fork, a chain and the next block demand of a transaction."""

    rules: TransactionRules
    initcode_bytes: int
    """Upper bound of a creation's data."""

    chain_id: int | None
    """None for a call, which has no signature."""

    base_fee_wei: int = 0
    blob_base_fee_wei: int = 0
    """0 for either fee where the transaction may wait for a lower one."""

    may_follow: bool = False
    """Whether the nonce may be a later one than the account's."""

    is_call: bool = False
    """Whether it is a call, which needs no signature and has the gas of its block (EIP-7825)."""


def floor_gas(transaction: TransactionFieldsAPI) -> int:
    """Return the floor price of a transaction's calldata, in gas (EIP-7623)."""
    return int(PragueTransactionExecutor.calc_data_floor_gas(transaction, 0, 0))  # type: ignore[arg-type]


def intrinsic_gas(transaction: SignedTransactionAPI) -> int:
    """Return the gas of a transaction before its execution, with the words of initcode (EIP-3860).

    py-evm's lacks these: its call of the creation pays for them.
    """
    words = 0 if transaction.to else -(-len(transaction.data) // WORD_BYTES)
    return int(transaction.intrinsic_gas + INITCODE_WORD_COST * words)


def is_impersonated(transaction: SignedTransactionAPI) -> bool:
    """Whether a transaction was built without the sender's key."""
    return "is_impersonated" in vars(transaction)


def calculate_max_cost_wei(transaction: SignedTransactionAPI) -> int:
    """Return the maximum cost of a transaction: gas and blob fees, and value, in wei."""
    blob_fee = 0
    if transaction.type_id == BLOB_TX_TYPE:
        blob = _as_typed(transaction)
        blob_fee = len(blob.blob_versioned_hashes) * GAS_PER_BLOB * blob.max_fee_per_blob_gas
    return int(transaction.gas * transaction.max_fee_per_gas + transaction.value + blob_fee)


def require_valid(
    transaction: SignedTransactionAPI, state: StateAPI, terms: TransactionTerms
) -> None:
    """Refuse a transaction that no block may hold after a state.

    Raises: InvalidTransactionError: the reason.
    """
    _require_well_formed(transaction, terms)
    _require_signature(transaction)
    _require_sender(transaction, state, terms)


def _require_well_formed(transaction: SignedTransactionAPI, terms: TransactionTerms) -> None:
    if terms.chain_id is not None:
        require_chain_id(transaction, terms.chain_id)
    if transaction.nonce >= MAX_NONCE:
        raise InvalidTransactionError(TransactionRefusal.NONCE_IS_MAX, "nonce has max value")
    most = terms.rules.max_gas
    if most is not None and transaction.gas > most and not terms.is_call:
        raise InvalidTransactionError(
            TransactionRefusal.GAS_LIMIT_EXCEEDS_MAXIMUM,
            f"transaction gas limit too high (cap: {most}, tx: {transaction.gas})",
        )
    fee, tip = transaction.max_fee_per_gas, transaction.max_priority_fee_per_gas
    if fee < tip:
        raise InvalidTransactionError(
            TransactionRefusal.PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS,
            f"max priority fee per gas higher than max fee per gas: {tip} and {fee}",
        )
    size = len(transaction.data)
    if not transaction.to and size > terms.initcode_bytes:
        raise InvalidTransactionError(
            TransactionRefusal.INITCODE_SIZE_EXCEEDED,
            f"max initcode size exceeded: code size {size}, limit {terms.initcode_bytes}",
        )
    _require_enough_gas(transaction, terms.rules)
    if transaction.type_id == BLOB_TX_TYPE:
        _require_blobs(transaction, terms)
    elif transaction.type_id == SET_CODE_TRANSACTION_TYPE:
        _require_authorizations(transaction)


def require_chain_id(transaction: SignedTransactionAPI, chain_id: int) -> None:
    """Refuse a transaction that is signed for another chain (EIP-155, EIP-2930).

    Raises: InvalidTransactionError: it is.
    """
    if transaction.chain_id not in {None, chain_id}:
        raise InvalidTransactionError(
            TransactionRefusal.INVALID_CHAINID,
            f"invalid chain id for signer: have {transaction.chain_id} want {chain_id}",
        )


def _require_enough_gas(transaction: SignedTransactionAPI, rules: TransactionRules) -> None:
    least = intrinsic_gas(transaction)
    if transaction.gas < least:
        raise InvalidTransactionError(
            TransactionRefusal.INTRINSIC_GAS_TOO_LOW,
            f"intrinsic gas too low: gas {transaction.gas}, minimum needed {least}",
        )
    floor = rules.compute_floor_gas(transaction)
    if transaction.gas < floor:
        raise InvalidTransactionError(
            TransactionRefusal.INTRINSIC_GAS_BELOW_FLOOR_GAS_COST,
            f"insufficient gas for floor data gas cost: gas {transaction.gas}, "
            f"minimum needed {floor}",
        )


def _require_blobs(transaction: SignedTransactionAPI, terms: TransactionTerms) -> None:
    blob = _as_typed(transaction)
    hashes = blob.blob_versioned_hashes
    if not transaction.to:
        raise InvalidTransactionError(
            TransactionRefusal.TYPE_3_TX_CONTRACT_CREATION,
            "input transaction of type blob cannot create contracts",
        )
    if not hashes:
        raise InvalidTransactionError(
            TransactionRefusal.TYPE_3_TX_ZERO_BLOBS, "blob transaction missing blob hashes"
        )
    if len(hashes) > (most := terms.rules.max_blobs):
        raise InvalidTransactionError(
            TransactionRefusal.TYPE_3_TX_BLOB_COUNT_EXCEEDED,
            f"too many blobs in transaction: have {len(hashes)}, permitted {most}",
        )
    for index, blob_hash in enumerate(hashes):
        # py-evm's RLP takes hashes of any length.
        if len(blob_hash) != HASH_BYTES or blob_hash[0] != BLOB_VERSION:
            raise InvalidTransactionError(
                TransactionRefusal.TYPE_3_TX_INVALID_BLOB_VERSIONED_HASH,
                f"blob {index} has invalid hash version",
            )
    if blob.max_fee_per_blob_gas < terms.blob_base_fee_wei:
        raise InvalidTransactionError(
            TransactionRefusal.INSUFFICIENT_MAX_FEE_PER_BLOB_GAS,
            "max fee per blob gas less than block blob gas fee: "
            f"have {blob.max_fee_per_blob_gas} want {terms.blob_base_fee_wei}",
        )


def _require_authorizations(transaction: SignedTransactionAPI) -> None:
    if not transaction.to:
        raise InvalidTransactionError(
            TransactionRefusal.TYPE_4_TX_CONTRACT_CREATION,
            "input transaction of type set code cannot create contracts",
        )
    if not _as_typed(transaction).authorization_list:
        raise InvalidTransactionError(
            TransactionRefusal.TYPE_4_EMPTY_AUTHORIZATION_LIST,
            "set code tx must have at least one authorization tuple",
        )


def _require_signature(transaction: SignedTransactionAPI) -> None:
    """Refuse a transaction with a field out of range, or that no account can have signed."""
    try:
        transaction.validate()
    except ValidationError as error:
        raise InvalidTransactionError(
            TransactionRefusal.INVALID_SIGNATURE_VRS, f"invalid sender: {error}"
        ) from error
    if not 0 < transaction.s <= SECPK1_N // 2:
        raise InvalidTransactionError(
            TransactionRefusal.INVALID_SIGNATURE_VRS,
            "invalid sender: invalid transaction v, r, s values",
        )


def _require_sender(
    transaction: SignedTransactionAPI, state: StateAPI, terms: TransactionTerms
) -> None:
    sender = transaction.sender
    if not terms.is_call and not is_impersonated(transaction):
        code = state.get_code(sender)
        if code and not code.startswith(DELEGATION_DESIGNATION_PREFIX):
            raise InvalidTransactionError(
                TransactionRefusal.SENDER_NOT_EOA,
                f"sender not an eoa: address {to_checksum_address(sender)}",
            )
    nonce = state.get_nonce(sender)
    if transaction.nonce < nonce:
        raise InvalidTransactionError(
            TransactionRefusal.NONCE_MISMATCH_TOO_LOW, describe_low_nonce(transaction.nonce, nonce)
        )
    if transaction.nonce > nonce and not terms.may_follow:
        raise InvalidTransactionError(
            TransactionRefusal.NONCE_MISMATCH_TOO_HIGH,
            f"nonce too high: next nonce {nonce}, tx nonce {transaction.nonce}",
        )
    if transaction.max_fee_per_gas < terms.base_fee_wei:
        raise InvalidTransactionError(
            TransactionRefusal.INSUFFICIENT_MAX_FEE_PER_GAS,
            "max fee per gas less than block base fee: address "
            f"{to_checksum_address(sender)}, maxFeePerGas: {transaction.max_fee_per_gas}, "
            f"baseFee: {terms.base_fee_wei}",
        )
    cost = calculate_max_cost_wei(transaction)
    balance = state.get_balance(sender)
    if balance < cost:
        raise InvalidTransactionError(
            TransactionRefusal.INSUFFICIENT_ACCOUNT_FUNDS,
            "insufficient funds for gas * price + value: "
            f"address {to_checksum_address(sender)} have {balance} want {cost}",
        )


def describe_low_nonce(nonce: int, next_nonce: int) -> str:
    """Return the reason against a nonce that the account has used."""
    return f"nonce too low: next nonce {next_nonce}, tx nonce {nonce}"


def _as_typed(transaction: SignedTransactionAPI) -> Any:  # noqa: ANN401 - see below
    """Return a transaction as one of its type, whose fields py-evm's abstract class lacks."""
    return transaction
