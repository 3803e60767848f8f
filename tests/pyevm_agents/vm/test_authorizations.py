"""Authorizations do to the state what py-evm's do; a fork that can't read an account fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import rlp
from eth.constants import SECPK1_N, ZERO_ADDRESS
from eth.vm.forks.prague.constants import MAGIC
from eth.vm.forks.prague.state import PragueState
from eth.vm.forks.prague.transactions import Authorization
from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.chain.transactions import SET_CODE_TYPE, TransactionFields, sign
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import RemoteFault
from tests.chain_bench import OWNER, OWNER_KEY
from tests.remote_chain import fork_head

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import SignedTransactionAPI

CHAIN_ID = ChainConfig().chain_id
TARGET = Address(b"\x77" * 20)
SIGNERS = [PrivateKey(bytes([number]) * 32) for number in range(1, 5)]
NEW, USED, CONTRACT, DELEGATING = (
    Address(signer.public_key.to_canonical_address()) for signer in SIGNERS
)
ACCOUNTS = {
    OWNER: GenesisAccount(balance_wei=10**20),
    USED: GenesisAccount(balance_wei=1, nonce=3),
    CONTRACT: GenesisAccount(nonce=3, code=b"\x00"),
    DELEGATING: GenesisAccount(nonce=3, code=b"\xef\x01\x00" + TARGET),
}


def authorization(
    signer: PrivateKey, chain_id: int = CHAIN_ID, nonce: int = 0, address: Address = TARGET
) -> Authorization:
    """Return a signed authorization."""
    signed = MAGIC + rlp.encode([chain_id, address, nonce])
    v, r, s = signer.sign_msg(signed).vrs
    return Authorization(chain_id, address, nonce, v, r, s)


def transaction(*authorizations: Authorization) -> SignedTransactionAPI:
    """Return the owner's transaction with authorizations."""
    fields = TransactionFields(
        kind=SET_CODE_TYPE, nonce=0, gas=500_000, to=TARGET, max_fee_wei=10**10,
        authorizations=authorizations,
    )  # fmt: skip
    return sign(fields, OWNER_KEY, CHAIN_ID)


SIGNED = st.builds(
    authorization,
    st.sampled_from(SIGNERS),
    st.sampled_from([0, CHAIN_ID, CHAIN_ID + 1]),
    st.sampled_from([0, 1, 3, 4, 2**64 - 1]),
    st.sampled_from([TARGET, ZERO_ADDRESS]),
)
FORGED = st.builds(
    Authorization,
    st.just(0),
    st.just(TARGET),
    st.just(0),
    st.sampled_from([0, 1, 2, 255]),
    st.sampled_from([0, 1, SECPK1_N - 1, SECPK1_N, 2**256 - 1]),
    st.sampled_from([0, 1, SECPK1_N // 2, SECPK1_N // 2 + 1]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(SIGNED | FORGED, min_size=1, max_size=5))
def test_the_state_is_that_of_py_evm(authorizations: list[Authorization]) -> None:
    chain = Chain(ChainConfig(), accounts=ACCOUNTS)
    ours, theirs = chain.state(chain.head), chain.state(chain.head)
    sent = transaction(*authorizations)
    assert isinstance(ours, PragueState)
    assert isinstance(theirs, PragueState)
    refund = ours.process_set_code_authorizations(sent)
    assert refund == PragueState.process_set_code_authorizations(theirs, sent)
    assert [ours.is_address_warm(it) for it in ACCOUNTS] == [
        theirs.is_address_warm(it) for it in ACCOUNTS
    ]
    assert ours.make_state_root() == theirs.make_state_root()


WAYS: dict[str, Callable[[Chain, Authorization], object]] = {
    "mine": lambda chain, given: chain.mine([transaction(given)]),
    "call": lambda chain, given: chain.call(call(given)),
    "estimate": lambda chain, given: chain.estimate_gas(call(given)),
}


def call(*authorizations: Authorization) -> Call:
    """Return a call with authorizations."""
    return Call(to=TARGET, sender=OWNER, authorizations=authorizations, gas=500_000)


@pytest.mark.parametrize("way", WAYS)
def test_an_account_that_a_fork_can_not_read_is_a_fault(way: str) -> None:
    block = fork_head(Chain(ChainConfig(), accounts=ACCOUNTS))
    local = Chain(ChainConfig(origin=block.origin), fork=block)
    given = authorization(SIGNERS[1], nonce=3)
    local.call(call())  # Reads all accounts but the authority's.
    block.state.is_gone = True
    with pytest.raises(RemoteFault, match="connection refused"):
        WAYS[way](local, given)
    block.state.is_gone = False
    local.mine([transaction(given)])
    assert local.code(USED) == b"\xef\x01\x00" + TARGET
