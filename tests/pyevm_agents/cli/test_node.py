"""The node as a process: it answers, outlives a kill, stops when told, and says what is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from pyevm_agents.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIRST, SECOND = (
    "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
)


class Running:
    """A node's process, and what it is asked."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.said: dict[str, Any] = json.loads(process.stdout.readline())

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - whatever it answers
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(self.said["url"], json.dumps(body).encode())  # noqa: S310 - a loopback address
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
            return json.load(answer)

    def result(self, method: str, *params: object) -> Any:  # noqa: ANN401 - whatever it answers
        answer = self.ask(method, *params)
        assert "result" in answer, answer
        return answer["result"]

    def send(self, value: int = 1) -> str:
        sent = {"from": FIRST, "to": SECOND, "value": hex(value), "gas": "0x5208"}
        return str(self.result("eth_sendTransaction", sent))


@contextmanager
def node(*options: str) -> Iterator[Running]:
    command = [sys.executable, "-m", "pyevm_agents", "node", "--port", "0", "--json-logs", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        try:
            yield Running(it)
        finally:
            it.kill()


def test_it_is_what_tools_expect_of_a_local_node() -> None:
    with node("--no-model") as running:
        assert running.said["chainId"] == 31_337
        assert running.result("eth_chainId") == hex(31_337)
        assert running.result("eth_accounts")[:2] == [FIRST, SECOND]
        assert int(running.result("eth_getBalance", FIRST), 16) == 10_000 * 10**18
        receipt = running.result("eth_getTransactionReceipt", running.send())
        assert (receipt["status"], receipt["blockNumber"]) == ("0x1", "0x1")
        assert running.ask("eth_nothing")["error"]["code"] == -32601


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_without_a_word(number: signal.Signals) -> None:
    with node("--no-model") as running:
        running.process.send_signal(number)
        _, said = running.process.communicate(timeout=30)
        assert (running.process.returncode, said) == (0, "")


def test_a_killed_node_goes_on_where_it_stood(tmp_path: Path) -> None:
    options = ("--no-model", "--state-dir", str(tmp_path))
    with node(*options) as running:
        sent = [running.send(n) for n in range(1, 4)]
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
    with node(*options) as running:
        assert running.result("eth_blockNumber") == "0x3"
        for transaction_hash in sent:
            assert running.result("eth_getTransactionByHash", transaction_hash)["from"] == FIRST
        assert int(running.result("eth_getTransactionCount", FIRST), 16) == 3
        running.send()
        assert running.result("eth_blockNumber") == "0x4"


def test_a_folder_has_one_node_and_one_configuration(tmp_path: Path) -> None:
    options = ("--no-model", "--state-dir", str(tmp_path))
    with node(*options):
        command = [sys.executable, "-m", "pyevm_agents", "node", "--port", "0", *options]
        other = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert other.returncode == 2
        assert "another process has the chain" in other.stderr
    runner = CliRunner()
    told = runner.invoke(main, ["node", "--port", "0", "--chain-id", "5", *options])
    assert told.exit_code == 2
    assert "chain_id is 31337 there and 5 here" in told.output
    told = runner.invoke(main, ["node", "--port", "0", "--balance", "5", *options])
    assert told.exit_code == 2
    assert "begins with block" in told.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--no-mining", "--block-time", "1"], "--no-mining and --block-time exclude each other"),
        (["--mixed-mining"], "--mixed-mining needs --block-time"),
        (["--store", "x", "--no-store"], "exclude each other"),
        (["--accounts", "0"], "0 is not in the range"),
        (["--mnemonic", "test test"], "is no mnemonic"),
        (["--port", "70000"], "70000 is not in the range"),
        (["--state-dir", "/dev/null/x"], "can't be used"),
    ],
)
def test_a_mistake_gets_one_clear_line(options: list[str], message: str) -> None:
    if "--store" not in options:
        options = ["--no-model", *options]
    told = CliRunner().invoke(main, ["node", *options])
    assert told.exit_code == 2
    assert message in told.output
    assert "Traceback" not in told.output
