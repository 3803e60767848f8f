"""The accounts of a fork: an overlay of the differences from the fork block, over the remote state.

The overlay is a trie like any other, in the chain's database. The root is the state root of a local
block. An entry is there if, and only if, the value differs from the remote's, so the root does not
depend on reads or the order of reads:

- An account has the usual four items. The storage root is that of the slots that differ. A slot
  that differs by being empty is stored as 0.
- An account that was created here, or whose storage was cleared, has a fifth item, 1: the remote
slots are hidden, and the storage trie has all slots.
- An account that was deleted here is an empty list.
- The entry of the key keccak("origin") is the hash of the fork block.

An account with storage, but without nonce, balance and code (EIP-7610 counts 28 on mainnet) does
not exist in the remote state, and the slots are not visible.

Source: docs/architecture.md#fork-is-an-overlay.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3
from eth_hash.auto import keccak
from lru import LRU

from pyevm_agents.state.account import Account, StateCache
from pyevm_agents.state.account_db import StateAccountDB
from pyevm_agents.state.storage import AccountStorage
from pyevm_agents.state.trie import Trie

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import DatabaseAPI
    from eth_typing import Address, Hash32

    from pyevm_agents.state.remote_state import RemoteState

ORIGIN_KEY: bytes = keccak(b"origin")
"""Key of the fork block's hash in the trie. An account's key is the hash of 20 bytes."""

DELETED = b"\xc0"
"""The entry of an account that exists in the remote state only."""

REMOTE_ACCOUNTS = 16_384
"""Size of the LRU of remote accounts without code, of some 300 bytes each."""


class OverlayCache(StateCache):
    """A fork's state cache."""

    def __init__(self) -> None:
        super().__init__()
        self.remote_accounts: LRU[Address, Account | None] = LRU(REMOTE_ACCOUNTS)
        """Accounts of the remote state, which never change. Their code is in `codes`."""


class OverlayStorage(AccountStorage):
    """The slots of an account of the remote state, with those that differ."""

    __slots__ = ("_get_remote_slot",)

    def __init__(
        self,
        db: DatabaseAPI,
        root: bytes,
        cache: StateCache,
        get_remote_slot: Callable[[int], int],
    ) -> None:
        super().__init__(db, root, cache)
        self._get_remote_slot = get_remote_slot

    def _get_default(self, slot: int) -> int:
        return self._get_remote_slot(slot)


class OverlayAccountDB(StateAccountDB):
    """Accounts of a fork at a state root."""

    remote: RemoteState
    """The state of the fork block, set on a subclass."""

    cache: OverlayCache
    """The fork's state cache, set on a subclass."""

    new_account = Account(hides_remote=True)

    def _read_remote(self, address: Address) -> Account | None:
        """Return an account of the remote state; put the code into the cache."""
        accounts = self.cache.remote_accounts
        try:
            return accounts[address]
        except KeyError:
            pass
        remote, account = self.remote.get_account(address), None
        if remote is not None:
            code_hash = keccak(remote.code) if remote.code else EMPTY_SHA3
            if remote.code:
                self.cache.codes[code_hash] = remote.code
            account = Account(remote.nonce, remote.balance_wei, code_hash=code_hash)
        accounts[address] = account
        return account

    def _decode_account(self, address: Address, encoded: bytes | None) -> Account | None:
        if encoded is None:
            return self._read_remote(address)
        return None if encoded == DELETED else Account.decode(encoded)

    def _encode_account(self, address: Address, account: Account | None) -> bytes | None:
        if account == self._read_remote(address):
            return None
        if account is None:
            return DELETED
        self._store_code(address, account.code_hash)
        return account.encode()

    def _store_code(self, address: Address, code_hash: bytes) -> None:
        """Add the remote code of an entry to the codes to write: an overlay is complete."""
        if code_hash != EMPTY_SHA3 and code_hash not in self._codes and code_hash not in self._db:
            self._codes[code_hash] = self._load_code(address, code_hash)  # type: ignore[arg-type]

    def _load_code(self, address: Address, code_hash: Hash32) -> bytes:
        account = self._read_remote(address)
        if account is None or account.code_hash != code_hash:
            return super()._load_code(address, code_hash)
        remote = self.remote.get_account(address)
        return b"" if remote is None else remote.code

    def _make_storage(self, address: Address, account: Account) -> AccountStorage:
        if account.hides_remote:
            return super()._make_storage(address, account)
        get_remote_slot = partial(self.remote.get_slot, address)
        return OverlayStorage(self._db, account.storage_root, self._cache, get_remote_slot)


def write_origin(db: DatabaseAPI, block_hash: bytes) -> bytes:
    """Write an overlay without differences; return the root, which commits to the fork block."""
    written: dict[bytes, bytes] = {}
    trie = Trie(db, BLANK_ROOT_HASH, StateCache())
    trie.set(ORIGIN_KEY.hex(), block_hash)
    root = trie.compute_root(written)
    for key, value in written.items():
        db[key] = value
    return root
