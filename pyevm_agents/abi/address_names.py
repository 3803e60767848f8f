"""Names of addresses in texts for people: those of agents' base prompts, then known contracts'."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from eth_utils import to_canonical_address, to_checksum_address

from precompiles.escaping import ADDRESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eth_typing import Address

    from pyevm_agents.abi.known_contracts import KnownContracts

MAX_ADDRESSES = 1_024
"""Addresses of one text or trace whose names are looked up."""

NUMBERED_HANDLE = re.compile(r"addr[0-9]+")
"""A handle that is not a name from the base prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressNames:
    """Names of a chain's addresses."""

    known: KnownContracts
    get_code: Callable[[Address], bytes]
    """Return the runtime code of an address; empty for an account without code."""

    def find_contract(self, address: Address) -> str | None:
        """Return the name of the contract at an address; None if unknown."""
        return self.known.find_name(self.get_code(address))

    def find_names(
        self, addresses: Iterable[str], handles: Iterable[tuple[str, str]] = ()
    ) -> dict[str, str]:
        """Return the names of addresses that have one, by checksummed address.

        Input: checksummed addresses; (handle, checksummed address) of prompts. A handle that the
               base prompt named takes precedence over the contract's name.
        """
        names: dict[str, str] = {}
        for handle, address in handles:
            if not NUMBERED_HANDLE.fullmatch(handle):
                names.setdefault(address, handle)
        for address in islice(dict.fromkeys(addresses), MAX_ADDRESSES):
            if address not in names:
                name = self.find_contract(to_canonical_address(address))
                if name is not None:
                    names[address] = name
        return names


def list_addresses(*texts: str) -> list[str]:
    """Return the different addresses in texts, checksummed, in order."""
    return [*dict.fromkeys(to_checksum_address(m[0]) for t in texts for m in ADDRESS.finditer(t))]
