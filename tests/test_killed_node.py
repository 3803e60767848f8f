"""A node that is killed under load, again and again, keeps everything that it acknowledged.

Clients send transactions of both kinds, set balances, and go back to snapshots, with every way of
mining. Each keeps its responses. After a kill the folder is opened: every state is whole and
gives the block after it, and every agent's steps are kept. Then the next node is started with it,
and has to answer as the ones before.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from eth_abi import encode
from eth_utils import to_hex

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain.lmdb import LmdbRows
from tests.deadlines import HANG_SECONDS
from tests.kept_node import KEYS, kept_chain

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.chain import Chain
    from tests.samples import Sample

    Ask = Callable[..., Any]

ROOT = Path(__file__).resolve().parents[1]
MINING = (("yes", "0"), ("yes", "0.05"), ("no", "0.05"), ("no", "0"))
"""Automatic, both, from time to time, by hand."""

GONE = (ConnectionError, http.client.HTTPException)
CLIENTS = 4
DEPLOYER = to_hex(KEYS.addresses[4])


@dataclass
class Told:
    """Responses that the nodes have acknowledged."""

    agent: str = ""
    receipts: dict[str, Any] = field(default_factory=dict)
    traces: dict[str, Any] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    """Hash by number."""

    balances: dict[str, str] = field(default_factory=dict)
    asked_balances: dict[str, set[str]] = field(default_factory=dict)
    """What may have been set, although nobody said so."""

    reverts: int = 0


class Connection:
    """A client's connection; it ends with the node."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=HANG_SECONDS)

    def answer(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        head = {"Content-Type": "application/json"}
        self._connection.request("POST", "/", json.dumps(body), head)
        return json.load(self._connection.getresponse())

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        answer = self.answer(method, *params)
        assert "result" in answer, (method, answer)
        return answer["result"]

    def close(self) -> None:
        self._connection.close()


class Load:
    """Clients of one node, until it is killed."""

    def __init__(self, url: str, told: Told, *, by_hand: bool, seed: int) -> None:
        self._url, self._told, self._by_hand = url, told, by_hand
        self._turns = [threading.Lock() for _ in range(CLIENTS)]
        self._numbers = itertools.count(seed * 1_000_000)
        self._failed: list[BaseException] = []
        jobs = [self._send, self._send, self._run, self._set]
        self._threads = [
            threading.Thread(target=self._work, args=(index, job)) for index, job in enumerate(jobs)
        ]
        self._threads.append(threading.Thread(target=self._go_back))
        for thread in self._threads:
            thread.start()

    def ended(self) -> None:
        for thread in self._threads:
            thread.join(HANG_SECONDS)
            assert not thread.is_alive()
        assert not self._failed, self._failed

    def _until_gone(self, work: Callable[[Ask], None]) -> None:
        try:
            with closing(Connection(self._url)) as connection:
                while True:
                    work(connection.ask)
        except GONE:
            return
        except BaseException as error:  # noqa: BLE001 - the test's thread is to know
            self._failed.append(error)

    def _work(self, index: int, job: Callable[[Ask, int], None]) -> None:
        def turn(ask: Ask) -> None:
            with self._turns[index]:
                job(ask, index)

        self._until_gone(turn)

    def _send(self, ask: Ask, index: int) -> None:
        sender, other = to_hex(KEYS.addresses[index]), to_hex(KEYS.addresses[3])
        form = {"from": sender, "to": other, "value": "0x1", "gas": hex(21_000)}
        self._take_receipt(ask, ask("eth_sendTransaction", form))
        head = ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC has places
        self._told.blocks[head["number"]] = head["hash"]

    def _run(self, ask: Ask, index: int) -> None:
        sender, agent = to_hex(KEYS.addresses[index]), self._told.agent
        form = {"from": sender, "to": agent, "data": RUN, "gas": hex(5_000_000)}
        sent = ask("eth_sendTransaction", form)
        if self._take_receipt(ask, sent):
            self._told.traces[sent] = ask("agent_traceTransaction", sent)

    def _take_receipt(self, ask: Ask, sent: str) -> bool:
        """Wait for a transaction's receipt, and keep it."""
        if self._by_hand:
            ask("evm_mine")
        end = time.monotonic() + HANG_SECONDS
        while time.monotonic() < end:
            receipt = ask("eth_getTransactionReceipt", sent)
            if receipt is not None:
                self._told.receipts[sent] = receipt
                return True
            time.sleep(0.01)
        raise AssertionError(f"{sent} was taken and never mined")

    def _set(self, ask: Ask, _: int) -> None:
        account = f"0x{next(self._numbers) % 20 + 0xACC0:040x}"
        balance = hex(next(self._numbers))
        self._told.asked_balances.setdefault(account, set()).add(balance)
        ask("anvil_setBalance", account, balance)
        self._told.balances[account] = balance
        self._told.asked_balances[account] = set()

    def _go_back(self) -> None:
        """Send and undo it without concurrent requests."""

        def work(ask: Ask) -> None:
            time.sleep(0.05)
            with ExitStack() as stack:
                for turn in self._turns:
                    stack.enter_context(turn)
                snapshot = ask("evm_snapshot")
                form = {"from": DEPLOYER, "to": DEPLOYER, "gas": hex(21_000)}
                for _ in range(3):
                    ask("eth_sendTransaction", form)
                    ask("evm_mine")
                assert ask("evm_revert", snapshot) is True
                self._told.reverts += 1

        self._until_gone(work)


PROMPT = encode(["string"], ["Hello."])
RUN = to_hex(load_artifact("SimpleAgent").encode_call("run", ([(0, PROMPT)], PROMPT), bytes(20)))


def deployed(ask: Ask) -> str:
    texts = ("agent", "An agent.", "what to do", "You are an agent.")
    creation = load_artifact("SimpleAgent").encode_creation(
        EXECUTOR_ADDRESS, "bytes", *texts, [], 3
    )
    form = {"from": DEPLOYER, "data": to_hex(creation), "gas": hex(5_000_000)}
    made = ask("eth_sendTransaction", form)
    end = time.monotonic() + HANG_SECONDS
    while (receipt := ask("eth_getTransactionReceipt", made)) is None:
        assert time.monotonic() < end, "the agent was not deployed"
        time.sleep(0.01)
    return str(receipt["contractAddress"])


def check_answers(ask: Ask, told: Told, sample: Callable[[dict[str, Any]], list[str]]) -> None:
    """Request everything that earlier nodes acknowledged."""
    for sent in sample(told.receipts):
        assert ask("eth_getTransactionReceipt", sent) == told.receipts[sent]
    for sent in sample(told.traces):
        assert ask("agent_traceTransaction", sent) == told.traces[sent]
    for number in sample(told.blocks):
        block = ask("eth_getBlockByNumber", number, True)  # noqa: FBT003 - JSON-RPC has places
        assert block["hash"] == told.blocks[number]
    for account, balance in told.balances.items():
        found = ask("eth_getBalance", account, "latest")
        assert found in {balance} | told.asked_balances[account]
        told.balances[account], told.asked_balances[account] = found, set()
    head = ask("eth_getBlockByNumber", "latest", True)  # noqa: FBT003 - JSON-RPC has places
    assert int(ask("eth_blockNumber"), 16) >= int(head["number"], 16)


def check_folder(folder: Path, told: Told, checked: int) -> int:
    """Check a killed node's folder from a block on; return the head's number."""
    chain = kept_chain(LmdbRows(folder))
    try:
        assert chain.dump_accounts()
        for number in range(max(1, checked), chain.head.block_number + 1):
            check_block(chain, number, told)
        return int(chain.head.block_number)
    finally:
        chain.close()


def check_block(chain: Chain, number: int, told: Told) -> None:
    record = chain.block_with_receipts(chain.header(number))
    block = record.block
    for index, transaction in enumerate(block.transactions):
        receipt, computation = chain.replay(record, index)
        assert receipt == record.receipts[index]
        if to_hex(transaction.to) == told.agent:
            assert chain.stored_trace(transaction.hash) is not None
        if index == len(block.transactions) - 1:
            assert computation.state.make_state_root() == block.header.state_root


def started(folder: Path, mining: tuple[str, ...]) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "tests.kept_node", str(folder), *mining]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


