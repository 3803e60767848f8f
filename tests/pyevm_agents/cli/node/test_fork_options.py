"""`node --fork-url`: the process, its options and its cache."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from click.testing import CliRunner

from pyevm_agents.chain import fork_setup
from pyevm_agents.cli.app import main
from pyevm_agents.cli.node.banner import print_json_banner
from pyevm_agents.cli.node.command import build_config
from pyevm_agents.cli.node.command import node as node_command
from pyevm_agents.cli.options.fork import FORK_OPTIONS
from pyevm_agents.config import ForkOrigin
from pyevm_agents.errors import ConfigError
from pyevm_agents.forking.options import ForkOptions, split_url
from pyevm_agents.local_node import NodeConfig, NodeUrls, open_node
from pyevm_agents.local_node.chain import build_live_chain_config
from pyevm_agents.node import MiningMode
from tests.checkout import ROOT
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
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyevm_agents.forking import RemoteFork
    from pyevm_agents.local_node import OpenNode

CALLED = "0x" + CONTRACT.hex()
FIRST = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    served = build_remote_chain()
    with fake_remote(served) as remote:
        yield remote
    served.close()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def fork(**fields: Any) -> AbstractContextManager[OpenNode]:  # noqa: ANN401 - fields of many types
    """Open a plain node without a server."""
    return open_node(NodeConfig(models=(), **fields), serve=False)


def invoke(*options: str) -> str:
    """Run the command in process; return its error message."""
    run = CliRunner().invoke(main, ["node", "--no-model", "--port", "0", *options])
    assert run.exit_code != 0
    return run.output


def test_a_node_continues_a_remote_chain_and_starts_again_without_it(
    remote: FakeRemote, capsys: pytest.CaptureFixture[str]
) -> None:
    with fork(live_chain=remote.url) as node:
        chain = remote.served.node.chain
        print_json_banner(node, NodeUrls(http=""), ())
        forked = json.loads(capsys.readouterr().out)["forked"]
        assert forked == {
            "host": remote.url.split("/")[2],
            "chainId": 31_337,
            "blockNumber": 3,
            "blockHash": "0x" + chain.head.hash.hex(),
            "isVerified": True,
        }
        assert node.request("eth_getStorageAt", CALLED, "0x7") == f"0x{STORED:064x}"
        assert node.request("eth_getBalance", FIRST) == hex(10_000 * 10**18)
        block = node.request("eth_getBlockByNumber", "0x1")
        assert block == remote.served.ask("eth_getBlockByNumber", "0x1")
        info = node.request("anvil_nodeInfo")["forkConfig"]
        host = f"http://{forked['host']}"
        assert info == {"forkUrl": host, "forkBlockNumber": 3, "forkRetryBackoff": 500}
        network = node.request("hardhat_metadata")["forkedNetwork"]
        assert (network["chainId"], network["forkBlockNumber"]) == (31_337, 3)
        assert network["forkBlockHash"] == forked["blockHash"]
        sent = {"from": FIRST, "to": FIRST, "value": "0x1", "gas": "0x5208"}
        node.request("eth_sendTransaction", sent)
        assert node.request("eth_blockNumber") == "0x4"
        node.request("hardhat_reset")
        assert node.request("eth_blockNumber") == "0x3"
    remote.forget()
    with fork(live_chain=f"{remote.url}@3", chain_id=5) as node:
        assert node.request("eth_chainId") == "0x5"
        assert node.request("eth_getStorageAt", CALLED, "0x7") == f"0x{STORED:064x}"
        assert node.request("eth_getBlockByNumber", "0x1") == block
        assert remote.asked == []


def test_a_base_fee_is_that_of_the_forks_first_own_block(remote: FakeRemote) -> None:
    with fork(live_chain=remote.url, base_fee_wei=0) as node:
        before = node.request("eth_getBlockByNumber", "latest")["baseFeePerGas"]
        node.request("evm_mine")
        after = node.request("eth_getBlockByNumber", "latest")["baseFeePerGas"]
        assert (before != "0x0", after) == (True, "0x0")


def test_a_fork_without_a_cache_writes_no_file(remote: FakeRemote, tmp_path: Path) -> None:
    with fork(live_chain=ForkOptions(url=remote.url, is_cached=False)) as node:
        assert node.request("eth_blockNumber") == "0x3"
    assert not (tmp_path / "pyevm-agents").exists()


def test_a_reset_forks_another_block(remote: FakeRemote) -> None:
    with fork(mining=MiningMode(is_automatic=False)) as node:
        assert node.request("hardhat_metadata")["forkedNetwork"] is None
        instance = node.request("anvil_metadata")["instanceId"]
        pending = node.request("eth_newBlockFilter")
        node.request("eth_sendTransaction", {"from": FIRST, "to": FIRST, "gas": "0x5208"})
        forking = {"jsonRpcUrl": remote.url, "blockNumber": 1}
        node.request("hardhat_reset", {"forking": forking})
        assert node.request("eth_blockNumber") == "0x1"
        assert node.request("eth_pendingTransactions") == []
        assert node.request("anvil_metadata")["instanceId"] != instance
        assert node.request("eth_getStorageAt", CALLED, "0x7") == f"0x{0:064x}"
        assert node.request("eth_getBalance", FIRST) == hex(10_000 * 10**18)
        node.request("anvil_reset", {"forking": {}})
        assert node.request("eth_blockNumber") == "0x3"
        for flat, number in (
            ({"blockNumber": 2}, "0x2"),
            (forking, "0x1"),
            ({"blockNumber": "0x3"}, "0x3"),
        ):
            node.request("anvil_reset", flat)
            assert node.request("eth_blockNumber") == number
        node.request("evm_mine")
        assert len(node.request("eth_getFilterChanges", pending)) == 1


def test_the_chain_of_a_fork_is_stored(remote: FakeRemote, tmp_path: Path) -> None:
    kept = {"live_chain": f"{remote.url}@3", "state_dir": tmp_path / "chain"}
    with fork(**kept) as node:
        node.request("anvil_setBalance", "0x" + ADDRESSES[1].hex(), "0x99")
        node.request("evm_mine")
    with fork(**kept) as node:
        assert node.request("eth_blockNumber") == "0x4"
        assert node.request("eth_getBalance", "0x" + ADDRESSES[1].hex()) == "0x99"
    with (
        pytest.raises(ConfigError, match="a fork of chain 31337 at block 3"),
        fork(state_dir=tmp_path / "chain"),
    ):
        pass


@pytest.mark.parametrize("kept", ["state", "state of a folder", "load and dump", "with a folder"])
@pytest.mark.parametrize("names_block", [True, False])
def test_the_state_of_a_fork_goes_on_at_each_start(
    remote: FakeRemote, tmp_path: Path, kept: str, names_block: bool
) -> None:
    """Without a block number the fork stays at its block while the remote chain grows."""
    file = tmp_path / "state.json"
    (tmp_path / "other").mkdir()
    options = {
        "state": ["--state", str(file)],
        "state of a folder": ["--state", str(tmp_path)],
        "load and dump": ["--dump-state", str(file)],
        "with a folder": ["--state", str(file), "--state-dir", str(tmp_path / "chain")],
    }[kept]
    options += [
        "--no-model",
        "--fork-url",
        remote.url,
        *["--fork-block-number", "3"][: 2 * names_block],
    ]
    other = "0x" + ADDRESSES[1].hex()
    seen: dict[str, str] = {}
    for start in range(1, 4):
        with _open_command(options) as node:
            assert _read_chain(node) == (seen or _read_chain(node)), start
            node.request("eth_sendTransaction", {"from": FIRST, "to": other, "value": "0x7"})
            seen = _read_chain(node)
            assert seen["number"] == hex(3 + start)
        if kept == "load and dump" and start == 1:
            options += ["--load-state", str(file)]
        remote.served.node.mine()


def _read_chain(node: OpenNode) -> dict[str, str]:
    """Return what must be the same after a restart."""
    head = node.request("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC
    return {
        **{name: head[name] for name in ("number", "timestamp", "baseFeePerGas")},
        "nonce": node.request("eth_getTransactionCount", FIRST),
        "balance": node.request("eth_getBalance", FIRST),
    }


@contextmanager
def _open_command(options: list[str]) -> Iterator[OpenNode]:
    """Open the node of a command line without a server."""
    with node_command.make_context("node", [*options]) as context:
        url, number = context.params["fork_url"], context.params["fork_block_number"]
        live_chain = ForkOptions.from_text(url)
        if number is not None:
            live_chain = replace(live_chain, block_number=number)
        config = build_config(context, live_chain)
        with open_node(config, serve=False) as opened:
            yield opened


def test_the_state_of_another_block_is_refused_without_options_that_were_not_given(
    remote: FakeRemote, tmp_path: Path
) -> None:
    file = str(tmp_path / "state.json")
    with _open_command(["--no-model", "--fork-url", f"{remote.url}@3", "--state", file]) as node:
        node.request("evm_mine")
    for options in (["--fork-url", remote.url, "--fork-block-number", "2"], []):
        output = " ".join(invoke("--state", file, *options).split())
        assert f"state file {file}: state dump of a fork of chain 31337 at block 3" in output
        assert "load it into a fork of block 3" in output
        assert "--load-state" not in output
        assert "--state-dir" not in output


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
