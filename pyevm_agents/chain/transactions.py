"""Transactions of all types: building, signing, impersonation and known senders.

Recovering a sender from a signature takes longer than executing a plain transfer. The senders of
transactions that this process signed, or sends for an impersonated account, are set instead.

Source: EIP-2718 and EIP-2930 (type 1), EIP-1559 (2), EIP-4844 (3), EIP-7702 (4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from coincurve import PublicKey
from eth.vm.forks.london.transactions import DynamicFeeTransaction
from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_hash.auto import keccak
from eth_keys.exceptions import BadSignature
from eth_typing import Address

from precompiles.spec import ADDRESS_BYTES
from pyevm_agents.errors import ConfigError
from pyevm_agents.state.trie_nodes import encode_list, split_list
from pyevm_agents.vm import InvalidTransactionError, TransactionRefusal
from pyevm_agents.vm import is_impersonated as is_impersonated  # noqa: PLC0414 - beside `impersonate`
from pyevm_agents.vm.rlp_codec import decode_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eth.abc import SignedTransactionAPI
    from eth_keys.datatypes import PrivateKey


LEGACY_TYPE, ACCESS_LIST_TYPE, DYNAMIC_FEE_TYPE, BLOB_TYPE, SET_CODE_TYPE = range(5)
DYNAMIC_FEE_BYTE = bytes((DYNAMIC_FEE_TYPE,))

Builder = Any
"""py-evm's transaction builder of a fork; its abstract type lacks most methods."""

BLOB_GAS = 2**17
"""Blob gas per blob. Source: EIP-4844."""

AccessList = tuple[tuple[Address, tuple[int, ...]], ...]

FIRST_PROTECTED_V = 35
"""`v` of a legacy transaction for chain 0. Source: EIP-155."""

SIGNATURE_FIELDS = 3
"""The last fields of a typed transaction: parity, r and s."""

NO_SIGNATURE_S = 1
"""The `s` of an impersonated transaction. Its `r` is the sender's address, so that the hashes of
two senders differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionFields:
    """The fields of a transaction of any type. Fees are in wei per gas."""

    kind: int
    nonce: int
    gas: int
    to: Address | None
    value_wei: int = 0
    data: bytes = b""
    gas_price_wei: int = 0
    """For types 0 and 1."""

    max_fee_wei: int = 0
    """For types 2 to 4, like `max_priority_fee_wei`."""

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
    """Build and sign a transaction, with the sender set.

    Input:
        fields: of the transaction.
        key: of the sender.
        chain_id: for replay protection.
        builder: of the chain's fork.

    Raises: ConfigError: the fork lacks the transaction type.
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
    """Build a transaction without the sender's key. Input and errors as for `sign`."""
    r, s = int.from_bytes(sender, "big") or 1, NO_SIGNATURE_S
    if fields.kind == LEGACY_TYPE:
        v = FIRST_PROTECTED_V + 2 * chain_id
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
    """Build a transaction with a zero signature, for display. Input and errors as for `sign`."""
    if fields.kind == LEGACY_TYPE:
        tx = builder.new_transaction(**_build_legacy_fields(fields), v=0, r=0, s=0)
    else:
        tx = _build_typed(builder, fields.kind, _build_typed_fields(fields, chain_id), 0, 0, 0)
    return set_known_sender(tx, sender)


def decode_transaction(encoded: bytes, builder: Builder) -> SignedTransactionAPI:
    """Decode a signed transaction.

    That of a usual type 2 is cut into fields; py-evm decodes any other, and refuses what is none.

    Raises: what py-evm's decoders raise.
    """
    usual = _decode_usual(encoded, builder) if encoded[:1] == DYNAMIC_FEE_BYTE else None
    decoded: SignedTransactionAPI = builder.decode(encoded) if usual is None else usual
    return decoded


def _decode_usual(encoded: bytes, builder: Builder) -> SignedTransactionAPI | None:
    """Return a transaction of type 2 without an access list; None if it is another one."""
    payload = encoded[1:]
    inner = decode_record(DynamicFeeTransaction, payload)
    if inner is None:
        return None
    vars(inner)["get_message_for_signing"] = partial(_cut_message, payload)
    usual: SignedTransactionAPI = builder.typed_transaction(DYNAMIC_FEE_TYPE, inner)
    return usual


def _cut_message(payload: bytes) -> bytes:
    """Return the message that the sender of a transaction of type 2 signed, given its RLP."""
    return DYNAMIC_FEE_BYTE + encode_list(b"".join(split_list(payload)[:-SIGNATURE_FIELDS]))


def _build_typed(  # noqa: PLR0913, PLR0917 - parts of a signature
    builder: Builder, kind: int, named: dict[str, Any], y_parity: int, r: int, s: int
) -> SignedTransactionAPI:
    # py-evm wraps it in the class of the fork that introduced the type, which blocks of later
    # forks cannot contain.
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
"""py-evm's builder methods by transaction type."""


