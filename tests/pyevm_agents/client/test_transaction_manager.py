"""Transactions of a worker's key: nonces, fees, replacements, losses, gaps and other programs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.client.signing import GWEI, add_gas_margin
from pyevm_agents.client.transaction_manager import (
    MISSING_TICKS,
    FeeSettings,
    PlannedTransaction,
    TransactionManager,
)
from pyevm_agents.oracle.oracle_client import OracleClient
from pyevm_agents.oracle.store import WorkerStore
from pyevm_agents.workers.identity import StoreIdentity
from tests.pyevm_agents.forking.fake_remote import FakeRemote, fake_remote
from tests.pyevm_agents.oracle.oracle_chain import WORKER, WORKER_KEY
from tests.pyevm_agents.oracle.working import Events
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyevm_agents.client.chain_client import RemoteHeader

RECEIVER = b"\x55" * 20
SENDER = bytes.fromhex(WORKER[2:])


class Wallet:
    """A manager of transactions, its node and its store."""

    def __init__(
        self, ask: Callable[..., Any], client: OracleClient, store: WorkerStore, fees: FeeSettings
    ) -> None:
        self.ask, self.client, self.store, self.events = ask, client, store, Events()
        self.manager = TransactionManager(
            client,
            store,
            WORKER_KEY,
            chain_id=client.read_chain_id(),
            log=self.events,
            settings=fees,
        )
        self.wanted = True

    @property
    def head(self) -> RemoteHeader:
        return self.client.read_head()

    def send(self, key: tuple[bytes, bytes] = (b"\x01" * 32, b"\x02" * 32)) -> None:
        planned = PlannedTransaction(
            kind="answer", key=key, to=RECEIVER, data=b"", gas=21_000, value_wei=1
        )
        self.manager.send(planned, self.head, lambda: True)

    def look(self) -> None:
        self.manager.watch(self.head)
        self.manager.push(self.head, lambda _: self.wanted)

    def mine(self, count: int = 1) -> None:
        """Mine blocks and look after each."""
        for _ in range(count):
            self.ask("evm_mine")
            self.look()

    @property
    def mined(self) -> int:
        return int(self.ask("eth_getTransactionCount", WORKER, "latest"), 16)

    @property
    def received(self) -> int:
        return int(self.ask("eth_getBalance", "0x" + RECEIVER.hex(), "latest"), 16)

    def drop(self) -> None:
        self.ask("anvil_dropAllTransactions")


@contextmanager
def open_wallet(remote: FakeRemote, path: Path, fees: FeeSettings) -> Iterator[Wallet]:
    client = OracleClient(remote.url, RECEIVER, retries=0)
    identity = StoreIdentity.read(client, client.read_chain_id(), RECEIVER, SENDER)
    with WorkerStore(path, identity) as store:
        yield Wallet(remote.served.ask, client, store, fees)
    client.close()


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    served = Served()
    with fake_remote(served) as remote:
        yield remote
    served.close()


@pytest.fixture
def wallet(remote: FakeRemote, tmp_path: Path) -> Iterator[Wallet]:
    remote.served.ask("anvil_setBalance", WORKER, hex(10**21))
    remote.served.ask("evm_mine")
    remote.served.ask("evm_setAutomine", False)  # noqa: FBT003 - a parameter of the method
    with open_wallet(remote, tmp_path / "store", FeeSettings(bump_blocks=2)) as wallet:
        yield wallet


def test_nonces_follow_each_other_and_are_mined(wallet: Wallet) -> None:
    for number in range(3):
        wallet.send((bytes([number]) * 32, bytes(32)))
    wallet.mine()
    assert wallet.received == 3
    assert [(slot.nonce, slot.succeeded) for slot in wallet.store.list_slots()] == [
        (0, True),
        (1, True),
        (2, True),
    ]


def test_a_lost_transaction_is_sent_again_unchanged(wallet: Wallet) -> None:
    wallet.send()
    wallet.drop()
    wallet.look()
    assert wallet.events.counts["resent"] == 1
    wallet.mine()
    assert wallet.received == 1
    assert len(wallet.store.list_attempts(0)) == 1


def test_a_signed_transaction_survives_a_restart(remote: FakeRemote, tmp_path: Path) -> None:
    remote.served.ask("anvil_setBalance", WORKER, hex(10**21))
    remote.served.ask("evm_mine")
    remote.served.ask("evm_setAutomine", False)  # noqa: FBT003 - a parameter of the method
    with open_wallet(remote, tmp_path / "store", FeeSettings()) as first:
        first.send()
        first.drop()
    with open_wallet(remote, tmp_path / "store", FeeSettings()) as second:
        second.look()
        second.mine()
        assert second.received == 1
        assert [slot.nonce for slot in second.store.list_slots()] == [0]


def test_fees_rise_by_an_eighth_within_bounds(remote: FakeRemote, tmp_path: Path) -> None:
    remote.served.ask("anvil_setBalance", WORKER, hex(10**21))
    remote.served.ask("evm_mine")
    remote.served.ask("evm_setAutomine", False)  # noqa: FBT003 - a parameter of the method
    fees = FeeSettings(bump_blocks=1, max_bumps=3, max_fee_wei=10**6 * GWEI)
    with open_wallet(remote, tmp_path / "store", fees) as wallet:
        wallet.send()
        for _ in range(6):
            wallet.drop()  # The block is mined without it.
            wallet.mine()
        attempts = wallet.store.list_attempts(0)
        assert len(attempts) == 4
        for before, after in pairwise(attempts):
            assert after.fee * 8 >= before.fee * 9
            assert after.tip * 8 >= before.tip * 9
        assert wallet.events.counts["fee_capped"] == 1
        wallet.mine()
        assert wallet.received == 1


def test_no_fee_is_above_the_limit(remote: FakeRemote, tmp_path: Path) -> None:
    remote.served.ask("anvil_setBalance", WORKER, hex(10**21))
    remote.served.ask("evm_mine")
    remote.served.ask("evm_setAutomine", False)  # noqa: FBT003 - a parameter of the method
    fees = FeeSettings(bump_blocks=1, max_fee_wei=3 * GWEI)
    with open_wallet(remote, tmp_path / "store", fees) as wallet:
        wallet.send()
        for _ in range(6):
            wallet.drop()
            wallet.mine()
        assert max(each.fee for each in wallet.store.list_attempts(0)) <= 3 * GWEI
        assert wallet.events.counts["fee_capped"] == 1


def test_the_first_attempt_may_be_mined_after_it_was_replaced(wallet: Wallet) -> None:
    wallet.send()
    for _ in range(2):
        wallet.drop()
        wallet.mine()
    first, *later = wallet.store.list_attempts(0)
    assert later
    wallet.drop()
    wallet.ask("eth_sendRawTransaction", "0x" + first.raw.hex())
    wallet.mine()
    [slot] = wallet.store.list_slots()
    assert slot.mined_hash == first.hash
    assert wallet.received == 1


def test_what_nobody_wants_any_more_is_replaced_by_a_transfer_of_nothing(wallet: Wallet) -> None:
    wallet.send()
    wallet.wanted = False
    wallet.look()
    wallet.mine()
    assert (wallet.mined, wallet.received) == (1, 0)
    [slot] = wallet.store.list_slots()
    assert (slot.kind, slot.key, slot.succeeded) == ("filler", None, True)


def test_a_transaction_without_purpose_is_not_sent(wallet: Wallet) -> None:
    planned = PlannedTransaction(
        kind="answer", key=(bytes(32), bytes(32)), to=RECEIVER, data=b"", gas=21_000, value_wei=1
    )
    wallet.manager.send(planned, wallet.head, lambda: False)
    assert wallet.events.counts["sent"] == 0
    wallet.wanted = False
    wallet.look()
    wallet.mine()
    assert (wallet.mined, wallet.received) == (1, 0)


def test_a_gap_of_nonces_is_filled(wallet: Wallet) -> None:
    wallet.send()
    wallet.send((b"\x03" * 32, bytes(32)))
    wallet.drop()
    wallet.store.drop_slot(0)
    wallet.look()
    wallet.mine(2)
    assert (wallet.mined, wallet.received) == (2, 1)
    assert wallet.events.counts["gap"] == 1


def test_another_program_s_transaction_frees_the_request(wallet: Wallet) -> None:
    wallet.send()
    wallet.drop()
    wallet.ask("anvil_setNonce", WORKER, "0x1")
    wallet.mine()
    for _ in range(MISSING_TICKS):
        wallet.look()
    assert wallet.store.list_slots() == []
    assert wallet.events.counts["nonce_taken"] == 1
    wallet.send()
    wallet.mine()
    assert (wallet.mined, wallet.received) == (2, 1)


def test_a_removed_block_s_transaction_waits_again(wallet: Wallet) -> None:
    wallet.send()
    wallet.mine(2)
    wallet.ask("anvil_reorg", 2, [])
    wallet.drop()
    assert wallet.received == 0
    wallet.look()
    wallet.mine()
    assert (wallet.mined, wallet.received) == (1, 1)


def test_gas_limits_stay_within_block_and_protocol(wallet: Wallet) -> None:
    head = wallet.head
    assert add_gas_margin(100_000, head) == 120_000
    assert add_gas_margin(16_700_000, head) == 2**24
    small = replace(head, gas_limit=110_000)
    assert add_gas_margin(100_000, small) == 110_000
    assert add_gas_margin(120_000, small) == 120_000
