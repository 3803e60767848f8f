"""Two workers and a real anvil: kills, a reorganisation and a restart; each answer comes once.

Ten clients' agents ask; each run takes two requests of the scripted model. While the workers
answer, one of them is ended by `kill -9` again and again, blocks are removed by `anvil_reorg`, and
anvil is stopped and started again from its state. In the end every request was answered exactly
once, or refunded, and the oracle's wei are what its accounts may withdraw.
"""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey
from eth_utils import to_checksum_address

from pyevm_agents.oracle.codec import get_topic
from tests.clients.packages import foundry_program, without_colours
from tests.clients.running_node import RunningNode
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.oracle.oracle_chain import NOBODY, PROMPT, OracleChain

if TYPE_CHECKING:
    from pyevm_agents.oracle.messages import AgentRequest
    from tests.pyevm_agents.oracle.oracle_chain import Deployed
    from tests.samples import Sample

ROOT = Path(__file__).resolve().parents[1]
KEYS = (PrivateKey(b"\x61" * 32), PrivateKey(b"\x62" * 32))
"""Of the workers. The first one is killed."""

CLIENTS = 10
STEPS = 2
"""Requests of a run with the scripted model."""

MAX_KILLS = 10
BLOCK_SECONDS = 1
REORG_DEPTH = 4
HASHED_BLOCKS = 256
"""Blocks whose hashes BLOCKHASH gives."""

TURN_SECONDS = 8
WORKER_WEI = 10**21
ASK_GAS = 3_000_000
STALL_SECONDS = 600
"""Only a hang makes no progress for this long."""

ANSWERED = 4
"""`CallbackAgent.Status.Answered`; from it on a run has ended."""


class RestartingAnvil:
    """anvil with interval mining on one port, which can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.node = RunningNode(f"http://127.0.0.1:{self._port}")
        self._start()

    def _start(self, *options: str) -> None:
        command = [
            *(str(foundry_program("anvil", "anvil")), "--port", str(self._port)),
            *("--state", str(self._folder / "state.json"), "--preserve-historical-states"),
            *("--silent", *options),
        ]
        with (self._folder / "anvil.log").open("a") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=without_colours())
        end = time.monotonic() + HANG_SECONDS
        while True:
            try:
                self.node.ask("eth_chainId")
            except OSError:
                assert self._process.poll() is None, (self._folder / "anvil.log").read_text()
                assert time.monotonic() < end
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """End it cleanly: it writes its state."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=HANG_SECONDS)

    def restart(self) -> None:
        """Stop it and start it from its state.

        After that, BLOCKHASH gives other hashes for earlier blocks than its own blocks have (anvil
        1.7.1), so an oracle refuses all answers to earlier requests until their blocks are too old
        for BLOCKHASH.
        """
        self.stop()
        self._start("--block-time", str(BLOCK_SECONDS))
        self.node.ask("anvil_mine", hex(HASHED_BLOCKS + 1))

    def mine_at_intervals(self) -> None:
        """Mine a block each second, not one for each transaction."""
        self.node.ask("evm_setAutomine", False)  # noqa: FBT003 - JSON-RPC has places
        self.node.ask("evm_setIntervalMining", BLOCK_SECONDS)

    def mine_each(self) -> None:
        """Mine a block for each transaction again."""
        self.node.ask("evm_setIntervalMining", 0)
        self.node.ask("evm_setAutomine", True)  # noqa: FBT003 - JSON-RPC has places


