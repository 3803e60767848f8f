"""An account's slots in the order of their hashes, between two transactions of a block.

A trie has the hashes of slots and not the slots. Those that the block's transactions have touched
are known, and so are the first ones, where compilers put what is neither mapping nor array.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import rlp
from eth_utils import keccak
from rlp.sedes import big_endian_int
from trie.hexary import HexaryTrie
from trie.iter import NodeIterator

from pyevm_agents.rpc.replay import traced
from pyevm_agents.state.proofs import prove
from pyevm_agents.tracing import TouchedState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

    from pyevm_agents.chain import Record
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.tracing import Place

MAX_SLOTS = 1_024
"""How many one request may ask for."""

FIRST_SLOTS = 1_024
"""How many slots are known by trying."""

WORD_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSlot:
    """A slot that is not 0."""

    path: bytes
    """Its hash."""

    slot: int | None
    """None where only its hash is known."""

    value: int


def storage_range(  # noqa: PLR0913, PLR0917 - as the method that asks for it
    rpc: Rpc, record: Record, index: int, account: Address, start: bytes, limit: int
) -> tuple[list[StoredSlot], bytes | None]:
    """Return slots before a block's transaction of that place, and the hash of the one after them.

    What a block does before its first transaction is not in it.
    """
    changed = _changed(rpc, record, index, account)
    found = heapq.merge(
        (one for one in _kept(rpc, record, account, start) if one.path not in changed),
        (changed[path] for path in sorted(changed) if path >= start and changed[path].value),
        key=lambda one: one.path,
    )
    slots = [*islice(found, limit + 1)]
    following = slots[limit].path if len(slots) > limit else None
    return slots[:limit], following


def _changed(rpc: Rpc, record: Record, index: int, account: Address) -> dict[bytes, StoredSlot]:
    """Return the slots that the block's first transactions touched, as those left them."""
    slots: dict[int, int] = {}
    for touched in traced(rpc, record, _touched, range(index)):
        if account in touched.after:
            slots |= touched.after[account].storage
    return {
        _path(slot): StoredSlot(path=_path(slot), slot=slot, value=value)
        for slot, value in slots.items()
    }


def _touched(at: Place, logs_before: int) -> TouchedState:
    del at, logs_before
    return TouchedState()


def _kept(rpc: Rpc, record: Record, account: Address, start: bytes) -> Iterator[StoredSlot]:
    """Yield the slots that the block began with."""
    chain, header = rpc.node.chain, record.block.header
    root = chain.state_root_before(header) if header.block_number else header.state_root
    storage_root = prove(chain.rows, root, account, ()).account.storage_root
    trie = HexaryTrie(chain.rows, storage_root)
    paths = NodeIterator(trie)
    path = start if start in trie else paths.next(start)
    known = _first_slots()
    while path is not None:
        value = rlp.decode(trie[path], sedes=big_endian_int)
        yield StoredSlot(path=path, slot=known.get(path), value=value)
        path = paths.next(path)


def _path(slot: int) -> bytes:
    return bytes(keccak(slot.to_bytes(WORD_BYTES, "big")))


@cache
def _first_slots() -> dict[bytes, int]:
    return {_path(slot): slot for slot in range(FIRST_SLOTS)}
