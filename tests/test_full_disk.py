"""A full disk: failed writes are rejected and undone, and all earlier data is there."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest
from eth_utils import to_hex

from pyevm_agents.chain import Chain, GenesisAccount, lmdb
from pyevm_agents.chain.database import MemoryRows
from pyevm_agents.chain.lmdb import LmdbRows
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import EngineFault
from tests.kept_node import KEYS
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, NOBODY, transaction
from tests.test_killed_node import ROOT, Connection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from eth.abc import BlockHeaderAPI

    Change = Callable[[Chain], object]

LIMIT_BYTES = 2 * 2**20


class FullRows(MemoryRows):
    """Rows that take nothing while `is_full`."""

    is_full = False

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        if self.is_full:
            raise EngineFault("the disk is full")
        super().write(changes)


def test_what_can_not_be_written_did_not_happen() -> None:
    rows = FullRows()
    accounts = {one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
    chain = Chain(ChainConfig(), accounts=accounts, rows=rows)
    chain.mine([transaction(0, 0)])
    snapshot = chain.snapshot()
    chain.mine([transaction(0, 1)])
    chain.patch_state(lambda state: state.set_balance(NOBODY, 77))
    changes: list[Change] = [
        lambda it: it.mine([transaction(0, 2)]),
        lambda it: it.patch_state(lambda state: state.set_balance(NOBODY, 78)),
        lambda it: it.load_accounts(it.dump_accounts()),
        lambda it: it.rollback(0),
        lambda it: it.revert(snapshot),
    ]
    before = (chain.head, chain.balance(NOBODY), chain.dump_accounts())
    rows.is_full = True
    for change in changes:
        with pytest.raises(EngineFault, match="the disk is full"):
            change(chain)
        assert (chain.head, chain.balance(NOBODY), chain.dump_accounts()) == before
        assert chain.find_transaction(transaction(0, 2).hash) is None
        assert chain.find_transaction(transaction(0, 1).hash) is not None
    rows.is_full = False
    for change in changes:
        change(chain)
    assert chain.head.block_number == 1


def test_a_file_at_its_limit_is_a_fault_and_can_be_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lmdb, "MAX_BYTES", LIMIT_BYTES)
    accounts = {one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
    with closing(Chain(ChainConfig(), accounts=accounts, rows=LmdbRows(tmp_path))) as chain:
        heads: list[BlockHeaderAPI] = []

        def fill() -> None:
            while True:
                nonce = len(heads)
                heads.append(chain.head)
                data = nonce.to_bytes(4, "big") * 5_000
                chain.mine([transaction(0, nonce, data=data, gas=1_000_000)])

        with pytest.raises(EngineFault, match=f"the chain in {tmp_path} can't be written"):
            fill()
        before, nonce = heads[-1], len(heads) - 1
        assert chain.head == before
        assert chain.block(int(before.block_number)).transactions[0].nonce == nonce - 1
    monkeypatch.setattr(lmdb, "MAX_BYTES", 2 * LIMIT_BYTES)
    with closing(Chain(ChainConfig(), accounts=accounts, rows=LmdbRows(tmp_path))) as chain:
        assert chain.head == before
        chain.mine([transaction(0, nonce)])


@pytest.mark.slow
def test_a_node_on_a_full_disk_says_so_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, resource.RLIM_INFINITY))

    sent, error = [], {}
    with _node(tmp_path, limit) as (process, connection):
        form = {"from": to_hex(KEYS.addresses[0]), "to": to_hex(NOBODY), "gas": hex(2_000_000)}
        for number in range(1_000):
            data = "0x" + (number.to_bytes(4, "big") * 10_000).hex()
            answer = connection.answer("eth_sendTransaction", form | {"data": data})
            if "error" in answer:
                error = answer["error"]
                break
            sent.append(answer["result"])
        assert error["code"] == -32002
        assert "can't be written" in error["message"]
        assert error["data"] == {"retry": False}
        assert int(connection.ask("eth_blockNumber"), 16) == len(sent) > 1
        assert process.poll() is None
    with _node(tmp_path, None) as (_, connection):
        for one in sent:
            assert connection.ask("eth_getTransactionReceipt", one)["status"] == "0x1"
        again = connection.ask("eth_sendTransaction", form)
        assert connection.ask("eth_getTransactionReceipt", again)["status"] == "0x1"


@contextmanager
def _node(
    folder: Path, limit: Callable[[], None] | None
) -> Iterator[tuple[subprocess.Popen[str], Connection]]:
    """Run a node in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.kept_node", str(folder), "yes", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=limit,  # noqa: PLW1509 - no other thread of the tests has a lock then
    )
    assert process.stdout is not None
    try:
        with closing(Connection(process.stdout.readline().strip())) as connection:
            yield process, connection
    finally:
        process.kill()
        process.communicate()
