"""Default values of the fields that a transaction request leaves out.

Source: geth, internal/ethapi/transaction_args.go, `setDefaults`; anvil, `fill_transaction_request`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from eth.constants import ZERO_ADDRESS

from pyevm_agents.chain.calls import Call
from pyevm_agents.chain.transactions import (
    ACCESS_LIST_TYPE,
    BLOB_TYPE,
    DYNAMIC_FEE_TYPE,
    LEGACY_TYPE,
    SET_CODE_TYPE,
    AccessList,
    TransactionFields,
    build_impersonated,
    build_unsigned,
    sign,
)
from pyevm_agents.node.errors import (
    ChainIdError,
    ExecutionFailedError,
    InvalidRequestError,
    SignerError,
)
from pyevm_agents.node.gas_limits import estimate_gas
from pyevm_agents.node.state_view import build_next_view
from pyevm_agents.vm import BLOB_VERSION, calculate_max_cost_wei

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import SignedTransactionAPI
    from eth.vm.forks.prague.transactions import Authorization
    from eth_typing import Address

    from pyevm_agents.node.node import Node

TransactionFactory: TypeAlias = "Callable[[], SignedTransactionAPI]"
"""Builds a transaction with the next nonce. `Node.send` calls it under its lock."""

DEFAULT_PRIORITY_FEE_WEI = 1_000_000_000
"""Default priority fee per gas, in wei. Source: anvil and geth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRequest:
    """A transaction or call as requested by a client. None: the node chooses."""

    chain_id: int | None = None
    sender: Address | None = None
    to: Address | None = None
    """The recipient; None to create a contract."""

    data: bytes = b""
    value_wei: int = 0
    gas: int | None = None
    gas_price_wei: int | None = None
    max_fee_wei: int | None = None
    max_priority_fee_wei: int | None = None
    nonce: int | None = None
    access_list: AccessList | None = None
    kind: int | None = None
    """The transaction's type (EIP-2718)."""

    max_blob_fee_wei: int | None = None
    blob_hashes: tuple[bytes, ...] | None = None
    authorizations: tuple[Authorization, ...] | None = None

    def to_call(self) -> Call:
        """Return the request as a call; the default sender is the zero address.

        Raises: InvalidRequestError: no blob transaction can be like this.
        """
        _require_blobs(self)
        fee = self.gas_price_wei if self.gas_price_wei is not None else self.max_fee_wei
        return Call(
            to=self.to,
            sender=self.sender or ZERO_ADDRESS,
            data=self.data,
            value_wei=self.value_wei,
            gas=self.gas,
            gas_price_wei=fee or 0,
            access_list=self.access_list or (),
            authorizations=self.authorizations or (),
            blob_hashes=self.blob_hashes or (),
        )

    def find_tip_wei(self) -> int:
        """Return the priority fee per gas: the requested one, or the default one if affordable."""
        if self.max_priority_fee_wei is not None:
            return self.max_priority_fee_wei
        if self.max_fee_wei is None:
            return DEFAULT_PRIORITY_FEE_WEI
        return min(DEFAULT_PRIORITY_FEE_WEI, self.max_fee_wei)

    def find_price_wei(self, base_fee_wei: int) -> int:
        """Return the gas price that the filled transaction pays in a block, in wei."""
        if self.gas_price_wei is not None:
            return self.gas_price_wei
        price_wei = base_fee_wei + self.find_tip_wei()
        return price_wei if self.max_fee_wei is None else min(price_wei, self.max_fee_wei)


def _require_blobs(request: TransactionRequest) -> None:
    """Reject a call with blob hashes that is no possible blob transaction.

    Source: geth, core/state_transition.go, `preCheck`.
    Raises: InvalidRequestError: the message is geth's.
    """
    hashes = request.blob_hashes
    if not hashes:
        return
    if request.to is None:
        raise InvalidRequestError("err: blob transaction of type create")
    for index, blob_hash in enumerate(hashes):
        if blob_hash[0] != BLOB_VERSION:
            raise InvalidRequestError(f"err: blob {index} has invalid hash version")


# -- sender and chain -- #


def require_chain_id(node: Node, request: TransactionRequest) -> None:
    """Reject a request for another chain.

    Raises: ChainIdError: the message is geth's.
    """
    own = node.chain.config.chain_id
    if request.chain_id not in (None, own):
        raise ChainIdError(f"chainId does not match node's (have={request.chain_id}, want={own})")


def resolve_sender(node: Node, request: TransactionRequest) -> Address:
    """Return the sender of a request, by default the node's first account.

    Raises: ChainIdError: the request is for another chain. SignerError: no sender is named, and the
        node has no account.
    """
    require_chain_id(node, request)
    if request.sender is not None:
        return request.sender
    addresses = node.keys.addresses
    if not addresses:
        raise SignerError("from is missing, and the node has no account")
    return addresses[0]


def resolve_signer(node: Node, request: TransactionRequest) -> Address:
    """Return the sender of a request for which the node sends: one with a key, or impersonated.

    Raises: see `resolve_sender`. SignerError: the node does not send for this account.
    """
    sender = resolve_sender(node, request)
    if not node.keys.can_send(sender):
        raise SignerError(
            f"No Signer available: 0x{sender.hex()} is not an account of the node; "
            "anvil_impersonateAccount sends without a key"
        )
    return sender


