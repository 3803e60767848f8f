"""Transactions with a known sender are unchanged, and no signature is recovered."""

from __future__ import annotations

from contextlib import suppress

import pytest
from eth_keys.datatypes import PrivateKey
from eth_keys.exceptions import BadSignature

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.transactions import (
    ACCESS_LIST_TYPE,
    BLOB_TYPE,
    DYNAMIC_FEE_TYPE,
    LEGACY_TYPE,
    TransactionFields,
    build_impersonated,
    is_impersonated,
    set_known_sender,
    sign,
)
from pyevm_agents.config import ChainConfig
from tests.chain_bench import OWNER, OWNER_KEY, STRANGER

CHAIN_ID = ChainConfig().chain_id
KINDS = [LEGACY_TYPE, ACCESS_LIST_TYPE, DYNAMIC_FEE_TYPE, BLOB_TYPE]


def fields(kind: int) -> TransactionFields:
    return TransactionFields(
        kind=kind,
        nonce=0,
        gas=30_000,
        to=STRANGER,
        value_wei=5,
        gas_price_wei=10**10,
        max_fee_wei=10**10,
        max_blob_fee_wei=1,
        blob_hashes=(b"\x01" * 32,),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_known_sender_is_the_one_who_signed(kind: int) -> None:
    signed = sign(fields(kind), OWNER_KEY, CHAIN_ID)
    builder = Chain(ChainConfig()).transaction_builder
    decoded = builder.decode(signed.encode())
    assert decoded.sender == signed.sender == OWNER
    assert decoded.hash == signed.hash
    assert not is_impersonated(signed)
    decoded.validate()
    signed.validate()


@pytest.mark.parametrize("kind", KINDS)
def test_a_signature_of_no_meaning_passes_only_where_the_sender_is_vouched_for(kind: int) -> None:
    made = build_impersonated(fields(kind), STRANGER, CHAIN_ID)
    assert is_impersonated(made)
    assert made.sender == STRANGER
    made.validate()
    elsewhere = Chain(ChainConfig()).transaction_builder.decode(made.encode())
    assert elsewhere.hash == made.hash
    with suppress(BadSignature):
        assert elsewhere.sender != STRANGER
    assert set_known_sender(elsewhere, OWNER).sender == OWNER
    elsewhere.validate()


@pytest.mark.parametrize("kind", KINDS)
def test_two_senders_have_two_hashes(kind: int) -> None:
    one, other = (
        build_impersonated(fields(kind), sender, CHAIN_ID) for sender in (OWNER, STRANGER)
    )
    assert one.hash != other.hash


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_that_holds_an_impersonated_transaction_is_read_again(kind: int) -> None:
    accounts = {OWNER: GenesisAccount(balance_wei=10**18)}
    chain = Chain(ChainConfig(), accounts=accounts)
    made = build_impersonated(fields(kind), OWNER, CHAIN_ID)
    header = chain.mine([made]).block.header
    (mined,) = chain.block_with_receipts(header).block.transactions
    assert mined.sender == OWNER
    assert is_impersonated(mined)
    chain._records.clear()  # noqa: SLF001 - as after a restart
    (again,) = chain.block_with_receipts(header).block.transactions
    assert again.sender == OWNER
    assert is_impersonated(again)
    assert chain.balance(STRANGER) == 5


def test_signing_recovers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    signed = sign(fields(DYNAMIC_FEE_TYPE), PrivateKey(b"\x05" * 32), CHAIN_ID)
    monkeypatch.setattr(
        "eth_keys.datatypes.Signature.recover_public_key_from_msg_hash",
        lambda *_: pytest.fail("a signature was recovered"),
    )
    assert signed.sender
    signed.validate()
