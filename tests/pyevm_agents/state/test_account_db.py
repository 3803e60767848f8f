"""Accounts behave as py-evm's under any operations: the same values and roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth.constants import BLANK_ROOT_HASH
from eth.db.account import AccountDB
from eth.db.atomic import AtomicDB
from eth.db.backends.memory import MemoryDB
from eth.vm.interrupt import MissingAccountTrieNode, MissingBytecode, MissingStorageTrieNode
from eth_typing import Address, Hash32
from eth_utils import ValidationError
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pyevm_agents.state import StateAccountDB, StateCache

if TYPE_CHECKING:
    from eth.abc import AccountDatabaseAPI, MetaWitnessAPI

ADDRESSES = [Address(bytes([number]) * 20) for number in range(1, 5)]
SLOTS = [0, 1, 2, 2**256 - 1]
CODES = [b"", b"\x00", b"\x60\x01"]

addresses = st.sampled_from(ADDRESSES)
slots = st.sampled_from(SLOTS)
values = st.sampled_from([0, 0, 1, 0x7F, 0x80, 2**256 - 1])


def opened(db: AtomicDB, root: bytes = BLANK_ROOT_HASH) -> StateAccountDB:
    """Return accounts with a memory of their own."""
    return StateAccountDB(db, Hash32(root))


def keep_alone(db: AtomicDB, root: bytes) -> None:
    """Remove everything but the node of a root."""
    rows = db.wrapped_db
    assert isinstance(rows, MemoryDB)
    for key in [one for one in rows.kv_store if one != root]:
        del rows[key]


class AccountsMachine(RuleBasedStateMachine):
    """Does everything to both."""

    @initialize()
    def begin(self) -> None:
        self.dbs = AtomicDB(), AtomicDB()
        cache = StateCache()
        self.kind = type("AccountDB", (StateAccountDB,), {"cache": cache})
        self.open(BLANK_ROOT_HASH)

    def open(self, root: Hash32) -> None:
        self.ours: AccountDatabaseAPI = self.kind(self.dbs[0], root)
        self.theirs: AccountDatabaseAPI = AccountDB(self.dbs[1], root)
        self.marks: list[tuple[Hash32, object, object, set[Address]]] = []
        self.emptied: set[Address] = set()

    @property
    def both(self) -> tuple[AccountDatabaseAPI, AccountDatabaseAPI]:
        return self.ours, self.theirs

    @rule(address=addresses, value=values)
    def set_balance(self, address: Address, value: int) -> None:
        for one in self.both:
            one.set_balance(address, value)

    @rule(address=addresses, nonce=st.sampled_from([0, 1, 2**64 - 1]))
    def set_nonce(self, address: Address, nonce: int) -> None:
        for one in self.both:
            one.set_nonce(address, nonce)

    @rule(address=addresses, code=st.sampled_from(CODES))
    def set_code(self, address: Address, code: bytes) -> None:
        for one in self.both:
            one.set_code(address, code)

    @rule(address=addresses)
    def delete_code(self, address: Address) -> None:
        for one in self.both:
            one.delete_code(address)

    @rule(address=addresses)
    def touch(self, address: Address) -> None:
        for one in self.both:
            one.touch_account(address)

    @rule(address=addresses, slot=slots, value=values)
    def set_storage(self, address: Address, slot: int, value: int) -> None:
        for one in self.both:
            one.set_storage(address, slot, value)

    # py-evm can go back over one emptying of an account's slots, and not over two.
    @rule(address=addresses, is_all=st.booleans())
    def delete(self, address: Address, *, is_all: bool) -> None:
        if address in self.emptied:
            return
        self.emptied.add(address)
        for one in self.both:
            if is_all:
                one.delete_account(address)
            else:
                one.delete_storage(address)

    @rule(address=addresses, slot=slots)
    def warm(self, address: Address, slot: int) -> None:
        for one in self.both:
            one.mark_address_warm(address)
            one.mark_storage_warm(address, slot)

    @rule()
    def record(self) -> None:
        self.marks.append(
            (self.ours.state_root, self.ours.record(), self.theirs.record(), set(self.emptied))
        )

    @precondition(lambda self: self.marks)
    @rule(is_kept=st.booleans())
    def end(self, *, is_kept: bool) -> None:
        _, ours, theirs, emptied = self.marks.pop()
        if is_kept:
            self.ours.commit(ours)  # type: ignore[arg-type]
            self.theirs.commit(theirs)  # type: ignore[arg-type]
        else:
            self.ours.discard(ours)  # type: ignore[arg-type]
            self.theirs.discard(theirs)  # type: ignore[arg-type]
            self.emptied = emptied

    @precondition(lambda self: not self.marks)
    @rule()
    def lock(self) -> None:
        for one in self.both:
            one.lock_changes()

    @precondition(lambda self: not self.marks)
    @rule()
    def hash(self) -> None:
        assert self.ours.make_state_root() == self.theirs.make_state_root()
        assert self.ours.state_root == self.theirs.state_root

    @precondition(lambda self: not self.marks)
    @rule(is_reopened=st.booleans())
    def persist(self, *, is_reopened: bool) -> None:
        for one in self.both:
            one.lock_changes()
        ours, theirs = self.ours.persist(), self.theirs.persist()
        assert self.ours.state_root == self.theirs.state_root
        self.emptied = set()
        for address in theirs.accounts_queried:
            assert address in ours.accounts_queried
            assert theirs.get_slots_queried(address) <= ours.get_slots_queried(address)
        if is_reopened:
            self.open(self.theirs.state_root)

    @invariant()
    def same(self) -> None:
        for address in ADDRESSES:
            ours, theirs = (
                (
                    one.account_exists(address),
                    one.get_balance(address),
                    one.get_nonce(address),
                    one.get_code(address),
                    one.get_code_hash(address),
                    one.account_has_code_or_nonce(address),
                    one.account_is_empty(address),
                    one.is_address_warm(address),
                    [one.get_storage(address, slot) for slot in SLOTS],
                    [one.is_storage_warm(address, slot) for slot in SLOTS],
                )
                for one in self.both
            )
            assert ours == theirs


AccountsMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAccounts = AccountsMachine.TestCase


def test_a_slots_original_value_is_that_at_the_beginning_of_the_transaction() -> None:
    accounts = opened(AtomicDB())
    accounts.set_storage(ADDRESSES[0], 1, 5)
    accounts.lock_changes()
    mark = accounts.record()
    accounts.set_storage(ADDRESSES[0], 1, 6)
    assert accounts.get_storage(ADDRESSES[0], 1, from_journal=False) == 5
    accounts.discard(mark)
    accounts.set_storage(ADDRESSES[0], 1, 7)
    assert accounts.get_storage(ADDRESSES[0], 1, from_journal=False) == 5
    accounts.lock_changes()
    assert accounts.get_storage(ADDRESSES[0], 1, from_journal=False) == 7


def test_what_an_account_can_not_hold_is_refused() -> None:
    accounts = opened(AtomicDB())
    with pytest.raises(ValidationError, match="Balance"):
        accounts.set_balance(ADDRESSES[0], -1)
    with pytest.raises(ValidationError, match="Nonce"):
        accounts.set_nonce(ADDRESSES[0], 2**64)
    with pytest.raises(ValidationError, match="Slot"):
        accounts.set_storage(ADDRESSES[0], 2**256, 1)
    with pytest.raises(ValidationError, match="Value"):
        accounts.set_storage(ADDRESSES[0], 1, -1)


def persisted(accounts: StateAccountDB) -> MetaWitnessAPI:
    """Give two accounts something, and write it."""
    accounts.set_code(ADDRESSES[0], b"\x01")
    accounts.set_storage(ADDRESSES[0], 1, 1)
    accounts.set_balance(ADDRESSES[1], 1)
    return accounts.persist()


def test_the_witness_has_what_was_asked_for() -> None:
    accounts = opened(AtomicDB())
    persisted(accounts)
    accounts.get_code(ADDRESSES[0])
    accounts.get_storage(ADDRESSES[0], 3)
    accounts.get_balance(ADDRESSES[2])
    witness = accounts.persist()
    assert witness.accounts_queried == {ADDRESSES[0], ADDRESSES[2]}
    assert witness.account_bytecodes_queried == {ADDRESSES[0]}
    assert witness.get_slots_queried(ADDRESSES[0]) == {3}
    assert witness.get_slots_queried(ADDRESSES[1]) == frozenset()


def test_what_the_database_lacks_is_named() -> None:
    db = AtomicDB()
    accounts = opened(db)
    persisted(accounts)
    root = accounts.state_root
    keep_alone(db, root)
    lacking = opened(db, root)
    with pytest.raises(MissingAccountTrieNode) as missing:
        lacking.get_balance(ADDRESSES[0])
    assert missing.value.state_root_hash == root


@pytest.mark.parametrize("kept", [1, 2])
def test_missing_code_and_storage_are_named(kept: int) -> None:
    db = AtomicDB()
    accounts = opened(db)
    accounts.set_code(ADDRESSES[0], b"\x01" * kept)
    accounts.set_storage(ADDRESSES[0], 1, 1)
    accounts.persist()
    root = accounts.state_root
    keep_alone(db, root)
    lacking = opened(db, root)
    with pytest.raises(MissingBytecode):
        lacking.get_code(ADDRESSES[0])
    with pytest.raises(MissingStorageTrieNode):
        lacking.get_storage(ADDRESSES[0], 1)
    assert lacking.has_root(root)
    assert not lacking.has_root(b"\x01" * 32)
