"""Addresses of ERC-8004's registries on public networks.

Source: github.com/erc-8004/erc-8004-contracts, `scripts/addresses.ts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import to_canonical_address

if TYPE_CHECKING:
    from eth_typing import Address


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
