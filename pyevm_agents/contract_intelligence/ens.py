"""Names of ENS on the chain that is inspected: from a name to an address, by two calls.

Source: EIP-137. Names whose address is looked up elsewhere (EIP-3668, ENSIP-10) have none here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eth_utils import keccak

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pyevm_agents.contract_intelligence.contract_reader import ContractReader

ENS_NAME = re.compile(r"(?:[0-9A-Za-z$_-]{1,63}\.)+[0-9A-Za-z$_-]{1,63}")
"""Names of ASCII. Others have letters that look like these, so an address is asked for."""

RESOLVER, ADDRESS = "resolver(bytes32)", "addr(bytes32)"


def normalize_name(name: str) -> str:
    """Return a name of ASCII as the registry has it. Source: ENSIP-15."""
    return name.lower()


def compute_node(name: str) -> bytes:
    """Return the hash by which the registry knows a name: EIP-137's `namehash`."""
    node = bytes(32)
    for label in reversed(name.split(".")):
        node = keccak(node + keccak(text=label))
    return node


def resolve_name(reader: ContractReader, name: str, registry: str) -> str:
    """Return the checksummed address of a name.

    Input:  the chain; a normalized name; the registry's address.
    Raises: ConfigError: the chain has no registry there, or the name has no address.
    """
    chain_id = reader.chain.config.chain_id
    if not reader.get_code(registry):
        raise ConfigError(
            f"{name} can't be resolved: chain {chain_id} has no ENS registry at {registry}; pass "
            "the address, or another registry by --ens ADDRESS"
        )
    node = compute_node(name)
    resolver = reader.read_address(registry, RESOLVER, node)
    address = reader.read_address(resolver, ADDRESS, node) if resolver else ""
    if not address:
        raise ConfigError(
            f"{name} has no address in the ENS registry {registry} of chain {chain_id}; look for a "
            "typo, or pass the address"
        )
    return address
