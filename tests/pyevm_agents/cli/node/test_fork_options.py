"""`node --fork-url`: the process, its options and its cache."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from click.testing import CliRunner

from pyevm_agents.chain import fork_setup
from pyevm_agents.cli.app import main
from pyevm_agents.cli.node.command import node as node_command
from pyevm_agents.cli.options.fork import FORK_OPTIONS
from pyevm_agents.config import ForkOrigin
from pyevm_agents.forking.options import split_url
from pyevm_agents.local_node import NodeConfig
from pyevm_agents.local_node.chain import build_live_chain_config
from tests.checkout import ROOT
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.forking.fake_remote import (
    CONTRACT,
    STORED,
    FakeRemote,
    build_remote_chain,
    fake_remote,
)
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.forking import RemoteFork

CALLED = "0x" + CONTRACT.hex()
FIRST = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    served = build_remote_chain()
    with fake_remote(served) as remote:
        yield remote
    served.close()


class Running:
    """A node's process, its first line, and requests to it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        self.banner: dict[str, Any] = json.loads(line)

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(self.banner["url"], json.dumps(body).encode())  # noqa: S310 - a loopback address
        with urllib.request.urlopen(request, timeout=HANG_SECONDS) as response:  # noqa: S310 - as above
            answer = json.load(response)
        assert "result" in answer, answer
        return answer["result"]


@contextmanager
def fork(cache: Path, *options: str) -> Iterator[Running]:
    """Run a plain node with a cache folder of its own."""
    command = [sys.executable, "-m", "pyevm_agents", "node", "--port", "0", "--json-logs"]
    with subprocess.Popen(
        [*command, "--no-model", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"XDG_CACHE_HOME": str(cache), "PATH": ""},
    ) as process:
        try:
            yield Running(process)
        finally:
            process.kill()


def invoke(*options: str) -> str:
    """Run the command in process; return its error message."""
    run = CliRunner().invoke(main, ["node", "--no-model", "--port", "0", *options])
    assert run.exit_code != 0
    return run.output


@pytest.mark.slow
def test_a_node_continues_a_remote_chain_and_starts_again_without_it(
    remote: FakeRemote, tmp_path: Path
) -> None:
    with fork(tmp_path, "--fork-url", remote.url) as node:
        chain = remote.served.node.chain
        assert node.banner["forked"] == {
            "host": remote.url.split("/")[2],
            "chainId": 31_337,
            "blockNumber": 3,
            "blockHash": "0x" + chain.head.hash.hex(),
            "isVerified": True,
        }
        assert node.ask("eth_getStorageAt", CALLED, "0x7") == f"0x{STORED:064x}"
        assert node.ask("eth_getBalance", FIRST) == hex(10_000 * 10**18)
        block = node.ask("eth_getBlockByNumber", "0x1")
        assert block == remote.served.ask("eth_getBlockByNumber", "0x1")
        info = node.ask("anvil_nodeInfo")["forkConfig"]
        host = f"http://{node.banner['forked']['host']}"
        assert info == {"forkUrl": host, "forkBlockNumber": 3, "forkRetryBackoff": 500}
        network = node.ask("hardhat_metadata")["forkedNetwork"]
        assert (network["chainId"], network["forkBlockNumber"]) == (31_337, 3)
        assert network["forkBlockHash"] == node.banner["forked"]["blockHash"]
        sent = {"from": FIRST, "to": FIRST, "value": "0x1", "gas": "0x5208"}
        node.ask("eth_sendTransaction", sent)
        assert node.ask("eth_blockNumber") == "0x4"
        node.ask("hardhat_reset")
        assert node.ask("eth_blockNumber") == "0x3"
    remote.forget()
    with fork(tmp_path, "--fork-url", f"{remote.url}@3", "--chain-id", "5") as node:
        assert node.ask("eth_chainId") == "0x5"
        assert node.ask("eth_getStorageAt", CALLED, "0x7") == f"0x{STORED:064x}"
        assert node.ask("eth_getBlockByNumber", "0x1") == block
        assert remote.asked == []
    with fork(tmp_path / "empty", "-f", remote.url, "--no-fork-cache") as node:
        assert node.ask("eth_blockNumber") == "0x3"
    assert not (tmp_path / "empty").exists()


@pytest.mark.slow
def test_a_reset_forks_another_block(remote: FakeRemote, tmp_path: Path) -> None:
    with fork(tmp_path, "--no-mining") as node:
        assert node.ask("hardhat_metadata")["forkedNetwork"] is None
        instance = node.ask("anvil_metadata")["instanceId"]
        pending = node.ask("eth_newBlockFilter")
        node.ask("eth_sendTransaction", {"from": FIRST, "to": FIRST, "gas": "0x5208"})
        forking = {"jsonRpcUrl": remote.url, "blockNumber": 1}
        node.ask("hardhat_reset", {"forking": forking})
        assert node.ask("eth_blockNumber") == "0x1"
        assert node.ask("eth_pendingTransactions") == []
        assert node.ask("anvil_metadata")["instanceId"] != instance
        assert node.ask("eth_getStorageAt", CALLED, "0x7") == f"0x{0:064x}"
        assert node.ask("eth_getBalance", FIRST) == hex(10_000 * 10**18)
        node.ask("anvil_reset", {"forking": {}})
        assert node.ask("eth_blockNumber") == "0x3"
        node.ask("evm_mine")
        assert len(node.ask("eth_getFilterChanges", pending)) == 1


