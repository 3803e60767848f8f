"""The storage of one account: the trie, and changed slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.state.account import decode_integer, encode_integer
from pyevm_agents.state.trie import Trie

if TYPE_CHECKING:
    from eth.abc import DatabaseAPI

    from pyevm_agents.state.account import StateCache


class AccountStorage:
    """An account's storage slots."""

    __slots__ = ("_cache", "_db", "_kept", "_trie", "changed", "originals", "queried", "root")

    def __init__(self, db: DatabaseAPI, root: bytes, cache: StateCache) -> None:
        self._db, self._cache = db, cache
        self.root = root
        self._trie = Trie(db, root, cache)
        self._kept: dict[int, int] = {}
        self.changed: dict[int, int] = {}
        """Slots that were set since the root was computed, possibly to the same value."""

        self.originals: dict[int, int] = {}
        """Values before the transaction, of slots that it set."""

        self.queried: set[int] = set()

    def get(self, slot: int) -> int:
        """Return the value of a slot.

        Raises: MissingNodeError: the database lacks a trie node.
        """
        value = self.changed.get(slot)
        return self._read_from_trie(slot) if value is None else value

    def get_original(self, slot: int) -> int:
        """Return the value of a slot before the transaction.

        Raises: MissingNodeError: see `get`.
        """
        value = self.originals.get(slot)
        return self.get(slot) if value is None else value

    def _read_from_trie(self, slot: int) -> int:
        value = self._kept.get(slot)
        if value is None:
            encoded = self._trie.get(self._get_path(slot))
            value = self._kept[slot] = (
                self._get_default(slot) if encoded is None else decode_integer(encoded)
            )
        return value

    def _get_default(self, slot: int) -> int:  # noqa: ARG002 - for subclasses
        """Return the value of a slot that is not in the trie."""
        return 0

    def _get_path(self, slot: int) -> str:
        return self._cache.get_path(slot.to_bytes(32, "big"))

    def compute_root(self, written: dict[bytes, bytes]) -> bytes:
        """Compute the storage root with all changes.

        Adds new nodes to `written`, and slots by hash.

        Raises: MissingNodeError: see `get`.
        """
        trie = Trie(self._db, self.root, self._cache)
        for slot, value in self.changed.items():
            if value == self._read_from_trie(slot):
                continue
            if value == self._get_default(slot):
                trie.delete(self._get_path(slot))
            else:
                path = self._get_path(slot)
                trie.set(path, encode_integer(value))
                written[bytes.fromhex(path)] = slot.to_bytes(32, "big")
        return trie.compute_root(written)
