"""Transactions of all types: reading, building, signing, and senders that are known beforehand.

Recovering a sender from a signature costs more than a plain transfer's execution. A transaction
that this process signed was not altered since, and one that it sends for an impersonated account
has a signature without meaning: their senders are noted instead.

Source: EIP-2718 and EIP-2930 (type 1), EIP-1559 (2), EIP-4844 (3), EIP-7702 (4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_typing import Address

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import SignedTransactionAPI
    from eth_keys.datatypes import PrivateKey


LEGACY_TYPE, ACCESS_LIST_TYPE, DYNAMIC_FEE_TYPE, BLOB_TYPE, SET_CODE_TYPE = range(5)

Builder = Any
"""A class of py-evm that makes transactions of a fork; its type tells too little."""

BLOB_GAS = 2**17
"""Gas of a blob. Source: EIP-4844."""

AccessList = tuple[tuple[Address, tuple[int, ...]], ...]

FIRST_V = 35
"""`v` of a legacy transaction for chain 0. Source: EIP-155."""

NO_SIGNATURE_S = 1
"""The `s` of a transaction that nobody signed; its `r` is the sender's address, so that two
senders' transactions have two hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionFields:
    """What a transaction says, whatever its type. Fees are in wei a gas."""

    kind: int
    nonce: int
    gas: int
    to: Address | None
    value_wei: int = 0
    data: bytes = b""
    gas_price_wei: int = 0
    """For types 0 and 1."""

    max_fee_wei: int = 0
    """From type 2 on, as the next."""

    max_priority_fee_wei: int = 0
    access_list: AccessList = ()
    max_blob_fee_wei: int = 0
    blob_hashes: tuple[bytes, ...] = ()
    authorizations: tuple[Any, ...] = ()
    """py-evm's `Authorization`s, for type 4."""


def sign(
    fields: TransactionFields,
    key: PrivateKey,
    chain_id: int,
    builder: Builder = PragueTransactionBuilder,
) -> SignedTransactionAPI:
    """Make a transaction and sign it; its sender need not be recovered.

    Input:  what it says; by whom, and for which chain; what makes transactions of the chain's fork.
    Raises: ConfigError: that fork has no such type.
    """
    if fields.kind == LEGACY_TYPE:
        unsigned = builder.create_unsigned_transaction(**_build_legacy_fields(fields))
        signed = unsigned.as_signed_transaction(key, chain_id=chain_id)
    else:
        named = _build_typed_fields(fields, chain_id)
        message = getattr(builder, f"new_unsigned_{_find_maker(fields.kind, builder)}")(**named)
        y_parity, r, s = key.sign_msg(message.get_message_for_signing()).vrs
        signed = _build_typed(builder, fields.kind, named, y_parity, r, s)
    return set_known_sender(signed, Address(key.public_key.to_canonical_address()))


def build_impersonated(
    fields: TransactionFields,
    sender: Address,
    chain_id: int,
    builder: Builder = PragueTransactionBuilder,
) -> SignedTransactionAPI:
    """Make a transaction in the name of an account whose key nobody has; else as `sign`."""
    r, s = int.from_bytes(sender, "big") or 1, NO_SIGNATURE_S
    if fields.kind == LEGACY_TYPE:
        v = FIRST_V + 2 * chain_id
        tx = builder.new_transaction(**_build_legacy_fields(fields), v=v, r=r, s=s)
    else:
        tx = _build_typed(builder, fields.kind, _build_typed_fields(fields, chain_id), 0, r, s)
    return impersonate(tx, sender)


def build_unsigned(
    fields: TransactionFields,
    sender: Address,
    chain_id: int,
    builder: Builder = PragueTransactionBuilder,
) -> SignedTransactionAPI:
    """Make a transaction with a signature of zeros, to be shown and not sent; else as `sign`."""
    if fields.kind == LEGACY_TYPE:
        tx = builder.new_transaction(**_build_legacy_fields(fields), v=0, r=0, s=0)
    else:
        tx = _build_typed(builder, fields.kind, _build_typed_fields(fields, chain_id), 0, 0, 0)
    return set_known_sender(tx, sender)


def _build_typed(  # noqa: PLR0913, PLR0917 - parts of a signature
    builder: Builder, kind: int, named: dict[str, Any], y_parity: int, r: int, s: int
) -> SignedTransactionAPI:
    # py-evm wraps what it makes in the class of the fork that brought the type, which no block of
    # a later one can hold.
    make = getattr(builder, f"new_{_find_maker(kind, builder)}")
    inner = make(**named, y_parity=y_parity, r=r, s=s)._inner  # noqa: SLF001 - see above
    transaction: SignedTransactionAPI = builder.typed_transaction(kind, inner)
    return transaction


