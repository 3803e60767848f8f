"""Accounts are written and read as py-evm has them."""

from __future__ import annotations

import rlp
from eth.rlp.accounts import Account as TheirAccount
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.state.account import Account, decode_integer, encode_integer

hashes = st.binary(min_size=32, max_size=32)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**256 - 1), hashes, hashes)
def test_accounts_are_py_evms(nonce: int, balance: int, root: bytes, code_hash: bytes) -> None:
    account = Account(nonce, balance, root, code_hash)
    encoded = account.encode()
    assert encoded == rlp.encode(TheirAccount(nonce, balance, root, code_hash))
    assert Account.decode(encoded) == account


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**256 - 1), hashes, hashes)
def test_an_account_that_hides_remote_slots_has_a_fifth_item(
    nonce: int, balance: int, root: bytes, code_hash: bytes
) -> None:
    account = Account(nonce, balance, root, code_hash, hides_remote=True)
    assert rlp.decode(account.encode())[4:] == [b"\x01"]
    assert Account.decode(account.encode()) == account


def test_a_new_account_has_nothing() -> None:
    assert Account().encode() == rlp.encode(TheirAccount())


@given(st.integers(0, 2**256 - 1))
def test_integers_are_rlp(value: int) -> None:
    assert encode_integer(value) == rlp.encode(value)
    assert decode_integer(encode_integer(value)) == value