@pytest.mark.slow
def test_the_chain_of_a_fork_is_stored(remote: FakeRemote, tmp_path: Path) -> None:
    options = ("--fork-url", remote.url, "--fork-block-number", "3")
    folder = ("--state-dir", str(tmp_path / "chain"))
    with fork(tmp_path, *options, *folder) as node:
        node.ask("anvil_setBalance", "0x" + ADDRESSES[1].hex(), "0x99")
        node.ask("evm_mine")
    with fork(tmp_path, *options, *folder) as node:
        assert node.ask("eth_blockNumber") == "0x4"
        assert node.ask("eth_getBalance", "0x" + ADDRESSES[1].hex()) == "0x99"
    assert "a fork of chain 31337 at block 3" in invoke(*folder)


@pytest.mark.slow
def test_the_banner_names_the_remote_without_its_key(remote: FakeRemote, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pyevm_agents", "node", "--port", "0", "--no-model"]
    with subprocess.Popen(
        [*command, "--fork-url", remote.url],
        stdout=subprocess.PIPE,
        text=True,
        env={"XDG_CACHE_HOME": str(tmp_path), "PATH": ""},
    ) as process:
        lines: list[str] = []
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Listening"):
                process.kill()
    text = "".join(lines)
    assert f"forked    chain 31337 at {remote.url.split('/')[2]}, block 3" in text
    assert "state verified by Merkle proofs; earlier blocks unverified" in text
    assert "S3CR3T" not in text
    assert "T0KEN" not in text


def test_an_unreachable_remote_is_an_error_without_its_key() -> None:
    output = invoke("--fork-url", "http://127.0.0.1:1/v2/S3CR3T", "--fork-retries", "0")
    assert "connection refused (after 1 try)" in output
    assert "S3CR3T" not in output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fork-block-number", "3"], "--fork-block-number needs --fork-url"),
        (["--no-fork-cache"], "--no-fork-cache needs --fork-url"),
        (["-f", "http://x", "--fixture", "nested"], "exclude each other"),
        (["-f", "http://x", "--timestamp", "5"], "exclude each other"),
        (["-f", "wss://x/S3CR3T"], "must be an HTTP URL"),
        (["-f", "http://x", "--fork-timeout", "0"], "0.0 is not in the range x>0"),
        (["--fork-transaction-hash", "0x00"], "unsupported option --fork-transaction-hash"),
    ],
)
def test_options_that_do_not_fit_are_errors(options: list[str], message: str) -> None:
    output = " ".join(re.sub(r"[^\x20-\x7e]", " ", invoke(*options)).split())
    assert message in output
    assert "S3CR3T" not in output


def test_the_hard_fork_is_that_of_the_block_unless_it_is_given() -> None:
    seconds = fork_setup.ACTIVATIONS_SECONDS[1]["osaka"]
    origin = ForkOrigin(chain_id=1, block_number=9, block_hash=bytes(32))
    header = SimpleNamespace(timestamp=seconds, gas_limit=60_000_000)
    block = cast("RemoteFork", SimpleNamespace(origin=origin, header=header))
    found = build_live_chain_config(NodeConfig(), block)
    assert (found.fork, found.chain_id, found.block_gas_limit) == ("osaka", 1, 60_000_000)
    own = build_live_chain_config(NodeConfig(fork_name="prague", chain_id=31_337), block)
    assert (own.fork, own.chain_id) == ("prague", 31_337)


PAGE = (ROOT / "docs" / "forks.md").read_text("utf-8")


def test_the_page_has_every_option_and_its_commands_parse() -> None:
    names = {
        option
        for parameter in node_command.params
        if parameter.name in {"fork_url", *FORK_OPTIONS}
        for option in parameter.opts
    }
    assert {name for name in names if f"`{name}" not in PAGE} == {"--retries"}
    commands = re.findall(r"^pyevm-agents node (.*?)(?: +#.*)?$", PAGE, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert node_command.make_context("node", shlex.split(command)).params["fork_url"]


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("http://host:1@22", ("http://host:1", 22)),
        ("http://host/key@0", ("http://host/key", 0)),
        ("http://user:pass@host", ("http://user:pass@host", None)),
        ("http://user:pass@host@5", ("http://user:pass@host", 5)),
        ("host@5", ("host@5", None)),
        (None, (None, None)),
    ],
)
def test_a_url_may_name_a_block(text: str | None, split: tuple[str | None, int | None]) -> None:
    assert split_url(text) == split