_MAKERS = {
    ACCESS_LIST_TYPE: "access_list_transaction",
    DYNAMIC_FEE_TYPE: "dynamic_fee_transaction",
    BLOB_TYPE: "blob_transaction",
    SET_CODE_TYPE: "set_code_transaction",
}
"""py-evm's names of what makes each type."""


def _find_maker(kind: int, builder: Builder) -> str:
    """Return py-evm's name of what makes a type.

    Raises: ConfigError: there is no such type, or not yet.
    """
    maker = _MAKERS.get(kind)
    if maker is None or not _has(builder, maker):
        last = max(number for number, name in _MAKERS.items() if _has(builder, name))
        raise ConfigError(f"transaction type {kind}: there are {LEGACY_TYPE} to {last}")
    return maker


def _has(builder: Builder, maker: str) -> bool:
    return hasattr(builder, f"new_unsigned_{maker}")


def _build_legacy_fields(fields: TransactionFields) -> dict[str, Any]:
    return {
        "nonce": fields.nonce,
        "gas_price": fields.gas_price_wei,
        "gas": fields.gas,
        "to": fields.to or Address(b""),
        "value": fields.value_wei,
        "data": fields.data,
    }


def _build_typed_fields(fields: TransactionFields, chain_id: int) -> dict[str, Any]:
    named: dict[str, Any] = {
        "chain_id": chain_id,
        "nonce": fields.nonce,
        "gas": fields.gas,
        "to": fields.to or Address(b""),
        "value": fields.value_wei,
        "data": fields.data,
        "access_list": fields.access_list,
    }
    if fields.kind == ACCESS_LIST_TYPE:
        return named | {"gas_price": fields.gas_price_wei}
    named |= {
        "max_fee_per_gas": fields.max_fee_wei,
        "max_priority_fee_per_gas": fields.max_priority_fee_wei,
    }
    if fields.kind == BLOB_TYPE:
        named |= {
            "max_fee_per_blob_gas": fields.max_blob_fee_wei,
            "blob_versioned_hashes": fields.blob_hashes,
        }
    if fields.kind == SET_CODE_TYPE:
        named |= {"authorization_list": fields.authorizations}
    return named


def get_transaction_type(transaction: SignedTransactionAPI) -> int:
    """Return a transaction's type, 0 for legacy."""
    return transaction.type_id or LEGACY_TYPE


def get_access_list(
    transaction: SignedTransactionAPI,
) -> Sequence[tuple[Address, Sequence[int]]]:
    """Return a transaction's access list, empty where its type has none."""
    return transaction.access_list if get_transaction_type(transaction) else ()


def get_authorizations(transaction: SignedTransactionAPI) -> Sequence[Any]:
    """Return the authorizations of a type 4 transaction, none of others."""
    return (
        transaction.authorization_list if get_transaction_type(transaction) == SET_CODE_TYPE else ()
    )


def count_blobs(transaction: SignedTransactionAPI) -> int:
    """Return how many blobs a transaction brings."""
    return (
        len(transaction.blob_versioned_hashes)
        if get_transaction_type(transaction) == BLOB_TYPE
        else 0
    )


def effective_gas_price(transaction: SignedTransactionAPI, base_fee_wei: int | None) -> int:
    """Return what a gas costs the sender, in wei; the most it can where there is no block yet."""
    if get_transaction_type(transaction) < DYNAMIC_FEE_TYPE:
        return int(transaction.gas_price)
    if base_fee_wei is None:
        return int(transaction.max_fee_per_gas)
    return min(
        int(transaction.max_fee_per_gas), base_fee_wei + int(transaction.max_priority_fee_per_gas)
    )


def legacy_v(transaction: Any) -> int:  # noqa: ANN401 - a field of one of py-evm's types alone
    """Return the `v` of a legacy transaction: parity, and the chain (EIP-155) or 27."""
    return int(transaction.v)


def set_known_sender(transaction: SignedTransactionAPI, sender: Address) -> SignedTransactionAPI:
    """Take a transaction as one of `sender`'s, whatever its signature says; return it.

    `sender` is an attribute that py-evm fills in when it is first asked for: it is filled in here.
    """
    vars(transaction)["sender"] = sender
    for part in (transaction, getattr(transaction, "_inner", None)):
        if part is not None:
            vars(part)["check_signature_validity"] = _skip_signature_check
    return transaction


def impersonate(transaction: SignedTransactionAPI, sender: Address) -> SignedTransactionAPI:
    """Take a transaction as one of `sender`'s although its signature is none of theirs; return it.

    A block that holds it can't be checked by anybody else.
    """
    vars(transaction)["is_impersonated"] = True
    return set_known_sender(transaction, sender)


def is_impersonated(transaction: SignedTransactionAPI) -> bool:
    """Whether a transaction was sent without its sender's key."""
    return "is_impersonated" in vars(transaction)


def _skip_signature_check() -> None:
    """Check nothing: the sender is known."""