class WorkerProcess:
    """A worker in a process of its own, with its store."""

    def __init__(self, url: str, oracle: str, key: PrivateKey, folder: Path, model: str) -> None:
        name = key.public_key.to_address()
        options = {"turn_seconds": TURN_SECONDS, "poll_seconds": 0.2, "model": model}
        self._command = [
            *(sys.executable, "-m", "tests.scripted_worker", url, oracle, key.to_bytes().hex()),
            *(str(folder / f"{name}.sqlite3"), json.dumps(options)),
        ]
        self._log = folder / f"{name}.log"
        self.start()

    def start(self) -> None:
        with self._log.open("a") as log:
            self.process = subprocess.Popen(self._command, cwd=ROOT, stdout=log, stderr=log)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=HANG_SECONDS)

    def require_running(self) -> None:
        assert self.process.poll() is None, self._log.read_text()[-3_000:]

    def count_events(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for line in self._log.read_text().splitlines():
            assert line.startswith("{"), self._log.read_text()[-3_000:]
            if line.endswith("}"):  # A kill may cut the last line.
                counts[json.loads(line)["event"]] += 1
        return counts


class Clients:
    """Agents with an owner each; they ask, and ask again what a reorganisation removed."""

    def __init__(self, chain: OracleChain, runs: int, model: str, iterations: int) -> None:
        self.chain = chain
        self._accounts = chain.ask("eth_accounts")[:CLIENTS]
        self.agents = [
            chain.deploy_agent(iterations=iterations, model=model) for _ in range(CLIENTS)
        ]
        self._cost = int(self.agents[0].read("costOfRun"))
        self._waiting = [index % CLIENTS for index in range(runs)]
        self._sent: dict[str, int] = {}
        """The client of each transaction that started a run."""

    def ask_some(self, count: int) -> None:
        """Start some of the runs, without waiting for them."""
        for _ in range(min(count, len(self._waiting))):
            self._ask(self._waiting.pop(0))

    def _ask(self, index: int) -> None:
        agent = self.agents[index]
        data = agent.encode("ask", PROMPT, NOBODY)
        form = {
            "from": self._accounts[index],
            "to": agent.address,
            "data": "0x" + data.hex(),
            "value": hex(self._cost),
            "gas": hex(ASK_GAS),
        }
        self._sent[self.chain.ask("eth_sendTransaction", form)] = index

    def ask_again(self) -> None:
        """Ask what the chain has lost."""
        for transaction, index in [*self._sent.items()]:
            if self.chain.ask("eth_getTransactionByHash", transaction) is None:
                del self._sent[transaction]
                self._ask(index)

    def has_started_all(self) -> bool:
        """Return whether all runs are on the chain."""
        return not self._waiting and all(
            (self.chain.ask("eth_getTransactionReceipt", each) or {}).get("status") == "0x1"
            for each in self._sent
        )

    def sum_paid(self) -> int:
        return self._cost * len(self._sent)

    def list_accounts(self) -> set[str]:
        return {to_checksum_address(each) for each in self._accounts}


def find_logs(chain: OracleChain, event: str) -> list[dict[str, Any]]:
    query = {
        "address": chain.oracle.address,
        "fromBlock": "0x0",
        "toBlock": "latest",
        "topics": ["0x" + get_topic(event).hex()],
    }
    found: list[dict[str, Any]] = chain.ask("eth_getLogs", query)
    return found


def count_over(chain: OracleChain) -> int:
    return len(find_logs(chain, "RequestAnswered")) + len(find_logs(chain, "RequestExpired"))


def read_requests(chain: OracleChain) -> list[AgentRequest]:
    return chain.find_requests({"logs": find_logs(chain, "AgentRequested")})


def check_requests(chain: OracleChain) -> tuple[int, int, int]:
    """Check that each request ended once; return requests, expired ones, and the fees earned."""
    requests = {each.commitment.request_id: each for each in read_requests(chain)}
    ended = Counter(
        int(log["topics"][1], 16)
        for event in ("RequestAnswered", "RequestExpired")
        for log in find_logs(chain, event)
    )
    assert {*ended} == {*requests}
    assert {*ended.values()} == {1}
    for request_id in requests:
        assert chain.oracle.read("commitmentOf", request_id) == bytes(32)
    answered = [int(log["topics"][1], 16) for log in find_logs(chain, "RequestAnswered")]
    fees = sum(requests[each].commitment.fee for each in answered)
    return len(requests), len(requests) - len(answered), fees


def check_money(chain: OracleChain, clients: Clients, fees: int) -> None:
    """Check that what came in is what may go out, and that it goes out."""
    workers = [key.public_key.to_checksum_address() for key in KEYS]
    claimable = {
        each: chain.oracle.read("claimable", each) for each in {*workers, *clients.list_accounts()}
    }
    balance = int(chain.ask("eth_getBalance", chain.oracle.address, "latest"), 16)
    assert sum(claimable[each] for each in workers) == fees
    assert balance == sum(claimable.values()) == clients.sum_paid()
    for account, amount in claimable.items():
        if amount:
            chain.ask("anvil_impersonateAccount", account)
            chain.ask("anvil_setBalance", account, hex(WORKER_WEI))
            data = chain.oracle.encode("withdraw", account)
            chain.send(chain.oracle.address, data, sender=account)
    assert int(chain.ask("eth_getBalance", chain.oracle.address, "latest"), 16) == 0


@pytest.mark.slow
@pytest.mark.sample(count=6, seed=21)
def test_every_request_is_answered_once(tmp_path: Path, sample: Sample) -> None:
    hurt_workers(tmp_path, sample, model="script")


@pytest.mark.slow
@pytest.mark.sample(count=2, seed=21)
def test_every_request_is_answered_once_by_the_real_model(tmp_path: Path, sample: Sample) -> None:
    hurt_workers(tmp_path, sample, model="default")


def hurt_workers(folder: Path, sample: Sample, *, model: str) -> None:
    """Let two workers answer, and kill, reorganise and restart meanwhile."""
    chance = random.Random(sample.seed)  # noqa: S311 - moments to kill at
    runs = -(-sample.count // STEPS)
    kills = max(1, min(MAX_KILLS, sample.count // STEPS // 2))
    with ExitStack() as stack:
        anvil = RestartingAnvil(folder)
        stack.callback(anvil.stop)
        chain = OracleChain(anvil.node.ask, anvil.node.url)
        for key in KEYS:
            worker = key.public_key.to_checksum_address()
            chain.ask("anvil_setBalance", worker, hex(WORKER_WEI))
            chain.oracle.send("setWorker", worker, True)  # noqa: FBT003 - an argument of a contract
        clients = Clients(chain, runs, "llama_model_3", 3)
        chain.ask("anvil_mine", hex(REORG_DEPTH))  # The reorganisation must not remove contracts.
        anvil.mine_at_intervals()
        workers = [
            WorkerProcess(chain.url, chain.oracle.address, key, folder, model) for key in KEYS
        ]
        for each in workers:
            stack.callback(each.stop)
        hurt = Disturbance(anvil, chain, workers, chance, kills=kills, runs=runs)
        progress, seen, last = time.monotonic(), -1, 0.0
        while True:
            clients.ask_some(max(1, runs // 20))
            hurt.act()
            over = count_over(chain)
            if over != seen:
                seen, progress = over, time.monotonic()
            assert time.monotonic() - progress < STALL_SECONDS, hurt.describe()
            if hurt.is_over and clients.has_started_all() and is_done(chain, clients, over):
                break
            if time.monotonic() - last > 1:
                clients.ask_again()
                last = time.monotonic()
            time.sleep(0.1)
        for each in workers:
            each.require_running()
            each.stop()
        anvil.mine_each()
        requests, expired, fees = check_requests(chain)
        check_money(chain, clients, fees)
        events = sum((each.count_events() for each in workers), Counter[str]())
    assert model != "script" or requests == runs * STEPS
    sample.figures.update(
        {
            "requests": requests,
            "expired": expired,
            "kills": kills,
            "reorganizations": 1,
            "restarts": 1,
            **{name: events[name] for name in ("computed", "signed", "resent", "removed")},
        }
    )


def is_done(chain: OracleChain, clients: Clients, over: int) -> bool:
    """Return whether all requests have ended, and with them all runs."""
    if over != len(find_logs(chain, "AgentRequested")):
        return False
    return all(has_ended(each) for each in clients.agents)


def has_ended(agent: Deployed) -> bool:
    runs = agent.read("currentRunId")
    return all(agent.read("statusOf", run) >= ANSWERED for run in range(1, runs + 1))


class Disturbance:
    """Kills, one reorganisation and one restart, spread over the progress of the runs."""

    def __init__(
        self,
        anvil: RestartingAnvil,
        chain: OracleChain,
        workers: list[WorkerProcess],
        chance: random.Random,
        *,
        kills: int,
        runs: int,
    ) -> None:
        self._anvil, self._chain, self._workers, self._chance = anvil, chain, workers, chance
        total = runs * STEPS
        self._due = sorted(
            [(total * (turn + 1) // (kills + 2), "kill") for turn in range(kills)]
            + [(total * 2 // 5, "reorganise"), (total * 7 // 10, "restart")]
        )

    @property
    def is_over(self) -> bool:
        return not self._due

    def act(self) -> None:
        """Do what is due by the number of requests that have ended."""
        if self._due and count_over(self._chain) >= self._due[0][0]:
            name = self._due.pop(0)[1]
            getattr(self, f"_{name}")()

    def describe(self) -> str:
        return "\n".join(str(each.count_events()) for each in self._workers) + f"\n{self._due}"

    def _kill(self) -> None:
        time.sleep(self._chance.random())  # At any moment of its work.
        self._workers[0].require_running()
        self._workers[0].kill()
        self._workers[0].start()

    def _reorganise(self) -> None:
        self._chain.ask("anvil_reorg", REORG_DEPTH, [])

    def _restart(self) -> None:
        self._anvil.restart()