# -- fees -- #


def compute_next_base_fee(node: Node) -> int:
    """Return the base fee of the next block, in wei a gas."""
    return int(node.next_block.build_header().base_fee_per_gas or 0)


def suggest_gas_price(node: Node) -> int:
    """Return the default gas price of a legacy transaction, in wei."""
    return compute_next_base_fee(node) + DEFAULT_PRIORITY_FEE_WEI


# -- gas -- #


def choose_gas_limit(node: Node, request: TransactionRequest, sender: Address) -> int:
    """Return the gas limit of a transaction: requested, estimated, or the highest one.

    If the estimate fails, the highest one, as in anvil: the failure is mined.

    Raises: RequestError: the estimate fails, and the sender can't pay for the highest one.
            EngineFault: the host failed.
    """
    try:
        return _estimate_gas_limit(node, request, sender)
    except ExecutionFailedError:
        limit = node.max_transaction_gas
        transaction = fill_transaction(node, replace(request, gas=limit), sender)
        if node.chain.balance(sender) < calculate_max_cost_wei(transaction):
            raise
        return limit


def _estimate_gas_limit(node: Node, request: TransactionRequest, sender: Address) -> int:
    if request.gas is not None:
        return request.gas
    view = build_next_view(node, sender, request.nonce)
    price_wei = request.find_price_wei(int(view.header.base_fee_per_gas or 0))
    call = replace(request, sender=sender).to_call()
    return estimate_gas(node, call, view, price_wei=price_wei)


# -- transactions -- #


def fill_fields(node: Node, request: TransactionRequest, sender: Address) -> TransactionFields:
    """Return all fields of a transaction: those of the request, and defaults for the others.

    Raises: RequestError: the gas can't be estimated. EngineFault: the host failed.
    """
    header = node.next_block.build_header()
    base_fee = int(header.base_fee_per_gas or 0)
    tip = request.find_tip_wei()
    price, max_fee = request.gas_price_wei, request.max_fee_wei
    blob_fee = request.max_blob_fee_wei
    if blob_fee is None:
        blob_fee = 2 * node.chain.fork.blob_base_fee(header) if request.blob_hashes else 0
    return TransactionFields(
        kind=_infer_type(request),
        nonce=node.next_nonce(sender) if request.nonce is None else request.nonce,
        gas=_estimate_gas_limit(node, request, sender),
        to=request.to,
        value_wei=request.value_wei,
        data=request.data,
        gas_price_wei=base_fee + tip if price is None else price,
        max_fee_wei=2 * base_fee + tip if max_fee is None else max_fee,
        max_priority_fee_wei=tip,
        access_list=request.access_list or (),
        max_blob_fee_wei=blob_fee,
        blob_hashes=request.blob_hashes or (),
        authorizations=request.authorizations or (),
    )


def _infer_type(request: TransactionRequest) -> int:
    """Return the requested type, by default the one that has the requested fields."""
    if request.kind is not None:
        return request.kind
    if request.authorizations is not None:
        return SET_CODE_TYPE
    if request.blob_hashes is not None:
        return BLOB_TYPE
    if request.gas_price_wei is None:
        return DYNAMIC_FEE_TYPE
    return LEGACY_TYPE if request.access_list is None else ACCESS_LIST_TYPE


def fill_transaction(
    node: Node, request: TransactionRequest, sender: Address, *, may_sign: bool = True
) -> SignedTransactionAPI:
    """Fill in a transaction; sign it, or impersonate the sender if the node has no key.

    Input:  may_sign: whether to use a key; if not, the sender is impersonated.
    Raises: see `fill_fields`. ConfigError: the fork lacks the transaction type.
    """
    fields = fill_fields(node, request, sender)
    key = node.keys.get_key(sender) if may_sign else None
    chain_id, builder = node.chain.config.chain_id, node.chain.fork.builder
    if key is None:
        return build_impersonated(fields, sender, chain_id, builder)
    return sign(fields, key, chain_id, builder)


def sign_transaction(node: Node, request: TransactionRequest) -> SignedTransactionAPI:
    """Fill in and sign a transaction with the node's key.

    Raises: see `resolve_signer` and `fill_transaction`. SignerError: the node has no key.
    """
    sender = resolve_signer(node, request)
    key = node.keys.require_key(sender)
    fields = fill_fields(node, request, sender)
    return sign(fields, key, node.chain.config.chain_id, node.chain.fork.builder)


def fill_unsigned_transaction(node: Node, request: TransactionRequest) -> SignedTransactionAPI:
    """Fill in a transaction without a signature, for `eth_fillTransaction`.

    Raises: see `resolve_sender` and `fill_transaction`.
    """
    sender = resolve_sender(node, request)
    fields = fill_fields(node, request, sender)
    return build_unsigned(fields, sender, node.chain.config.chain_id, node.chain.fork.builder)


def prepare_transaction(
    node: Node, request: TransactionRequest, sender: Address, *, may_sign: bool = True
) -> TransactionFactory:
    """Return a factory for `Node.send`. Gas is estimated here: the factory holds a lock.

    Raises: see `choose_gas_limit`; the factory as `fill_transaction`.
    """
    with_gas = replace(request, gas=choose_gas_limit(node, request, sender))
    return lambda: fill_transaction(node, with_gas, sender, may_sign=may_sign)
