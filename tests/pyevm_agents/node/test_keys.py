"""Accounts that a node signs for, or sends in the name of."""

from __future__ import annotations

import pytest
from eth_keys.datatypes import PrivateKey

from pyevm_agents.errors import ConfigError
from pyevm_agents.node.keys import DEFAULT_KEYS, DEFAULT_MNEMONIC, MAX_ACCOUNTS, Keys, derive_keys
from tests.chain_bench import OWNER, OWNER_KEY, STRANGER

OTHER_MNEMONIC = "legal winner thank year wave sausage worth useful legal winner thank yellow"


def test_the_first_accounts_are_those_of_every_local_network() -> None:
    keys = derive_keys(DEFAULT_MNEMONIC, 10)
    assert [key.to_bytes().hex() for key in keys] == [*DEFAULT_KEYS]
    first = keys[0].public_key.to_checksum_address()
    assert first == "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


def test_what_is_written_down_is_what_is_derived() -> None:
    assert derive_keys(DEFAULT_MNEMONIC, 12)[:10] == derive_keys(DEFAULT_MNEMONIC, 10)


def test_another_mnemonic_or_path_gives_other_keys() -> None:
    ours = set(derive_keys(DEFAULT_MNEMONIC, 3))
    assert ours.isdisjoint(derive_keys(OTHER_MNEMONIC, 3))
    assert ours.isdisjoint(derive_keys(DEFAULT_MNEMONIC, 3, "m/44'/60'/1'/0"))


def test_a_mnemonic_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"is not a mnemonic: .*give 12 to 24 words"):
        derive_keys("not a mnemonic", 1)


@pytest.mark.parametrize("count", [0, MAX_ACCOUNTS + 1])
def test_a_count_that_is_none_is_refused(count: int) -> None:
    with pytest.raises(ConfigError, match=f"{count} accounts: must be 1 to {MAX_ACCOUNTS}"):
        derive_keys(DEFAULT_MNEMONIC, count)


def test_sends_for_its_own_accounts_and_those_that_are_impersonated() -> None:
    keys = Keys([OWNER_KEY])
    assert keys.addresses == (OWNER,)
    assert keys.get_key(OWNER) == OWNER_KEY
    assert keys.can_send(OWNER)
    assert not keys.can_send(STRANGER)
    keys.impersonate(STRANGER)
    assert keys.can_send(STRANGER)
    assert keys.get_key(STRANGER) is None
    keys.stop_impersonating(STRANGER)
    keys.stop_impersonating(STRANGER)
    assert not keys.can_send(STRANGER)
    keys.impersonates_all = True
    assert keys.can_send(STRANGER)


def test_a_key_may_be_added() -> None:
    keys = Keys()
    address = keys.add(PrivateKey(b"\x07" * 32))
    assert keys.addresses == (address,)
    assert keys.add(PrivateKey(b"\x07" * 32)) == address
    assert keys.addresses == (address,)
