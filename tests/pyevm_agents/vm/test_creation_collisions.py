"""No contract is created where an account has storage (EIP-7610)."""

from __future__ import annotations

from eth._utils.address import generate_contract_address, generate_safe_contract_address
from eth.exceptions import ContractCreationCollision
from eth_typing import Address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from tests.byte_model import ByteModel
from tests.chain_bench import OWNER, Bench

CREATOR = Address(b"\xc0" * 20)
CREATE2 = bytes.fromhex("5f5f5f5ff55f5260205ff3")
"""CREATE2 of no code with salt 0; return the address, or 0."""

CREATED = generate_safe_contract_address(CREATOR, 0, b"")
DEPLOYED = generate_contract_address(OWNER, 0)
STORAGE_ALONE = GenesisAccount(storage={1: 2})
BALANCE_ALONE = GenesisAccount(balance_wei=1)


def new_bench(address: Address, account: GenesisAccount) -> Bench:
    """Return a chain with an account where a contract is to be created."""
    accounts = {
        OWNER: GenesisAccount(balance_wei=10**20),
        CREATOR: GenesisAccount(code=CREATE2),
        address: account,
    }
    return Bench(chain=Chain(ChainConfig(), accounts=accounts), model=ByteModel([]))


def test_create2_fails_where_storage_is() -> None:
    assert not any(new_bench(CREATED, STORAGE_ALONE).call(CREATOR, b"").output)
    created = new_bench(CREATED, BALANCE_ALONE).call(CREATOR, b"").output
    assert created[12:] == CREATED


def test_a_transaction_fails_where_storage_is() -> None:
    receipt, computation = new_bench(DEPLOYED, STORAGE_ALONE).send(None, b"\x00", gas=100_000)
    assert isinstance(computation.error, ContractCreationCollision)
    assert receipt.gas_used == 100_000
    receipt, computation = new_bench(DEPLOYED, BALANCE_ALONE).send(None, b"\x00", gas=100_000)
    assert computation.is_success
    assert receipt.gas_used < 100_000
