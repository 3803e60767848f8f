"""Genesis in a file, as geth and anvil take it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import ConfigError
from pyevm_agents.local_node.genesis_file import read_genesis

if TYPE_CHECKING:
    from pathlib import Path

ACCOUNTS = st.builds(
    GenesisAccount,
    balance_wei=st.integers(0, 2**256 - 1),
    nonce=st.integers(0, 2**63),
    code=st.binary(max_size=9),
    storage=st.dictionaries(st.integers(0, 2**256 - 1), st.integers(1, 2**256 - 1), max_size=3),
)
ADDRESSES = st.binary(min_size=20, max_size=20).map(Address)


@given(
    accounts=st.dictionaries(ADDRESSES, ACCOUNTS, max_size=3),
    is_hexadecimal=st.booleans(),
    prefix=st.sampled_from(["", "0x"]),
)
def test_accounts_are_those_of_the_file(
    tmp_path_factory: pytest.TempPathFactory,
    accounts: dict[Address, GenesisAccount],
    prefix: str,
    *,
    is_hexadecimal: bool,
) -> None:
    number = hex if is_hexadecimal else str
    form = {
        prefix + address.hex(): {
            "balance": number(one.balance_wei),
            "nonce": number(one.nonce),
            "code": "0x" + one.code.hex(),
            "storage": {hex(slot): number(value) for slot, value in one.storage.items()},
        }
        for address, one in accounts.items()
    }
    file = tmp_path_factory.mktemp("genesis") / "genesis.json"
    file.write_text(json.dumps({"alloc": form, "difficulty": "0x1", "config": {"berlinBlock": 0}}))
    read = read_genesis(file)
    assert read.accounts == accounts
    assert read.rules == {}
    chain = Chain(ChainConfig(), accounts=read.accounts)
    assert chain.state_root(chain.head) == Chain(ChainConfig(), accounts=accounts).head.state_root


def test_rules_are_those_of_the_options(tmp_path: Path) -> None:
    file = tmp_path / "genesis.json"
    form = {"config": {"chainId": 5}, "timestamp": "0x0", "gasLimit": "30000", "baseFeePerGas": 7}
    file.write_text(json.dumps(form))
    assert read_genesis(file).rules == {
        "chain_id": 5,
        "timestamp_seconds": 0,
        "gas_limit": 30_000,
        "base_fee_wei": 7,
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", r"content \[\]: must be an object"),
        ('{"config": 5}', "config 5"),
        ('{"gasLimit": "many"}', 'gasLimit "many"'),
        ('{"gasLimit": "0x10000000000000000"}', "at most 62 bits"),
        ('{"alloc": []}', r"alloc \[\]"),
        ('{"alloc": {"0x12": {}}}', 'alloc.0x12 "0x12": must be 20 bytes'),
        ('{"alloc": {"%s": 5}}' % ("11" * 20), "must be an object"),
        ('{"alloc": {"%s": {"code": "0x1"}}}' % ("11" * 20), "must be hexadecimal digits"),
        ('{"alloc": {"%s": {"balance": -1}}}' % ("11" * 20), "balance -1"),
        ('{"alloc": {"%s": {"nonce": true}}}' % ("11" * 20), "nonce true"),
        ('{"alloc": {"%s": {"storage": {"a": "0x1"}}}}' % ("11" * 20), 'storage "a"'),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "genesis.json"
    file.write_text(content)
    with pytest.raises(ConfigError, match=message):
        read_genesis(file)
    with pytest.raises(ConfigError, match="can't be read: No such file"):
        read_genesis(tmp_path / "none.json")