def _find_maker(kind: int, builder: Builder) -> str:
    """Return the name of py-evm's builder method of a transaction type.

    Raises: ConfigError: the fork lacks the type.
    """
    maker = _MAKERS.get(kind)
    if maker is None or not _has(builder, maker):
        last = max(number for number, name in _MAKERS.items() if _has(builder, name))
        raise ConfigError(f"transaction type {kind}: must be {LEGACY_TYPE} to {last}")
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
    """Return a transaction's access list; empty for legacy transactions."""
    return transaction.access_list if get_transaction_type(transaction) else ()


def get_authorizations(transaction: SignedTransactionAPI) -> Sequence[Any]:
    """Return the authorizations of a type 4 transaction; empty for other types."""
    return (
        transaction.authorization_list if get_transaction_type(transaction) == SET_CODE_TYPE else ()
    )


def count_blobs(transaction: SignedTransactionAPI) -> int:
    """Return the number of blobs of a transaction."""
    return (
        len(transaction.blob_versioned_hashes)
        if get_transaction_type(transaction) == BLOB_TYPE
        else 0
    )


def effective_gas_price(transaction: SignedTransactionAPI, base_fee_wei: int | None) -> int:
    """Return the gas price that the sender pays, in wei; without a block, the maximum."""
    if get_transaction_type(transaction) < DYNAMIC_FEE_TYPE:
        return int(transaction.gas_price)
    if base_fee_wei is None:
        return int(transaction.max_fee_per_gas)
    return min(
        int(transaction.max_fee_per_gas), base_fee_wei + int(transaction.max_priority_fee_per_gas)
    )


def legacy_v(transaction: Any) -> int:  # noqa: ANN401 - a field of one of py-evm's types alone
    """Return the `v` of a legacy transaction: parity plus 27, or EIP-155's offset."""
    return int(transaction.v)


def set_known_sender(transaction: SignedTransactionAPI, sender: Address) -> SignedTransactionAPI:
    """Set a transaction's sender, instead of recovery from the signature; return the transaction.

    py-evm caches `sender` in the instance on first access: this fills the cache.
    """
    vars(transaction)["sender"] = sender
    for part in (transaction, getattr(transaction, "_inner", None)):
        if part is not None:
            vars(part)["check_signature_validity"] = _skip_signature_check
    return transaction


def recover_sender(transaction: SignedTransactionAPI) -> Address:
    """Return the sender of a transaction: the known one, or that of the signature.

    py-evm lets out the error of eth_keys, which is caught here alone. Its integers have no size,
    and Python does not write those of over 4,300 digits.

    Raises: InvalidTransactionError: no account can have made the signature, or an integer has more
        than 256 bits.
    """
    is_new = "sender" not in vars(transaction)
    if is_new and any(number >> 256 for number in _iter_integers(transaction)):
        raise InvalidTransactionError(
            TransactionRefusal.INVALID_SIGNATURE_VRS,
            "invalid transaction: an integer of more than 256 bits",
        )
    try:
        if is_new and (sender := _recover_signer(transaction)) is not None:
            vars(transaction)["sender"] = sender
        return Address(transaction.sender)
    except BadSignature as error:
        raise InvalidTransactionError(
            TransactionRefusal.INVALID_SIGNATURE_VRS, f"invalid signature: {error}"
        ) from error


def _recover_signer(transaction: SignedTransactionAPI) -> Address | None:
    """Return the account that signed a transaction; None if py-evm is to say what is wrong.

    py-evm recovers it by the same library, with five objects around each number.
    """
    parity = transaction.y_parity
    if parity not in {0, 1}:
        return None
    signature = b"".join(
        (transaction.r.to_bytes(32, "big"), transaction.s.to_bytes(32, "big"), bytes((parity,)))
    )
    digest = keccak(transaction.get_message_for_signing())
    try:
        key = PublicKey.from_signature_and_message(signature, digest, hasher=None)
    except ValueError:
        return None
    return Address(keccak(key.format(compressed=False)[1:])[-ADDRESS_BYTES:])


def _iter_integers(part: Any) -> Iterator[int]:  # noqa: ANN401 - a part of a transaction
    """Yield the integers of a transaction, those of its lists included."""
    if isinstance(part, int):
        yield part
    elif not isinstance(part, bytes):
        for each in getattr(part, "_inner", part):
            yield from _iter_integers(each)


def impersonate(transaction: SignedTransactionAPI, sender: Address) -> SignedTransactionAPI:
    """Set the sender of a transaction that `sender` did not sign; return the transaction.

    Other nodes cannot verify a block with an impersonated transaction.
    """
    vars(transaction)["is_impersonated"] = True
    return set_known_sender(transaction, sender)


def _skip_signature_check() -> None:
    """Accept the signature: the sender is set."""
