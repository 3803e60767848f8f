"""Defaults of a transaction request's missing fields."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth.constants import ZERO_ADDRESS

from pyevm_agents.chain.transactions import (
    ACCESS_LIST_TYPE,
    BLOB_TYPE,
    DYNAMIC_FEE_TYPE,
    LEGACY_TYPE,
    SET_CODE_TYPE,
    is_impersonated,
)
from pyevm_agents.node import Keys
from pyevm_agents.node.errors import ChainIdError, ExecutionFailedError, SignerError
from pyevm_agents.node.transaction_defaults import (
    DEFAULT_PRIORITY_FEE_WEI,
    TransactionRequest,
    choose_gas_limit,
    compute_next_base_fee,
    fill_fields,
    fill_transaction,
    fill_unsigned_transaction,
    prepare_transaction,
    resolve_sender,
    resolve_signer,
    sign_transaction,
    suggest_gas_price,
)
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, CHAIN_ID, GWEI, NOBODY
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from tests.pyevm_agents.node.senders_of_tests import MakeNode

TIP = DEFAULT_PRIORITY_FEE_WEI
TRANSFER = TransactionRequest(sender=ADDRESSES[0], to=NOBODY, value_wei=1)
REVERTING = TransactionRequest(sender=ADDRESSES[0], data=asm("PUSH0 PUSH0 REVERT"))


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({}, DYNAMIC_FEE_TYPE),
        ({"max_fee_wei": 1}, DYNAMIC_FEE_TYPE),
        ({"access_list": ()}, DYNAMIC_FEE_TYPE),
        ({"gas_price_wei": 1}, LEGACY_TYPE),
        ({"gas_price_wei": 1, "access_list": ()}, ACCESS_LIST_TYPE),
        ({"blob_hashes": (b"\x01" * 32,)}, BLOB_TYPE),
        ({"authorizations": ()}, SET_CODE_TYPE),
        ({"kind": 9, "gas_price_wei": 1}, 9),
    ],
    ids=str,
)
def test_the_type_is_the_requested_one_or_that_of_the_fields(
    make: MakeNode, told: dict[str, Any], kind: int
) -> None:
    assert fill_fields(make(), replace(TRANSFER, gas=21_000, **told), ADDRESSES[0]).kind == kind


@pytest.mark.parametrize(
    ("told", "base_fees", "tip"),
    [
        ({}, 2, TIP),
        ({"max_priority_fee_wei": 5}, 2, 5),
        ({"max_fee_wei": 3 * GWEI}, None, TIP),
        ({"max_fee_wei": 7}, None, 7),
        ({"max_fee_wei": 7, "max_priority_fee_wei": 9}, None, 9),
    ],
    ids=str,
)
def test_fees_follow_the_base_fee(
    make: MakeNode, told: dict[str, Any], base_fees: int | None, tip: int
) -> None:
    node = make()
    base_fee = compute_next_base_fee(node)
    fields = fill_fields(node, replace(TRANSFER, gas=21_000, **told), ADDRESSES[0])
    wanted = told["max_fee_wei"] if base_fees is None else base_fees * base_fee + tip
    assert (fields.max_fee_wei, fields.max_priority_fee_wei) == (wanted, tip)
    assert fields.gas_price_wei == base_fee + tip
    assert suggest_gas_price(node) == base_fee + TIP


def test_blobs_are_paid_at_twice_their_base_fee(make: MakeNode) -> None:
    node = make()
    base_fee = node.chain.fork.blob_base_fee(node.next_block.build_header())
    request = replace(TRANSFER, gas=21_000, blob_hashes=(b"\x01" * 32,))
    assert fill_fields(node, request, ADDRESSES[0]).max_blob_fee_wei == 2 * base_fee
    assert fill_fields(node, replace(request, blob_hashes=()), ADDRESSES[0]).max_blob_fee_wei == 0
    named = replace(request, max_blob_fee_wei=5)
    assert fill_fields(node, named, ADDRESSES[0]).max_blob_fee_wei == 5


def test_nonces_count_in_what_waits(make: MakeNode) -> None:
    node = make(is_automatic=False)
    for nonce in range(3):
        sent = node.send(prepare_transaction(node, TRANSFER, ADDRESSES[0]))
        sent.wait(HANG_SECONDS)
        assert sent.transaction.nonce == nonce
        assert len(node.pool) == nonce + 1
    assert fill_fields(node, replace(TRANSFER, nonce=7), ADDRESSES[0]).nonce == 7


def test_gas_is_what_it_takes_or_a_blocks_where_it_fails(make: MakeNode) -> None:
    node = make()
    assert choose_gas_limit(node, TRANSFER, ADDRESSES[0]) == 21_000
    assert choose_gas_limit(node, replace(TRANSFER, gas=5), ADDRESSES[0]) == 5
    limit = node.next_block.build_header().gas_limit
    assert choose_gas_limit(node, REVERTING, ADDRESSES[0]) == limit
    with pytest.raises(ExecutionFailedError):
        fill_fields(node, REVERTING, ADDRESSES[0])


def test_a_failure_that_its_sender_cannot_pay_for_is_refused(make: MakeNode) -> None:
    node = make()
    dear = replace(REVERTING, gas_price_wei=10**13)  # 300 ether a block; they have 100.
    with pytest.raises(ExecutionFailedError):
        choose_gas_limit(node, dear, ADDRESSES[0])


def test_the_sender_is_the_nodes_first_account_by_default(make: MakeNode) -> None:
    node = make()
    assert resolve_sender(node, TransactionRequest()) == ADDRESSES[0]
    assert resolve_sender(node, TransactionRequest(sender=NOBODY)) == NOBODY
    assert resolve_signer(node, TransactionRequest(sender=ADDRESSES[2])) == ADDRESSES[2]
    with pytest.raises(SignerError, match="No Signer available: 0x9999"):
        resolve_signer(node, TransactionRequest(sender=NOBODY))
    node.keys.impersonate(NOBODY)
    assert resolve_signer(node, TransactionRequest(sender=NOBODY)) == NOBODY
    node.keys = Keys()
    with pytest.raises(SignerError, match="from is missing"):
        resolve_sender(node, TransactionRequest())


def test_another_chain_is_refused_first(make: MakeNode) -> None:
    other = TransactionRequest(sender=NOBODY, chain_id=CHAIN_ID + 1)
    with pytest.raises(ChainIdError, match=rf"\(have={CHAIN_ID + 1}, want={CHAIN_ID}\)"):
        resolve_signer(make(), other)
    assert resolve_sender(make(), replace(other, chain_id=CHAIN_ID)) == NOBODY


def test_a_transaction_is_signed_where_there_is_a_key(make: MakeNode) -> None:
    node = make()
    signed = sign_transaction(node, TRANSFER)
    assert signed == fill_transaction(node, TRANSFER, ADDRESSES[0])
    assert not is_impersonated(signed)
    decoded = node.chain.transaction_builder.decode(signed.encode())
    assert decoded.sender == ADDRESSES[0]
    unsigned = fill_unsigned_transaction(node, TRANSFER)
    assert (unsigned.sender, unsigned.r, unsigned.s) == (ADDRESSES[0], 0, 0)
    assert unsigned.nonce == signed.nonce


def test_a_transaction_without_a_key_is_impersonated(make: MakeNode) -> None:
    node = make()
    node.keys.impersonate(NOBODY)
    request = replace(TRANSFER, sender=NOBODY, gas=21_000)
    for made in (
        fill_transaction(node, request, NOBODY),
        fill_transaction(node, TRANSFER, ADDRESSES[0], may_sign=False),
    ):
        assert is_impersonated(made)
    with pytest.raises(SignerError, match="the node has no key of 0x9999"):
        sign_transaction(node, request)


def test_a_request_is_a_call_at_the_price_that_it_offers() -> None:
    assert TransactionRequest().to_call().sender == ZERO_ADDRESS
    assert TransactionRequest(max_fee_wei=3).to_call().gas_price_wei == 3
    both = TransactionRequest(max_fee_wei=3, gas_price_wei=0, gas=7, data=b"a")
    call = both.to_call()
    assert (call.gas_price_wei, call.gas, call.data) == (0, 7, b"a")
