"""The slots of an account."""

from __future__ import annotations

from eth.constants import BLANK_ROOT_HASH
from eth.db.atomic import AtomicDB

from pyevm_agents.state import StateCache
from pyevm_agents.state.storage import AccountStorage


def test_a_slot_that_is_as_before_changes_nothing() -> None:
    db, cache = AtomicDB(), StateCache()
    storage = AccountStorage(db, BLANK_ROOT_HASH, cache)
    storage.changed[1] = 5
    written: dict[bytes, bytes] = {}
    root = storage.compute_root(written)
    for node_hash, node in written.items():
        db[node_hash] = node
    again = AccountStorage(db, root, cache)
    assert again.get(1) == 5
    assert again.get(2) == 0
    again.changed |= {1: 5, 2: 0}
    written = {}
    assert again.compute_root(written) == root
    assert written == {}
    again.changed[1] = 0
    assert again.compute_root(written) == BLANK_ROOT_HASH