@pytest.mark.sample(count=1, seed=0)
def test_all_that_was_acknowledged_outlives_a_kill(tmp_path: Path, sample: Sample) -> None:
    kill_nodes(tmp_path, sample)


@pytest.mark.slow
@pytest.mark.sample(count=4, seed=1)
def test_all_that_was_acknowledged_outlives_every_kill(tmp_path: Path, sample: Sample) -> None:
    kill_nodes(tmp_path, sample)


def kill_nodes(tmp_path: Path, sample: Sample) -> None:
    """Kill one node after the other under load, each with the folder of the one before."""
    chance = random.Random(sample.seed)  # noqa: S311 - moments to kill at
    told, checked, kills = Told(), 0, sample.count
    for turn in range(kills + 1):
        mining = MINING[turn % len(MINING)]
        process, url = started(tmp_path, mining)
        try:
            with closing(Connection(url)) as connection:
                check_answers(connection.ask, told, list if turn == kills else latest)
                told.agent = told.agent or deployed(connection.ask)
            load = Load(url, told, by_hand=mining == ("no", "0"), seed=turn)
            wait_for_more(told)
            time.sleep(chance.random() / 2)
            assert process.poll() is None, "the node ended by itself"
        finally:
            process.kill()
            process.communicate()
        load.ended()
        checked = check_folder(tmp_path, told, checked)
    sample.figures.update({"kills": kills + 1, "receipts": len(told.receipts), "blocks": checked})


def wait_for_more(told: Told) -> None:
    """Wait until each kind of client was answered a few times."""
    before = (len(told.receipts), len(told.traces), told.reverts)
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        now = (len(told.receipts), len(told.traces), told.reverts)
        if all(more > less for more, less in zip(now, before, strict=True)):
            return
        time.sleep(0.01)
    raise AssertionError(
        f"after {HANG_SECONDS} seconds {before} receipts, traces and reverts are {now}"
    )


def latest(many: dict[str, Any]) -> list[str]:
    """Return the last ones of many: the others were looked at after an earlier kill."""
    return list(many)[-50:]
