"""The account database of a py-evm state: trie, changes, and an undo journal.

py-evm's own stores RLP behind five layers of databases, where a plain transfer decodes an account
39 times. Here accounts and slots are decoded values, changes are journaled, and tries are updated
once, when a root is computed. Roots are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.abc import AccountDatabaseAPI
from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3
from eth.db.journal import get_next_checkpoint
from eth.db.witness import AccountQueryTracker, MetaWitness
from eth.validation import validate_uint64, validate_uint256
from eth.vm.interrupt import MissingAccountTrieNode, MissingBytecode, MissingStorageTrieNode
from eth_hash.auto import keccak
from eth_typing import Hash32

from pyevm_agents.state.account import Account, StateCache
from pyevm_agents.state.storage import AccountStorage
from pyevm_agents.state.trie import MissingNodeError, Trie

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import AtomicDatabaseAPI, MetaWitnessAPI
    from eth.typing import JournalDBCheckpoint
    from eth_typing import Address

    Warm = Address | tuple[Address, int]

MAX_UINT64, MAX_UINT256 = 2**64 - 1, 2**256 - 1
EMPTY_ACCOUNT = Account()


class StateAccountDB(AccountDatabaseAPI):
    """Accounts at a state root."""

    cache: StateCache | None = None
    """The chain's state cache, set on a subclass. None: each instance has its own."""

    new_account: Account = EMPTY_ACCOUNT
    """An account as it is created."""

    def __init__(self, db: AtomicDatabaseAPI, state_root: Hash32 = BLANK_ROOT_HASH) -> None:
        """Open the accounts at a state root."""
        self._db = db
        self._cache = StateCache() if self.cache is None else self.cache
        self._shown_root = self._base_root = state_root
        self._trie = Trie(db, state_root, self._cache)
        self._written: dict[bytes, bytes] = {}
        self._reset()

    def _reset(self) -> None:
        """Drop all changes and everything read from the trie."""
        self._trie_accounts: dict[Address, Account | None] = {}
        self._changed: dict[Address, Account | None] = {}
        self._storages: dict[Address, AccountStorage] = {}
        self._codes: dict[bytes, bytes] = {}
        self._codes_queried: set[Address] = set()
        self._undo: list[Callable[[], object]] = []
        self._marks: list[tuple[JournalDBCheckpoint, int]] = []
        self._warm: set[Warm] = set()

    # -- the root -- #

    @property
    def state_root(self) -> Hash32:
        """The state root as last computed."""
        return self._shown_root

    @state_root.setter
    def state_root(self, value: Hash32) -> None:
        """Set the visible root: py-evm does this before discarding later changes."""
        self._shown_root = value

    def has_root(self, state_root: bytes) -> bool:
        """Whether the database has the root node of a trie."""
        return state_root in self._db

    def make_state_root(self) -> Hash32:
        """Compute the state root with all changes."""
        self._written = {}
        trie = Trie(self._db, self._base_root, self._cache)
        for address in {**self._changed, **self._storages}:
            account = self._update_storage_root(address)
            if account == self._read_from_trie(address):
                continue
            path = self._cache.get_path(address)
            encoded = self._encode_account(address, account)
            if encoded is None:
                trie.delete(path)
            else:
                trie.set(path, encoded)
                self._written[bytes.fromhex(path)] = address
        self._shown_root = trie.compute_root(self._written)  # type: ignore[assignment]
        return self._shown_root

    def _update_storage_root(self, address: Address) -> Account | None:
        """Return an account with the current storage root."""
        account = self._get_account(address)
        storage = self._storages.get(address)
        if storage is None or not storage.changed:
            return account
        root = storage.compute_root(self._written)
        if account is None and root != BLANK_ROOT_HASH:
            self.touch_account(address)  # An account with storage exists.
            account = self.new_account
        return None if account is None else account._replace(storage_root=root)

    def persist(self) -> MetaWitnessAPI:
        """Write all changes to the database; return the accounts and slots that were read."""
        self._base_root = self.make_state_root()
        with self._db.atomic_batch() as batch:
            for key, value in (self._written | self._codes).items():
                batch[key] = value
        trackers = {
            address: AccountQueryTracker(
                address in self._codes_queried, self._get_queried_slots(address)
            )
            for address in self._trie_accounts
        }
        self._trie = Trie(self._db, self._base_root, self._cache)
        self._reset()
        return MetaWitness(set(), trackers)

    def _get_queried_slots(self, address: Address) -> frozenset[int]:
        storage = self._storages.get(address)
        return frozenset() if storage is None else frozenset(storage.queried)

    # -- journal -- #

    def record(self) -> JournalDBCheckpoint:
        """Return a new checkpoint."""
        checkpoint = get_next_checkpoint()
        self._marks.append((checkpoint, len(self._undo)))
        return checkpoint

    def discard(self, checkpoint: JournalDBCheckpoint) -> None:
        """Undo the changes since a checkpoint."""
        length = self._pop_checkpoint(checkpoint)
        while len(self._undo) > length:
            self._undo.pop()()

    def commit(self, checkpoint: JournalDBCheckpoint) -> None:
        """Drop a checkpoint and keep the changes since."""
        self._pop_checkpoint(checkpoint)
        if not self._marks:
            self._undo.clear()

    def _pop_checkpoint(self, checkpoint: JournalDBCheckpoint) -> int:
        """Drop a checkpoint and all later ones; return the length of the journal there."""
        while True:
            mark, length = self._marks.pop()
            if mark == checkpoint:
                return length

    def lock_changes(self) -> None:
        """Start a transaction: current slot values become the original ones, nothing is warm."""
        for storage in self._storages.values():
            storage.originals.clear()
        self._warm = set()

    # -- accounts -- #

    def _read_from_trie(self, address: Address) -> Account | None:
        try:
            return self._trie_accounts[address]
        except KeyError:
            pass
        path = self._cache.get_path(address)
        try:
            encoded = self._trie.get(path)
        except MissingNodeError as error:
            raise MissingAccountTrieNode(
                Hash32(error.node_hash), self._base_root, Hash32(bytes.fromhex(path)), None
            ) from error
        account = self._trie_accounts[address] = self._decode_account(address, encoded)
        return account

    def _decode_account(self, address: Address, encoded: bytes | None) -> Account | None:  # noqa: ARG002 - for subclasses
        """Return the account of a value in the trie; None if absent."""
        return None if encoded is None else Account.decode(encoded)

    def _encode_account(self, address: Address, account: Account | None) -> bytes | None:  # noqa: ARG002 - for subclasses
        """Return an account's value in the trie; None for no value."""
        return None if account is None else account.encode()

    def _get_account(self, address: Address) -> Account | None:
        try:
            return self._changed[address]
        except KeyError:
            return self._read_from_trie(address)

    def _set(self, address: Address, account: Account | None) -> None:
        changed = self._changed
        if address in changed:
            before = changed[address]
            self._undo.append(lambda: changed.__setitem__(address, before))
        else:
            self._read_from_trie(address)  # Adds it to the witness.
            self._undo.append(lambda: changed.pop(address))
        changed[address] = account

    def get_balance(self, address: Address) -> int:
        """Return an account's balance in wei."""
        return (self._get_account(address) or EMPTY_ACCOUNT).balance

    def set_balance(self, address: Address, balance: int) -> None:
        """Set an account's balance in wei."""
        if not 0 <= balance <= MAX_UINT256:
            validate_uint256(balance, title="Account Balance")
        self._set(
            address, (self._get_account(address) or self.new_account)._replace(balance=balance)
        )

    def get_nonce(self, address: Address) -> int:
        """Return an account's nonce."""
        return (self._get_account(address) or EMPTY_ACCOUNT).nonce

    def set_nonce(self, address: Address, nonce: int) -> None:
        """Set an account's nonce."""
        if not 0 <= nonce <= MAX_UINT64:
            validate_uint64(nonce, title="Nonce")
        self._set(address, (self._get_account(address) or self.new_account)._replace(nonce=nonce))

    def increment_nonce(self, address: Address) -> None:
        """Increment an account's nonce."""
        self.set_nonce(address, self.get_nonce(address) + 1)

    def account_exists(self, address: Address) -> bool:
        """Whether an account exists, even if empty."""
        return self._get_account(address) is not None

    def account_has_code_or_nonce(self, address: Address) -> bool:
        """Whether an account has a nonce or code."""
        account = self._get_account(address) or EMPTY_ACCOUNT
        return account.nonce != 0 or account.code_hash != EMPTY_SHA3

    def _get_storage_root(self, address: Address) -> bytes:
        """Return an account's storage root as last computed, under the name of py-evm's method."""
        return (self._get_account(address) or EMPTY_ACCOUNT).storage_root

    def account_is_empty(self, address: Address) -> bool:
        """Whether an account is empty (EIP-161) or does not exist."""
        account = self._get_account(address) or EMPTY_ACCOUNT
        return account.nonce == account.balance == 0 and account.code_hash == EMPTY_SHA3

    def touch_account(self, address: Address) -> None:
        """Create an account if absent."""
        self._set(address, self._get_account(address) or self.new_account)

    def delete_account(self, address: Address) -> None:
        """Delete an account."""
        self._replace_storage(address)
        self._set(address, None)

    # -- code -- #

    def get_code_hash(self, address: Address) -> Hash32:
        """Return the hash of an account's code."""
        return (self._get_account(address) or EMPTY_ACCOUNT).code_hash  # type: ignore[return-value]

    def get_code(self, address: Address) -> bytes:
        """Return an account's code.

        Raises: MissingBytecode: the database lacks the code.
        """
        code_hash = self.get_code_hash(address)
        if code_hash == EMPTY_SHA3:
            return b""
        self._codes_queried.add(address)
        code = self._codes.get(code_hash) or self._cache.codes.get(code_hash)
        if code is None:
            code = self._cache.codes[code_hash] = self._load_code(address, code_hash)
        return code

    def _load_code(self, address: Address, code_hash: Hash32) -> bytes:  # noqa: ARG002 - for subclasses
        try:
            return self._db[code_hash]
        except KeyError as error:
            raise MissingBytecode(code_hash) from error

    def set_code(self, address: Address, code: bytes) -> None:
        """Set an account's code."""
        code_hash: bytes = keccak(code)
        self._codes[code_hash] = code
        self._set(
            address, (self._get_account(address) or self.new_account)._replace(code_hash=code_hash)
        )

    def delete_code(self, address: Address) -> None:
        """Delete an account's code."""
        self._set(
            address, (self._get_account(address) or self.new_account)._replace(code_hash=EMPTY_SHA3)
        )

    # -- storage -- #

    def _open_storage(self, address: Address) -> AccountStorage:
        storage = self._storages.get(address)
        if storage is None:
            account = self._get_account(address) or self.new_account
            storage = self._storages[address] = self._make_storage(address, account)
        return storage

    def _make_storage(self, address: Address, account: Account) -> AccountStorage:  # noqa: ARG002 - for subclasses
        return AccountStorage(self._db, account.storage_root, self._cache)

    def get_storage(self, address: Address, slot: int, from_journal: bool = True) -> int:  # noqa: FBT001, FBT002 - py-evm's
        """Return the value of a slot: the current one, or that before the transaction."""
        storage = self._open_storage(address)
        storage.queried.add(slot)
        try:
            return storage.get(slot) if from_journal else storage.get_original(slot)
        except MissingNodeError as error:
            path = bytes.fromhex(self._cache.get_path(slot.to_bytes(32, "big")))
            raise MissingStorageTrieNode(
                Hash32(error.node_hash), Hash32(storage.root), Hash32(path), None, address
            ) from error

    def set_storage(self, address: Address, slot: int, value: int) -> None:
        """Set the value of a slot."""
        if not (0 <= slot <= MAX_UINT256 and 0 <= value <= MAX_UINT256):
            validate_uint256(slot, title="Storage Slot")
            validate_uint256(value, title="Storage Value")
        storage = self._open_storage(address)
        before = storage.get(slot)
        storage.originals.setdefault(slot, before)
        changed = storage.changed
        changed[slot] = value
        self._undo.append(lambda: changed.__setitem__(slot, before))

    def delete_storage(self, address: Address) -> None:
        """Clear an account's storage."""
        account = self._get_account(address) or self.new_account
        self._replace_storage(address)
        hides_remote = self.new_account.hides_remote
        self._set(
            address, account._replace(storage_root=BLANK_ROOT_HASH, hides_remote=hides_remote)
        )

    def _replace_storage(self, address: Address) -> None:
        """Replace an account's storage by an empty one."""
        before = self._open_storage(address)
        storages = self._storages
        storages[address] = AccountStorage(self._db, BLANK_ROOT_HASH, self._cache)
        storages[address].queried = before.queried
        self._undo.append(lambda: storages.__setitem__(address, before))

    # -- warm accesses (EIP-2929) -- #

    def is_address_warm(self, address: Address) -> bool:
        """Whether the transaction has accessed an account."""
        return address in self._warm

    def mark_address_warm(self, address: Address) -> None:
        """Mark an account as warm."""
        self._mark_warm(address)

    def is_storage_warm(self, address: Address, slot: int) -> bool:
        """Whether the transaction has accessed a slot."""
        return (address, slot) in self._warm

    def mark_storage_warm(self, address: Address, slot: int) -> None:
        """Mark a slot as warm."""
        self._mark_warm((address, slot))

    def _mark_warm(self, key: Warm) -> None:
        warm = self._warm
        if key not in warm:
            warm.add(key)
            self._undo.append(lambda: warm.discard(key))
