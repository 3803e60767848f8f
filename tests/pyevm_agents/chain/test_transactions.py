"""Transactions of all types, held against eth_account's."""

from __future__ import annotations

from typing import Any

import pytest
from eth_account import Account
from eth_utils import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.chain import Chain
from pyevm_agents.chain.transactions import (
    ACCESS_LIST_TYPE,
    DYNAMIC_FEE_TYPE,
    LEGACY_TYPE,
    TransactionFields,
    build_unsigned,
    count_blobs,
    effective_gas_price,
    get_access_list,
    get_authorizations,
    get_transaction_type,
    legacy_v,
    sign,
)
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import ConfigError
from tests.chain_bench import OWNER_KEY, STRANGER

uint64 = st.integers(0, 2**64 - 2)
wei = st.integers(0, 2**128)

every_field = st.builds(
    TransactionFields,
    kind=st.sampled_from([LEGACY_TYPE, ACCESS_LIST_TYPE, DYNAMIC_FEE_TYPE]),
    nonce=uint64,
    gas=st.integers(21_000, 2**63),
    to=st.sampled_from([STRANGER, None]),
    value_wei=wei,
    data=st.binary(max_size=50),
    gas_price_wei=wei,
    max_fee_wei=wei,
    max_priority_fee_wei=wei,
    access_list=st.sampled_from([(), ((STRANGER, (0, 2**256 - 1)),)]),
)


def as_eth_account(fields: TransactionFields, chain_id: int) -> dict[str, Any]:
    form: dict[str, Any] = {
        "nonce": fields.nonce,
        "gas": fields.gas,
        "value": fields.value_wei,
        "data": fields.data,
        "chainId": chain_id,
    }
    if fields.to is not None:
        form["to"] = to_checksum_address(fields.to)
    if fields.kind == DYNAMIC_FEE_TYPE:
        form["maxFeePerGas"] = fields.max_fee_wei
        form["maxPriorityFeePerGas"] = fields.max_priority_fee_wei
    else:
        form["gasPrice"] = fields.gas_price_wei
    if fields.kind != LEGACY_TYPE:
        form["type"] = fields.kind
        form["accessList"] = [
            {
                "address": to_checksum_address(address),
                "storageKeys": ["0x" + slot.to_bytes(32, "big").hex() for slot in slots],
            }
            for address, slots in fields.access_list
        ]
    return form


@given(fields=every_field, chain_id=st.integers(1, 2**53))
def test_signs_as_eth_account_does(fields: TransactionFields, chain_id: int) -> None:
    ours = sign(fields, OWNER_KEY, chain_id)
    theirs = Account.sign_transaction(as_eth_account(fields, chain_id), OWNER_KEY.to_bytes())
    assert ours.encode() == bytes(theirs.raw_transaction)
    assert ours.hash == bytes(theirs.hash)
    assert get_transaction_type(ours) == fields.kind


@given(fields=every_field)
def test_what_is_not_signed_differs_in_its_signature_alone(fields: TransactionFields) -> None:
    made = build_unsigned(fields, STRANGER, 7)
    assert made.sender == STRANGER
    assert (made.r, made.s) == (0, 0)
    assert (made.nonce, made.gas, made.value) == (fields.nonce, fields.gas, fields.value_wei)
    decoded = Chain(ChainConfig()).transaction_builder.decode(made.encode())
    assert decoded.hash == made.hash


@given(fields=every_field, base_fee=wei)
def test_the_price_of_a_gas(fields: TransactionFields, base_fee: int) -> None:
    made = build_unsigned(fields, STRANGER, 7)
    if fields.kind == DYNAMIC_FEE_TYPE:
        most, tip = fields.max_fee_wei, fields.max_priority_fee_wei
        assert effective_gas_price(made, None) == most
        assert effective_gas_price(made, base_fee) == min(most, base_fee + tip)
    else:
        assert effective_gas_price(made, None) == fields.gas_price_wei
        assert effective_gas_price(made, base_fee) == fields.gas_price_wei


def test_fields_that_a_type_has_not_are_empty() -> None:
    made = sign(TransactionFields(kind=LEGACY_TYPE, nonce=0, gas=21_000, to=STRANGER), OWNER_KEY, 5)
    assert get_access_list(made) == ()
    assert get_authorizations(made) == ()
    assert count_blobs(made) == 0
    assert legacy_v(made) in {45, 46}


def test_a_type_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="transaction type 5: must be 0 to 4"):
        sign(TransactionFields(kind=5, nonce=0, gas=21_000, to=STRANGER), OWNER_KEY, 5)
