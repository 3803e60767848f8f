"""Transactions with a known sender are unchanged, and no signature is recovered."""

from __future__ import annotations

from contextlib import suppress

import pytest
from eth_keys.datatypes import PrivateKey
from eth_keys.exceptions import BadSignature
from hypothesis import example, given
from hypothesis import strategies as st

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.transactions import (
    ACCESS_LIST_TYPE,
    BLOB_TYPE,
    DYNAMIC_FEE_TYPE,
    LEGACY_TYPE,
    TransactionFields,
    build_impersonated,
    decode_transaction,
    is_impersonated,
    recover_sender,
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


RAW = [
    sign(fields(kind), PrivateKey(bytes([number]) * 32), CHAIN_ID).encode()
    for kind in KINDS
    for number in (3, 4, 5)
]


def _describe_sent(raw: bytes, *, is_cut: bool) -> object:
    """Return the parts of a transaction that a client sends, or the error."""
    builder = Chain(ChainConfig()).transaction_builder
    try:
        sent = decode_transaction(raw, builder) if is_cut else builder.decode(raw)
        sender = recover_sender(sent) if is_cut else sent.sender
    except BadSignature as error:
        return "InvalidTransactionError", f"invalid signature: {error}"
    except Exception as error:  # noqa: BLE001 - whatever the decoders raise
        return type(error).__name__, str(error)
    return type(sent), sender, sent.hash, sent.encode(), sent.get_message_for_signing(), sent


@given(
    raw=st.sampled_from(RAW),
    changes=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=2),
    cut=st.integers(0, 2),
)
@example(raw=RAW[0], changes=[], cut=0)
@example(raw=RAW[6], changes=[], cut=0)
@example(raw=RAW[6], changes=[(1, 0xFF)], cut=0)
def test_a_received_transaction_is_that_of_py_evm(
    raw: bytes, changes: list[tuple[int, int]], cut: int
) -> None:
    altered = bytearray(raw)
    for at, byte in changes:
        altered[at % len(raw)] = byte
    received = bytes(altered[: len(raw) - cut])
    ours, theirs = (_describe_sent(received, is_cut=each) for each in (True, False))
    assert ours == theirs
