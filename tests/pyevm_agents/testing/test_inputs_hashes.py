"""Transaction hashes in each form that tests use."""

from __future__ import annotations

import pytest
from hexbytes import HexBytes

from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.inputs import parse_transaction_hash

HASH = bytes(range(32))


@pytest.mark.parametrize(
    "told",
    [HASH, HexBytes(HASH), HASH.hex(), "0x" + HASH.hex().upper()],
    ids=["bytes", "web3", "bare", "text"],
)
def test_a_hash_is_the_same_in_each_form(told: bytes | str) -> None:
    assert parse_transaction_hash(told) == HASH


@pytest.mark.parametrize("told", ["", "0x", "0xzz", HASH[1:], HASH.hex()[2:], 7, None, {}])
def test_what_is_none_is_named(told: object) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_transaction_hash(told)  # type: ignore[arg-type]
    assert str(raised.value).startswith(f"{told!r} is not a transaction hash: give 0x and 64")
