"""ERC-8004's registries in a genesis, at the addresses of public networks.

The code is that of `contracts/runs/registries/`. That code has no owner and can't be upgraded,
unlike the contracts at these addresses on public networks. Interface and events are the same.

Source: github.com/erc-8004/erc-8004-contracts, `scripts/addresses.ts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.abi.bundled import load_artifact_form
from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain import GenesisAccount
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

IDENTITY_REGISTRY_SLOT = 0
"""The slot of the reputation and the validation registry with the address of the identity one."""

CONTRACT_NONCE = 1
"""Nonce of a deployed contract. Source: EIP-161."""


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
