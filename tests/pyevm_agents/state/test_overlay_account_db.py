"""A fork's accounts: those of the remote state until they change, and a canonical root."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth.constants import BLANK_ROOT_HASH
from eth.db.atomic import AtomicDB
from eth_typing import Address, Hash32
from eth_utils import keccak
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from pyevm_agents.errors import RemoteFault
from pyevm_agents.state import (
    OverlayAccountDB,
    OverlayCache,
    RemoteAccount,
    StateAccountDB,
    write_origin,
)
from tests.remote_chain import DictRemote

if TYPE_CHECKING:
    from eth.abc import AccountDatabaseAPI

ORIGIN = keccak(b"fork block")
CONTRACT, HOLDER, *ABSENT = [Address(bytes([number]) * 20) for number in range(1, 5)]
ADDRESSES = [CONTRACT, HOLDER, *ABSENT]
SLOTS = [0, 1, 2**256 - 1]
CODE = b"\x60\x01"

addresses = st.sampled_from(ADDRESSES)
slots = st.sampled_from(SLOTS)
values = st.sampled_from([0, 1, 5, 2**256 - 1])


def remote() -> DictRemote:
    """Return a remote state with a contract, and an account that has slots but no code."""
    return DictRemote(
        accounts={CONTRACT: RemoteAccount(1, 5, CODE), HOLDER: RemoteAccount(0, 1, b"")},
        slots={(CONTRACT, 0): 5, (CONTRACT, 1): 2**256 - 1, (HOLDER, 0): 1},
    )


def fork(db: AtomicDB, state: DictRemote, root: bytes | None = None) -> OverlayAccountDB:
    """Return the accounts of a fork at a root, by default at its start."""
    kind = type("ForkAccountDB", (OverlayAccountDB,), {"cache": OverlayCache(), "remote": state})
    accounts: OverlayAccountDB = kind(
        db, Hash32(write_origin(db, ORIGIN) if root is None else root)
    )
    return accounts


def plain(state: DictRemote) -> StateAccountDB:
    """Return the accounts of a remote state as those of an ordinary chain."""
    accounts = StateAccountDB(AtomicDB(), Hash32(BLANK_ROOT_HASH))
    for address, account in state.accounts.items():
        accounts.set_nonce(address, account.nonce)
        accounts.set_balance(address, account.balance_wei)
        accounts.set_code(address, account.code)
    for (address, slot), value in state.slots.items():
        accounts.set_storage(address, slot, value)
    accounts.persist()
    return accounts


def view(accounts: AccountDatabaseAPI) -> dict[Address, object]:
    """Return everything that can be read."""
    return {
        address: (
            accounts.account_exists(address),
            accounts.account_is_empty(address),
            accounts.account_has_code_or_nonce(address),
            accounts.get_nonce(address),
            accounts.get_balance(address),
            accounts.get_code(address),
            accounts.get_code_hash(address),
            [accounts.get_storage(address, slot) for slot in SLOTS],
            [accounts.get_storage(address, slot, from_journal=False) for slot in SLOTS],
        )
        for address in ADDRESSES
    }


class OverlayMachine(RuleBasedStateMachine):
    """Does everything to a fork, to a fork that is never read, and to an ordinary chain."""

    @initialize()
    def begin(self) -> None:
        self.state = remote()
        self.db, self.unread_db = AtomicDB(), AtomicDB()
        self.fork: AccountDatabaseAPI = fork(self.db, self.state)
        self.unread: AccountDatabaseAPI = fork(self.unread_db, self.state)
        self.plain: AccountDatabaseAPI = plain(self.state)
        self.marks: list[list[object]] = []

    @property
    def all(self) -> tuple[AccountDatabaseAPI, ...]:
        return self.fork, self.unread, self.plain

    @rule(address=addresses, value=values)
    def set_balance(self, address: Address, value: int) -> None:
        for accounts in self.all:
            accounts.set_balance(address, value)

    @rule(address=addresses, nonce=st.sampled_from([0, 1, 2]))
    def set_nonce(self, address: Address, nonce: int) -> None:
        for accounts in self.all:
            accounts.set_nonce(address, nonce)

    @rule(address=addresses, code=st.sampled_from([b"", CODE, b"\x00"]))
    def set_code(self, address: Address, code: bytes) -> None:
        for accounts in self.all:
            accounts.set_code(address, code)

    @rule(address=addresses, slot=slots, value=values)
    def set_storage(self, address: Address, slot: int, value: int) -> None:
        for accounts in self.all:
            accounts.set_storage(address, slot, value)

    @rule(address=addresses)
    def touch(self, address: Address) -> None:
        for accounts in self.all:
            accounts.touch_account(address)

    @rule(address=addresses)
    def delete_account(self, address: Address) -> None:
        for accounts in self.all:
            accounts.delete_account(address)

    @rule(address=addresses)
    def delete_storage(self, address: Address) -> None:
        for accounts in self.all:
            accounts.delete_storage(address)

    @rule()
    def start_transaction(self) -> None:
        for accounts in self.all:
            accounts.lock_changes()

    @rule()
    def record(self) -> None:
        self.marks.append([accounts.record() for accounts in self.all])

    @precondition(lambda self: self.marks)
    @rule(is_undone=st.booleans())
    def end_record(self, *, is_undone: bool) -> None:
        for accounts, mark in zip(self.all, self.marks.pop(), strict=True):
            (accounts.discard if is_undone else accounts.commit)(mark)  # type: ignore[arg-type]

    @rule(address=addresses, slot=slots)
    def read(self, address: Address, slot: int) -> None:
        """Read, which must not change a root."""
        self.fork.get_code(address)
        self.fork.get_storage(address, slot)

    @rule()
    def compare(self) -> None:
        assert view(self.fork) == view(self.plain)

    @rule(is_reopened=st.booleans())
    def persist(self, *, is_reopened: bool) -> None:
        self.marks.clear()
        for accounts in self.all:
            accounts.persist()
        assert self.fork.state_root == self.unread.state_root
        if is_reopened:
            self.fork = fork(self.db, self.state, self.fork.state_root)
        assert view(self.fork) == view(self.plain)

    def teardown(self) -> None:
        if hasattr(self, "fork"):
            self.persist(is_reopened=True)


OverlayMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestOverlay = OverlayMachine.TestCase


def test_the_first_root_commits_to_the_fork_block() -> None:
    assert write_origin(AtomicDB(), ORIGIN) != write_origin(AtomicDB(), keccak(b"another"))


def test_reads_change_no_root() -> None:
    accounts = fork(AtomicDB(), remote())
    before = accounts.state_root
    view(accounts)
    accounts.touch_account(HOLDER)
    accounts.set_storage(CONTRACT, 0, 5)
    accounts.persist()
    assert accounts.state_root == before


def test_an_account_that_is_as_the_remote_one_again_leaves_no_entry() -> None:
    accounts = fork(AtomicDB(), remote())
    before = accounts.state_root
    for balance_wei, value in ((6, 0), (5, 5)):
        accounts.set_balance(CONTRACT, balance_wei)
        accounts.set_storage(CONTRACT, 0, value)
        accounts.persist()
    assert accounts.state_root == before


def test_the_root_does_not_depend_on_the_blocks_between() -> None:
    slow, fast = fork(AtomicDB(), remote()), fork(AtomicDB(), remote())
    for accounts, persists in ((slow, True), (fast, False)):
        for balance_wei, value in ((7, 9), (8, 0)):
            accounts.set_balance(CONTRACT, balance_wei)
            accounts.set_storage(CONTRACT, 1, value)
            accounts.set_balance(ABSENT[0], balance_wei)
            if persists:
                accounts.persist()
        accounts.persist()
    assert slow.state_root == fast.state_root


def test_a_slot_set_to_zero_stays_zero_after_reopening() -> None:
    db, state = AtomicDB(), remote()
    accounts = fork(db, state)
    accounts.set_storage(CONTRACT, 0, 0)
    accounts.persist()
    assert fork(db, state, accounts.state_root).get_storage(CONTRACT, 0) == 0


def test_slots_of_a_deleted_and_created_account_are_hidden_without_a_read() -> None:
    db, state = AtomicDB(), remote()
    accounts = fork(db, state)
    accounts.delete_account(CONTRACT)
    accounts.persist()
    accounts = fork(db, state, accounts.state_root)
    assert not accounts.account_exists(CONTRACT)
    accounts.set_balance(CONTRACT, 1)
    accounts.set_storage(CONTRACT, 1, 3)
    accounts.persist()
    accounts = fork(db, state, accounts.state_root)
    state.reads.clear()
    assert [accounts.get_storage(CONTRACT, slot) for slot in SLOTS] == [0, 3, 0]
    assert state.reads == []


def test_remote_code_is_found_after_it_left_the_cache() -> None:
    accounts = fork(AtomicDB(), remote())
    assert accounts.get_code(CONTRACT) == CODE
    accounts.cache.codes.clear()
    assert accounts.get_code(CONTRACT) == CODE


def test_an_overlay_has_the_code_of_its_accounts() -> None:
    db = AtomicDB()
    accounts = fork(db, remote())
    accounts.set_balance(CONTRACT, 6)
    accounts.persist()
    assert db[accounts.get_code_hash(CONTRACT)] == CODE


@pytest.mark.parametrize("read", ["get_balance", "get_code", "account_exists"])
def test_a_remote_chain_that_fails_is_a_fault_and_no_empty_account(read: str) -> None:
    state = remote()
    accounts = fork(AtomicDB(), state)
    state.is_gone = True
    with pytest.raises(RemoteFault, match="connection refused"):
        getattr(accounts, read)(CONTRACT)
    state.is_gone = False
    assert accounts.get_balance(CONTRACT) == 5
