"""Accounts out of a state and into another one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from eth.constants import BLANK_ROOT_HASH
from eth.db.atomic import AtomicDB
from eth.db.backends.memory import MemoryDB
from eth_typing import Address
from eth_utils import keccak, to_hex
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import ConfigError
from pyevm_agents.state.account_db import StateAccountDB
from pyevm_agents.state.dump import dump_accounts, load_accounts

if TYPE_CHECKING:
    from collections.abc import Callable

ADDRESSES = st.binary(min_size=20, max_size=20).map(Address)
ACCOUNTS = st.builds(
    GenesisAccount,
    balance_wei=st.integers(1, 2**256 - 1),
    nonce=st.integers(0, 2**63),
    code=st.binary(max_size=40),
    storage=st.dictionaries(st.integers(0, 2**256 - 1), st.integers(1, 2**256 - 1), max_size=4),
)


@given(st.dictionaries(ADDRESSES, ACCOUNTS, max_size=5))
def test_a_state_is_the_same_after_dump_and_load(accounts: dict[Address, GenesisAccount]) -> None:
    chain, other = Chain(ChainConfig(), accounts=accounts), Chain(ChainConfig())
    other.load_accounts(json.loads(json.dumps(chain.dump_accounts())))
    assert other.state_root(other.head) == chain.state_root(chain.head)
    for address, account in accounts.items():
        assert other.account(address, account.storage) == account


@given(st.dictionaries(ADDRESSES, ACCOUNTS, max_size=5))
def test_a_dump_has_addresses_and_slots_as_anvils(
    accounts: dict[Address, GenesisAccount],
) -> None:
    chain = Chain(ChainConfig(), accounts=accounts)
    dumped = chain.dump_accounts()
    for address, account in accounts.items():
        assert dumped[to_hex(address)] == {
            "nonce": account.nonce,
            "balance": hex(account.balance_wei),
            "code": to_hex(account.code),
            "storage": {
                f"0x{slot:064x}": f"0x{value:064x}"
                for slot, value in sorted(
                    account.storage.items(), key=lambda item: keccak(item[0].to_bytes(32, "big"))
                )
            },
        }
    assert {len(key) for key in dumped} <= {42}


@given(st.dictionaries(ADDRESSES, ACCOUNTS, max_size=5))
def test_a_loaded_dump_is_dumped_again_as_it_was(
    accounts: dict[Address, GenesisAccount],
) -> None:
    chain, other = Chain(ChainConfig(), accounts=accounts), Chain(ChainConfig())
    other.load_accounts(chain.dump_accounts())
    assert other.dump_accounts() == chain.dump_accounts()


SLOT = 7
ADDRESS = Address(b"\x01" * 20)


@pytest.mark.parametrize("unknown", [ADDRESS, SLOT.to_bytes(32, "big")])
def test_an_account_with_an_unknown_address_or_slot_is_dumped_by_hash(unknown: bytes) -> None:
    db = AtomicDB(MemoryDB())
    accounts = StateAccountDB(db)
    accounts.set_balance(ADDRESS, 5)
    accounts.set_code(ADDRESS, b"\x01")
    accounts.set_storage(ADDRESS, SLOT, 42)
    accounts.persist()
    del db[keccak(unknown)]
    dumped = dump_accounts(db, accounts.state_root)
    assert dumped[to_hex(keccak(ADDRESS))] == {
        "nonce": "0x0",
        "balance": "0x5",
        "code": "0x01",
        "storage": {to_hex(keccak(SLOT.to_bytes(32, "big"))): "0x2a"},
    }
    assert load_accounts(db, BLANK_ROOT_HASH, dumped) == accounts.state_root


def _word(number: int) -> str:
    return f"0x{number:064x}"


@given(
    st.dictionaries(ADDRESSES, ACCOUNTS, max_size=5),
    st.sampled_from([_word, hex]),
    st.sampled_from([_word, hex]),
    st.sampled_from([hex, int]),
)
def test_a_dump_of_anvils_gives_the_same_state(
    accounts: dict[Address, GenesisAccount],
    write_slot: Callable[[int], str],
    write_value: Callable[[int], str],
    write_number: Callable[[int], object],
) -> None:
    """Versions of anvil before 1.0 write slots and values without leading zeros."""
    chain, other = Chain(ChainConfig(), accounts=accounts), Chain(ChainConfig())
    form = {
        to_hex(address): {
            "nonce": write_number(account.nonce),
            "balance": hex(account.balance_wei),
            "code": to_hex(account.code),
            "storage": {
                write_slot(slot): write_value(value)
                for slot, value in {**account.storage, 2**255: 0}.items()
            },
        }
        for address, account in accounts.items()
    }
    other.load_accounts(json.loads(json.dumps(form)))
    assert other.state_root(other.head) == chain.state_root(chain.head)


HASH = "0x" + "11" * 32
ACCOUNT = {"nonce": "0x0", "balance": "0x0", "code": "0x", "storage": {}}


@pytest.mark.parametrize(
    "accounts",
    [
        None,
        [],
        {HASH: None},
        {HASH: {}},
        {"0x11": ACCOUNT},
        {"0x" + "11" * 20: ACCOUNT | {"nonce": -1}},
        {"0x" + "11" * 20: ACCOUNT | {"nonce": 2**64}},
        {"0x" + "11" * 20: ACCOUNT | {"nonce": True}},
        {HASH: ACCOUNT | {"nonce": "0x" + "f" * 17}},
        {HASH: ACCOUNT | {"nonce": 1.0}},
        {"0x" + "11" * 20: ACCOUNT | {"storage": {"0x" + "1" * 65: "0x1"}}},
        {"0x" + "11" * 20: ACCOUNT | {"storage": {"1": "0x1"}}},
        {HASH: ACCOUNT | {"balance": "-0x1"}},
        {HASH: ACCOUNT | {"code": "0xz"}},
        {HASH: ACCOUNT | {"storage": []}},
        {HASH: ACCOUNT | {"storage": {"0x1": "0x1"}}},
        {HASH: ACCOUNT | {"storage": {HASH: "much"}}},
    ],
)
def test_what_is_no_dump_is_refused_and_changes_nothing(accounts: object) -> None:
    chain = Chain(ChainConfig(), accounts={Address(b"\x01" * 20): GenesisAccount(balance_wei=1)})
    before = chain.state_root(chain.head)
    with pytest.raises(ConfigError, match="not in the format of anvil_dumpState"):
        chain.load_accounts(accounts)
    assert chain.state_root(chain.head) == before
