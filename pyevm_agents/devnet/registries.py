"""ERC-8004's registries in a genesis, at the addresses that they have on public networks.

The code is that of `contracts/runs/registries/`. It has no owner and can't be upgraded, unlike the
contracts at these addresses on public networks. Interface and events are the same.

Source: github.com/erc-8004/erc-8004-contracts, `scripts/addresses.ts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import to_canonical_address

from pyevm_agents.chain import GenesisAccount
from pyevm_agents.contracts import load_artifact_form
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

IDENTITY_REGISTRY_SLOT = 0
"""The slot of the reputation and the validation registry with the address of the identity one."""

CONTRACT_NONCE = 1
"""Nonce of a deployed contract. Source: EIP-161."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryAddresses:
    """The addresses of the three registries on a kind of network."""

    identity: Address
    reputation: Address
    validation: Address


TESTNET = "testnet"
MAINNET = "mainnet"

REGISTRY_ADDRESSES = {
    TESTNET: RegistryAddresses(
        identity=to_canonical_address("0x8004A818BFB912233c491871b3d84c89A494BD9e"),
        reputation=to_canonical_address("0x8004B663056A597Dffe9eCcC1965A193B7388713"),
        validation=to_canonical_address("0x8004Cb1BF31DAf7788923b405b754f57acEB4272"),
    ),
    MAINNET: RegistryAddresses(
        identity=to_canonical_address("0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"),
        reputation=to_canonical_address("0x8004BAa17C55a88189AE136b182e5fdA19dE9b63"),
        validation=to_canonical_address("0x8004Cc8439f36fd5F9F049D9fF86523Df6dAAB58"),
    ),
}
"""Addresses by kind of network: those of testnets and local chains, and those of mainnets."""


def choose_network(registries: bool | str) -> str | None:  # noqa: FBT001 - an option's value
    """Return the kind of network whose addresses a chain's registries have; None for no registries.

    Input:  True for testnets' addresses, False for none, or a kind of network.
    Raises: ConfigError: not a kind of network.
    """
    if registries is False:
        return None
    network = TESTNET if registries is True else registries
    if network not in REGISTRY_ADDRESSES:
        kinds = " or ".join(map(repr, REGISTRY_ADDRESSES))
        raise ConfigError(f"registries {registries!r}: must be True, False, {kinds}")
    return network


def build_registries(network: str = TESTNET) -> Mapping[Address, GenesisAccount]:
    """Return the accounts of the three registries for a genesis.

    Input: a key of `REGISTRY_ADDRESSES`.
    """
    addresses = REGISTRY_ADDRESSES[network]
    identity = {IDENTITY_REGISTRY_SLOT: int.from_bytes(addresses.identity)}
    return {
        addresses.identity: _build_account("IdentityRegistry", {}),
        addresses.reputation: _build_account("ReputationRegistry", identity),
        addresses.validation: _build_account("ValidationRegistry", identity),
    }


def _build_account(contract: str, storage: Mapping[int, int]) -> GenesisAccount:
    code = bytes.fromhex(load_artifact_form(contract)["deployedBytecode"].removeprefix("0x"))
    return GenesisAccount(nonce=CONTRACT_NONCE, code=code, storage=storage)
