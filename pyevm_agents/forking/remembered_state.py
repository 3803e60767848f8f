"""The state of a fork block: read once from the remote node, then from the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.spec import WORD_BYTES
from pyevm_agents.client.json_rpc import split
from pyevm_agents.forking.state_reader import (
    ACCOUNTS_IN_BATCH,
    MAX_ANCESTORS,
    SLOTS_IN_BATCH,
)
from pyevm_agents.state.remote_state import RemoteAccount

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eth.abc import BlockHeaderAPI
    from eth_typing import Address

    from pyevm_agents.forking.cache import AnswerCache
    from pyevm_agents.forking.state_reader import StateReader

ACCOUNT, SLOT, ANCESTOR = b"a", b"s", b"n"
"""First byte of a key: then an address; an address and a slot; a block number."""

NONCE_BYTES = 8


class RememberedState:
    """A `RemoteState` with a cache. Thread-safe."""

    def __init__(self, reader: StateReader, cache: AnswerCache, header: BlockHeaderAPI) -> None:
        """Input: the reader of missing values; the cache; the fork block's header."""
        self._reader = reader
        self._cache = cache
        self._header = header

    def get_account(self, address: Address) -> RemoteAccount | None:
        """Return an account; None if absent.

        Raises: RemoteFault: the remote chain did not answer.
        """
        stored = self._cache.get(ACCOUNT + address)
        if stored is None:
            [account] = self._reader.read_accounts([address])
            stored = self._cache.put(ACCOUNT + address, _encode_account(account))
        return _decode_account(stored)

    def get_slot(self, address: Address, slot: int) -> int:
        """Return the value of a slot.

        Raises: RemoteFault: the remote chain did not answer.
        """
        stored = self._cache.get(_slot_key(address, slot))
        if stored is None:
            [value] = self._reader.read_slots(address, [slot])
            stored = self._cache.put(_slot_key(address, slot), _encode_slot(value))
        return int.from_bytes(stored, "big")

    def prefetch(self, accounts: Iterable[Address], slots: Iterable[tuple[Address, int]]) -> None:
        """Read accounts and slots that are not here, many in a round trip.

        Raises: RemoteFault: the remote chain did not answer.
        """
        get = self._cache.get
        missing = [each for each in dict.fromkeys(accounts) if get(ACCOUNT + each) is None]
        for addresses in split(missing, ACCOUNTS_IN_BATCH):
            read = self._reader.read_accounts(addresses)
            for address, account in zip(addresses, read, strict=True):
                self._cache.put(ACCOUNT + address, _encode_account(account))
        by_owner: dict[Address, list[int]] = {}
        for address, slot in dict.fromkeys(slots):
            if get(_slot_key(address, slot)) is None:
                by_owner.setdefault(address, []).append(slot)
        for address, its_slots in by_owner.items():
            for some in split(its_slots, SLOTS_IN_BATCH):
                values = self._reader.read_slots(address, some)
                for slot, value in zip(some, values, strict=True):
                    self._cache.put(_slot_key(address, slot), _encode_slot(value))

    def get_block_hash(self, number: int) -> bytes:
        """Return the hash of the fork block, or of one of the 256 blocks below it.

        Each hash is that of a header, and is the parent hash of the next one.

        Raises: RemoteFault: the remote chain did not answer. ValueError: another number.
        """
        top = self._header.block_number
        if not max(0, top - MAX_ANCESTORS) <= number <= top:
            raise ValueError(f"block {number}: must be one of the {MAX_ANCESTORS} below {top}")
        if number == top:
            return bytes(self._header.hash)
        stored = self._cache.get(_ancestor_key(number))
        if stored is None:
            for header in self._reader.read_ancestors(self._header, number):
                self._cache.put(_ancestor_key(header.block_number), header.hash)
            stored = self._cache.get(_ancestor_key(number)) or b""
        return stored


def _encode_account(account: RemoteAccount | None) -> bytes:
    """Return nonce, balance and code in one row: a kill leaves no account without code."""
    if account is None:
        return b""
    nonce = account.nonce.to_bytes(NONCE_BYTES, "big")
    return nonce + account.balance_wei.to_bytes(WORD_BYTES, "big") + account.code


def _decode_account(stored: bytes) -> RemoteAccount | None:
    if not stored:
        return None
    numbers_end = NONCE_BYTES + WORD_BYTES
    return RemoteAccount(
        int.from_bytes(stored[:NONCE_BYTES], "big"),
        int.from_bytes(stored[NONCE_BYTES:numbers_end], "big"),
        stored[numbers_end:],
    )


def _slot_key(address: Address, slot: int) -> bytes:
    return SLOT + address + slot.to_bytes(WORD_BYTES, "big")


def _encode_slot(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _ancestor_key(number: int) -> bytes:
    return ANCESTOR + number.to_bytes(NONCE_BYTES, "big")
