"""Address handles: short names that stand for addresses in prompts and generations.

An address takes a small model 38 tokens, a handle 2. A model that can only generate handles cannot
invent, mistype or truncate an address.

Source: docs/architecture.md#constrained-output.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eth_utils import is_checksum_formatted_address, keccak

from precompiles.escaping import ADDRESS
from precompiles.spec import MAX_ADDRESSES, MAX_HANDLE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable

ACCOUNT_HANDLE = "ACCOUNT"
"""The handle of the account that an agent's tools act for, in base prompts of `tools deploy`."""

_DEFINITION = re.compile(r"[ \t]*([0-9A-Za-z_.\-]+)[ \t]*=[ \t]*(0x[0-9A-Fa-f]{40})[ \t]*\r?")
_NAME = re.compile(
    r"(?!(?:true|false|null)$)(?!.*0[xX])(?=.*[A-Za-z])[0-9A-Za-z](?:[0-9A-Za-z_.\-]*[0-9A-Za-z])?"
)
_WORD = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z_.\-]*[0-9A-Za-z])?")


class AddressBook:
    """The handles of one prompt, in both directions.

    An address is `0x` and exactly 40 hexadecimal digits, without an alphanumeric neighbour and
    without a failing EIP-55 checksum. Addresses are equal by value. The first `MAX_ADDRESSES`
    different addresses of base prompt, prompt and tool results, in that order, get a handle: the
    name in a line `NAME = 0x…` of the base prompt (the first line of a name or an address wins; a
    literal of JSON is no name), otherwise `addr1`, `addr2`, … in order of appearance.
    """

    def __init__(self, base_prompt: str, others: Iterable[str]) -> None:
        """Collect the addresses of the base prompt, then of the other texts in order."""
        addresses = _collect_addresses((base_prompt, *others))
        names = _parse_definitions(base_prompt)
        taken = set(names.values())
        self._handles: dict[str, str] = {}
        number = 0
        for address in addresses:
            handle = names.get(address)
            while handle is None:
                number += 1
                if f"addr{number}" not in taken:
                    handle = f"addr{number}"
            self._handles[address] = handle
        self._addresses = {handle: address for address, handle in self._handles.items()}
        self._names = frozenset(names.values())
        self._checksummed = {address.lower(): address for address in self._handles}

    @property
    def handles(self) -> tuple[tuple[str, str], ...]:
        """(handle, checksummed address) of each address, in order of first appearance."""
        return tuple(self._addresses.items())

    def resolve(self, handle: str) -> str:
        """Return the checksummed address of a handle.

        Raises: KeyError: unknown handle.
        """
        return self._addresses[handle]

    def intern(self, text: str) -> str:
        """Replace the addresses in a text by handles."""

        def replace_address(match: re.Match[str]) -> str:
            # By value first: a checksum takes 20 times as long, and a text may have 1,500.
            spelled = match[0]
            address = self._checksummed.get(spelled.lower())
            if address is None or (spelled != address and is_checksum_formatted_address(spelled)):
                return spelled
            return self._handles[address]

        return ADDRESS.sub(replace_address, text)

    def intern_base_prompt(self, text: str) -> str:
        """Replace addresses by handles; a line `NAME = 0x…` becomes the name alone."""

        def intern_line(text: str) -> str:
            definition = _DEFINITION.fullmatch(text)
            if definition and self.intern(definition[2]) == definition[1]:
                return definition[1]
            return self.intern(text)

        return "\n".join(map(intern_line, text.split("\n")))

    def expand(self, text: str) -> str:
        """Replace the handles in generated text by checksummed addresses.

        `intern(expand(text)) == text` for every text without `0x`.
        """
        return _WORD.sub(lambda match: self._addresses.get(match[0], match[0]), text)

    def expand_unnamed(self, text: str) -> str:
        """Replace the handles of addresses without a name by checksummed addresses."""

        def replace_handle(match: re.Match[str]) -> str:
            is_named = match[0] in self._names
            return match[0] if is_named else self._addresses.get(match[0], match[0])

        return _WORD.sub(replace_handle, text)


def _collect_addresses(texts: Iterable[str]) -> dict[str, None]:
    """Return the first `MAX_ADDRESSES` checksummed addresses, in order of appearance."""
    addresses: dict[str, None] = {}
    for text in texts:
        for match in ADDRESS.finditer(text):
            address = _normalize_address(match[0])
            if address is not None:
                addresses[address] = None
                if len(addresses) == MAX_ADDRESSES:
                    return addresses
    return addresses


def _normalize_address(text: str) -> str | None:
    """Return the checksummed form of an address; None for a wrong checksum."""
    checksummed = _to_checksum(text)
    if is_checksum_formatted_address(text) and text != checksummed:
        return None
    return checksummed


def _to_checksum(text: str) -> str:
    """Return the EIP-55 form of an address, ten times as fast as `to_checksum_address`."""
    digits = text[2:].lower()
    pairs = zip(digits, keccak(text=digits).hex(), strict=False)
    return "0x" + "".join(digit.upper() if nibble > "7" else digit for digit, nibble in pairs)


def _parse_definitions(base_prompt: str) -> dict[str, str]:
    """Return the names by address of the lines `NAME = 0x…` in the base prompt."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for line in base_prompt.split("\n"):
        definition = _DEFINITION.fullmatch(line)
        if definition is None or len(definition[1]) > MAX_HANDLE_CHARACTERS:
            continue
        name, address = definition[1], _normalize_address(definition[2])
        if address is None or name in taken or not _NAME.fullmatch(name):
            continue
        taken.add(name)
        names.setdefault(address, name)
    return names
