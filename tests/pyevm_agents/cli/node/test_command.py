"""The node as a process: it serves, survives a kill, stops on a signal, and reports errors."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from web3 import IPCProvider, Web3
from web3.types import Wei

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain.database import CONFIG_KEY, pool_key
from pyevm_agents.chain.lmdb import LmdbRows
from pyevm_agents.cli.app import main
from pyevm_agents.cli.node.anvil_options import build_ignored_options
from pyevm_agents.cli.node.command import build_config
from pyevm_agents.cli.node.command import node as node_command
from pyevm_agents.config import ChainConfig
from pyevm_agents.config.chain_config import VERSION
from pyevm_agents.config.schedule_file import parse_short_prices
from pyevm_agents.local_node import NodeConfig, open_node
from pyevm_agents.model_registry.registry import ModelChoice
from pyevm_agents.models import NO_ADAPTER
from pyevm_agents.node import MiningMode
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.server import Server
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FIRST, SECOND = (
    "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
)


class Running:
    """A node's process, and requests to it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.said: dict[str, Any] = json.loads(process.stdout.readline())

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - whatever it answers
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(self.said["url"], json.dumps(body).encode())  # noqa: S310 - a loopback address
        with urllib.request.urlopen(request, timeout=HANG_SECONDS) as answer:  # noqa: S310 - as above
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


@pytest.fixture(scope="module")
def plain() -> Iterator[Running]:
    """A node without options, for the tests that leave it as a node."""
    with node("--no-model") as running:
        yield running


def is_taken(port: int) -> bool:
    """Return whether a process listens there."""
    with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 30):
        return True
    return False


def test_it_is_what_tools_expect_of_a_local_node(plain: Running) -> None:
    assert plain.said["chainId"] == 31_337
    assert plain.result("eth_chainId") == hex(31_337)
    assert plain.result("eth_accounts")[:2] == [FIRST, SECOND]
    assert int(plain.result("eth_getBalance", FIRST, "0x0"), 16) == 10_000 * 10**18
    number = int(plain.result("eth_blockNumber"), 16)
    receipt = plain.result("eth_getTransactionReceipt", plain.send())
    assert (receipt["status"], receipt["blockNumber"]) == ("0x1", hex(number + 1))
    assert plain.ask("eth_nothing")["error"]["code"] == -32601


def test_salted_contracts_find_their_deployer(plain: Running) -> None:
    deployer = "0x4e59b44847b379578588920ca78fbf26c0b4956c"
    salt, creation = "07" * 32, "6001600c60003960016000f300"  # A contract whose code is STOP.
    made = plain.result("eth_call", {"to": deployer, "data": "0x" + salt + creation})
    sent = {"from": FIRST, "to": deployer, "data": "0x" + salt + creation}
    plain.result("eth_sendTransaction", sent)
    assert plain.result("eth_getCode", made) == "0x00"


def test_hashes_of_blocks_long_ago_are_in_the_history_contract(plain: Running) -> None:
    """EIP-2935: BLOCKHASH reaches 256 blocks back, the contract 8,191."""
    history = "0x0000f90827f1c53a10cb7a02335b175320002935"
    plain.result("anvil_mine", hex(300))
    asked = plain.result("eth_call", {"to": history, "data": f"0x{5:064x}"})
    assert asked == plain.result("eth_getBlockByNumber", "0x5", False)["hash"]  # noqa: FBT003 - JSON-RPC has places
    assert plain.ask("eth_call", {"to": history, "data": f"0x{4_000:064x}"})["error"]["code"] == 3


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


def test_a_killed_node_that_keeps_nothing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with node("--no-model") as running:
        for n in range(1, 4):
            running.send(n)
        running.process.kill()
        running.process.wait()
    assert not [*tmp_path.iterdir()]


def test_a_folder_has_one_node_and_one_configuration(tmp_path: Path) -> None:
    options = ("--no-model", "--state-dir", str(tmp_path))
    runner = CliRunner()
    with node(*options):
        told = runner.invoke(main, ["node", "--port", "0", *options])
        assert told.exit_code == 2
        assert "another process has the chain" in told.output
    told = runner.invoke(main, ["node", "--port", "0", "--chain-id", "5", *options])
    assert told.exit_code == 2
    assert "chain_id is 31337 there and 5 here" in told.output
    told = runner.invoke(main, ["node", "--port", "0", "--balance", "5", *options])
    assert told.exit_code == 2
    assert "has genesis block" in told.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--no-mining", "--block-time", "1"], "--no-mining and --block-time exclude each other"),
        (["--mixed-mining"], "--mixed-mining needs --block-time"),
        (["--store", "x", "--no-store"], "exclude each other"),
        (["--accounts", "0"], "0 is not in the range"),
        (["--mnemonic", "test test"], "is not a mnemonic"),
        (["--port", "70000"], "70000 is not in the range"),
        (["--state-dir", "/dev/null/x"], "can't be used"),
        (
            ["--fork-name", "amsterdam"],
            "'amsterdam' is not one of 'cancun', 'prague', 'osaka', 'bpo1', 'bpo2', 'latest'",
        ),
        (["--load-state", "{empty}/none/x"], "can't be read: No such file"),
        (
            ["--dump-state", "{empty}/none/x"],
            "can't be written: No such file or directory; pass another file",
        ),
        (["--state", "x", "--dump-state", "y"], "--state and --dump-state exclude each other"),
        (["--fixture", "nope"], "unknown fixture 'nope': must be one of callback, council, loan"),
        (["--fixture", "wallet_agent", "--chain-id", "5"], "--fixture and --chain-id exclude"),
        (["--schedule", "cold=5"], "--no-model and --schedule exclude"),
        (["--schedule", "{empty}/none"], "/none: the file can't be read: No such file"),
        (["--schedule", "output=0"], "output_token_gas is 0; choose from 1"),
        (["--quiet", "--json-logs"], "--quiet and --json-logs exclude"),
        (["--host", "1.2.3.4"], "not an address of this machine"),
        (
            ["--state-interval", "5"],
            "unsupported option --state-interval: --state-dir stores every",
        ),
        (["--chainid", "5"], "--chain-id'?"),
        (["--chain_ID", "5"], "Did you mean '--chain-id'?"),
        (["--step-tracing"], "Did you mean '--steps-tracing'?"),
        (["--memory-limits", "5"], "Did you mean '--memory-limit'?"),
        (["--gas-price", "much"], "'much' is not a valid integer"),
        (["--network", "optimism"], "'optimism' is not 'ethereum'"),
        (["--disable-block-gas-limit", "--gas-limit", "50000000"], "exclude each other"),
        (["--mnemonic-random", "13"], "'13' is not one of '12', '15', '18', '21', '24'"),
        (["--mnemonic-random", "--mnemonic", "x"], "--mnemonic-random and --mnemonic exclude"),
        (["--order", "price"], "'price' is not one of 'fees', 'fifo'"),
        (["--code-size-limit", "24575"], "24575 is not in the range 24576<=x<=1048576"),
        (["--config-out", "{empty}/none/x"], "config file {empty}/none/x can't be written"),
        (["--derivation-path", "x"], "must be a BIP-32 path, such as m/44'/60'/0'/0"),
        (["--init", "{empty}/none"], "can't be read: No such file"),
    ],
)
def test_a_mistake_gets_one_clear_line(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A node that should not have begun would run on.
    monkeypatch.setattr(Server, "wait_stopped", lambda _: pytest.fail("the mistake went unnoticed"))
    options = [option.replace("{empty}", str(tmp_path)) for option in options]
    if "--store" not in options:
        options = ["--no-model", *options]
    told = CliRunner().invoke(main, ["node", *options])
    assert told.exit_code == 2
    assert message.replace("{empty}", str(tmp_path)) in " ".join(told.output.split())
    assert "Traceback" not in told.output


VALUES = {"--color": "never", "--cache-path": "x", "--network": "ethereum"}


def test_options_of_anvil_without_an_effect_cost_a_line_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The node starts with all of them, and with what wrappers of anvil always pass."""
    ignored = [option for option in build_ignored_options() if "--gas-price" not in option.opts]
    given = [
        part
        for option in ignored
        for part in (option.opts[-1], VALUES.get(option.opts[0], "7"))[
            : 1 if option.is_flag or option.count else 2
        ]
    ]
    given += ["--network", "ethereum", "--gas-price", "5", "--gas-price", "6"]

    async def stop_at_once(_: Server) -> None:
        return None

    monkeypatch.setattr(Server, "wait_stopped", stop_at_once)
    run = CliRunner().invoke(main, ["node", "--no-model", "-p", "0", *given])
    assert run.exit_code == 0, run.output
    lines = run.stderr.splitlines()
    assert [line.split()[:2] for line in lines] == [
        *(["Warning:", option.opts[0]] for option in ignored),
        ["Warning:", "--gas-price"],
    ]
    assert all(re.fullmatch(r"Warning: -\S+ has no effect: .+", line) for line in lines)
    quiet = CliRunner().invoke(main, ["node", "--no-model", "-p", "0", "--quiet", *given])
    assert (quiet.exit_code, quiet.output) == (0, "")


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ([], {}),
        (["-p", "0", "--host", "::1", "--no-ui"], {"port": 0, "host": "::1", "serves_page": False}),
        (["--ipc"], {"ipc_path": Path("/tmp/anvil.ipc")}),  # noqa: S108 - anvil's
        (["--chain-id", "5", "--gas-limit", "40000000"], {"chain_id": 5, "gas_limit": 40_000_000}),
        (["-a", "2", "--balance", "3"], {"accounts": 2, "balance_ether": 3}),
        (["-m", "x", "--derivation-path", "m/1"], {"mnemonic": "x", "derivation_path": "m/1"}),
        (["--block-time", "2"], {"mining": MiningMode(is_automatic=False, interval_seconds=2)}),
        (["-b", "2", "--mixed-mining"], {"mining": MiningMode(interval_seconds=2)}),
        (["--no-mining"], {"mining": MiningMode(is_automatic=False)}),
        (["--order", "fifo", "--auto-impersonate"], {"order": "fifo", "impersonates_all": True}),
        (["--code-size-limit", "30000"], {"code_size_bytes": 30_000}),
        (["--disable-code-size-limit"], {"code_size_bytes": 2**20}),
        (["--disable-block-gas-limit"], {"gas_limit": 10**12}),
        (
            ["--auto-unlock", "--block-gas-limit", "6000"],
            {"impersonates_all": True, "gas_limit": 6_000},
        ),
        (["--jobs", "0", "--network", "ethereum"], {}),
        (["--base-fee", "7", "--timestamp", "8"], {"base_fee_wei": 7, "timestamp_seconds": 8}),
        (["--hardfork", "Cancun"], {"fork_name": "cancun"}),
        (["--fork-name", "latest"], {"fork_name": "prague"}),
        (["--init", "g.json"], {"genesis": Path("g.json")}),
        (["--registries"], {"registries": "testnet"}),
        (["--no-create2"], {"has_create2_deployer": False}),
        (["--throw-on-failure"], {"throws_on_failure": True}),
        (["--schedule", "cold=5"], {"schedule": parse_short_prices({"cold": 5})}),
        (["--fixture", "nested"], {"fixture": "nested"}),
        (["--no-model"], {"models": ()}),
        (["--model", "x.gguf"], {"models": (ModelChoice(path="x.gguf"),)}),
        (["--adapter", "none"], {"models": (ModelChoice(adapter=NO_ADAPTER),)}),
        (["--numeric-model", "risk"], {"numeric_models": {"risk": "risk"}}),
        (["-j", "2", "--no-store"], {"threads": 2, "store_path": ":memory:"}),
        (["--store", "x"], {"store_path": Path("x")}),
        (
            ["--state-dir", "x", "--load-state", "y"],
            {"state_dir": Path("x"), "load_path": Path("y")},
        ),
        (["--state", "none"], {"dump_path": Path("none")}),
        (
            ["--dump-state", "x", "--config-out", "y"],
            {"dump_path": Path("x"), "config_path": Path("y")},
        ),
        (
            ["--call-gas-cap", "9000000", "--call-timeout", "2"],
            {"call_gas": 9_000_000, "call_seconds": 2},
        ),
        (["--trace-memory", "1"], {"trace_bytes": 2**20}),
        (
            ["--allow-origin", "*", "--allow-host", "x"],
            {"allowed_origins": ("*",), "allowed_hosts": ("x",)},
        ),
        (["--artifacts", "x"], {"artifacts": (Path("x"),)}),
        (["--quiet", "--mnemonic-random"], {}),
    ],
)
def test_options_are_fields_of_the_config(options: list[str], fields: Mapping[str, Any]) -> None:
    """Without options the config is the default one."""
    with node_command.make_context("node", options) as context:
        assert build_config(context, None) == NodeConfig(**fields)


def test_a_taken_port_is_told_with_what_to_do(plain: Running) -> None:
    port = plain.said["url"].rsplit(":", 1)[1]
    told = CliRunner().invoke(main, ["node", "--no-model", "-p", port])
    assert told.exit_code == 2
    assert (
        f"cannot listen on 127.0.0.1:{port}: the port is in use: stop the other program"
        in told.output
    )


def test_a_node_that_does_not_start_leaves_the_files_of_its_state(
    plain: Running, tmp_path: Path
) -> None:
    dumped, state = tmp_path / "dump.json", tmp_path / "state.json"
    with open_node(NodeConfig(models=(), dump_path=state), serve=False):
        pass
    dumped.write_text("PRECIOUS")
    contents = [dumped.read_bytes(), state.read_bytes()]
    port = plain.said["url"].rsplit(":", 1)[1]
    for option in (["--dump-state", str(dumped)], ["--state", str(state)]):
        told = CliRunner().invoke(main, ["node", "--no-model", "-p", port, *option])
        assert told.exit_code == 2
        assert "the port is in use" in told.output
    assert [dumped.read_bytes(), state.read_bytes()] == contents


def test_a_random_mnemonic_and_the_file_of_the_accounts(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    options = ["--mnemonic-random", "15", "--config-out", str(path), "--accounts", "2"]
    with node("--no-model", *options) as running:
        form = json.loads(path.read_text())
        assert path.stat().st_mode & 0o777 == 0o600
        assert running.result("eth_accounts") == form["available_accounts"]
        assert running.result("eth_gasPrice") == hex(int(form["gas_price"]))
        words = form["wallet"]["mnemonic"]
        assert len(words.split()) == 15
        assert running.said["notes"] == [f"Mnemonic: {words}"]
    assert form["wallet"]["derivation_path"] == "m/44'/60'/0'/0/"
    assert form["private_keys"] == [str(key) for key in derive_keys(words, 2)]
    assert (form["base_fee"], form["gas_limit"]) == ("1000000000", "30000000")


def test_web3_connects_by_ipc() -> None:
    # The path of a socket has at most 108 bytes.
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/node.ipc"
        with node("--no-model", "--ipc", path) as it:
            assert it.said["ipc"] == path
            provider = IPCProvider(path, timeout=HANG_SECONDS)
            web3 = Web3(provider)
            assert web3.eth.chain_id == 31_337
            assert provider._socket is not None  # noqa: SLF001 - web3.py never closes it
            assert provider._socket.sock is not None  # noqa: SLF001 - as above
            with closing(provider._socket.sock):  # noqa: SLF001 - as above
                first, second = map(Web3.to_checksum_address, (FIRST, SECOND))
                sent = web3.eth.send_transaction({"from": first, "to": second, "value": Wei(5)})
                assert web3.eth.wait_for_transaction_receipt(sent)["status"] == 1
                assert it.result("eth_blockNumber") == "0x1"


@pytest.mark.slow
def test_a_pool_comes_back_after_a_kill_and_the_start_reports_it(tmp_path: Path) -> None:
    folder = ("--no-model", "--state-dir", str(tmp_path))
    with node(*folder, "--no-mining") as running:
        assert running.said["notes"] == []
        sent = [running.send() for _ in range(2)]
        running.process.kill()
        running.process.wait(HANG_SECONDS)
    with closing(LmdbRows(tmp_path)) as rows:
        rows.write({pool_key(bytes(20), 7): b"damaged"})
    with node(*folder, "--no-mining") as running:
        restored, damaged = running.said["notes"]
        assert restored == "Restored 2 transactions of the pool from the last run."
        assert damaged.startswith("Skipped a damaged row of the pool's journal, nonce 7 of 0x0000")
        for one in sent:
            assert running.result("eth_getTransactionByHash", one)["hash"] == one
        running.result("evm_mine")
        for one in sent:
            assert running.result("eth_getTransactionReceipt", one)["status"] == "0x1"


@pytest.mark.slow
def test_what_is_dumped_at_the_end_is_loaded_at_the_start(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    for sent in (1, 2):
        with node("--no-model", "--state", str(state)) as running:
            running.send(5)
            assert running.result("eth_blockNumber") == hex(sent)
            assert running.result("eth_getBalance", SECOND) == hex(10_000 * 10**18 + 5 * sent)
            running.process.send_signal(signal.SIGINT)
            said, errors = running.process.communicate(timeout=HANG_SECONDS)
            assert (running.process.returncode, errors) == (0, "")
        notes = [json.loads(line) for line in said.splitlines()][-2:]
        assert notes[0]["text"].startswith(f"State written to {state}, ")
        assert notes[1] == {"event": "note", "text": "Stopped."}
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "not a state dump: must be a JSON object"),
        (b'{"format": "geth"}', "state dump format 'geth'"),
        (b'{"block": {"number": 5}, "accounts": {}}', "block.timestamp None"),
        (b"\x1f\x8bxx", "truncated or damaged"),
    ],
)
def test_what_is_no_state_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "state.json"
    file.write_bytes(content)
    command = ["node", "--no-model", "-p", "0", "--load-state", str(file)]
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 2
    assert message in told.output
    assert file.read_bytes() == content


def test_a_kept_chain_of_version_1_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with closing(LmdbRows(tmp_path)) as rows:
        text = ChainConfig().to_json().replace(f',"version":{VERSION}', "")
        rows.write({CONFIG_KEY: text.encode()})
    told = CliRunner().invoke(main, ["node", "--no-model", "-p", "0", "--state-dir", str(tmp_path)])
    assert told.exit_code == 2
    words = " ".join(told.output.split())
    assert "chain configuration of version 1: this version of pyevm-agents has version" in words
    assert "a kept chain in another folder" in words


def instruction(to: str, text: str) -> dict[str, str]:
    data = load_artifact("WalletAgent").encode_call("instruct", text)
    return {"from": FIRST, "to": to, "data": "0x" + data.hex()}


FREE = ("--model", "smollm2-135m-free")
"""A model in the free format, each of whose steps is an inference."""


@pytest.fixture(scope="module")
def free_wallet(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A recorded chain of that model with a wallet's agent."""
    file = tmp_path_factory.mktemp("free") / "wallet.json"
    done = CliRunner().invoke(main, ["demo", "--no-store", *FREE, "--record", str(file)])
    assert done.exit_code == 0, done.output
    return str(file)


@pytest.mark.slow
def test_a_model_says_what_a_fixture_did_not_and_its_steps_are_logged(
    free_wallet: str,
) -> None:
    """With a real model: steps are logged while it works, and abandoned at the second signal."""
    with node("--fixture", free_wallet, *FREE, "--no-store") as running:
        (agent,) = running.said["agents"]
        assert running.result("agent_setScript", [{"answer": "Mocked."}])
        assert running.result("agent_clearScript") is True
        asked = instruction(agent, "Withdraw 5 DAI")
        running.result("eth_call", asked)
        stdout = running.process.stdout
        assert stdout is not None
        lines = (json.loads(line) for line in stdout)
        steps = [one for one in itertools.takewhile(_is_not_answered, lines) if "kind" in one]
        kinds = [one["kind"] for one in steps]
        assert kinds[0] == "start"
        assert kinds.index("reading") < kinds.index("writing") < kinds.index("tool")
        assert kinds[-2:] == ["answer", "end"]
        assert {one["source"] for one in steps} == {"call"}
        port = int(running.said["url"].rsplit(":", 1)[1])
        with ThreadPoolExecutor() as threads:
            withdraw = instruction(agent, "Withdraw 7 DAI")
            threads.submit(running.ask, "eth_sendTransaction", withdraw)
            next(one for one in lines if one.get("kind") == "writing")
            running.process.send_signal(signal.SIGINT)
            while is_taken(port):
                time.sleep(0.01)
            running.process.send_signal(signal.SIGINT)
            said, wrong = running.process.communicate(timeout=HANG_SECONDS)
        assert (running.process.returncode, wrong) == (0, "")
        assert json.loads(said.splitlines()[-1])["text"] == "Stopped."


@pytest.mark.slow
def test_the_second_signal_abandons_a_rehearsal_and_the_pool_keeps_its_transaction(
    free_wallet: str, tmp_path: Path
) -> None:
    """With a real model, which works on the transaction ahead of its block."""
    options = ("--fixture", free_wallet, "--no-store", "--state-dir", str(tmp_path))
    with node(*options, *FREE) as running:
        (agent,) = running.said["agents"]
        form = instruction(agent, "Withdraw 7 DAI") | {"gas": hex(8_000_000)}
        sent = running.result("eth_sendTransaction", form)
        stdout = running.process.stdout
        assert stdout is not None
        lines = (json.loads(line) for line in stdout)
        assert next(one for one in lines if one.get("kind") == "reading")["source"] == "block"
        port = int(running.said["url"].rsplit(":", 1)[1])
        running.process.send_signal(signal.SIGINT)
        while is_taken(port):
            time.sleep(0.01)
        running.process.send_signal(signal.SIGINT)
        said, wrong = running.process.communicate(timeout=HANG_SECONDS)
        assert (running.process.returncode, wrong) == (0, "")
        assert json.loads(said.splitlines()[-1])["text"] == "Stopped."
    with node(*options, "--no-model", "--no-mining") as running:
        assert running.result("eth_getTransactionByHash", sent)["hash"] == sent


def _is_not_answered(line: dict[str, object]) -> bool:
    return line.get("method") != "eth_call"


@pytest.mark.slow
def test_a_quiet_node_prints_nothing() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "pyevm_agents", "node", "-p", str(port), "--no-model", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as it:
        while not is_taken(port):
            assert it.poll() is None
            time.sleep(0.05)
        it.send_signal(signal.SIGTERM)
        assert it.communicate(timeout=HANG_SECONDS) == (b"", b"")
    assert it.returncode == 0


@pytest.mark.parametrize("width", [80, pytest.param(120, marks=pytest.mark.slow)])
def test_the_banner_fits_a_terminal(width: int) -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    command = [sys.executable, "-m", "pyevm_agents", "node", "-p", "0", "--no-model"]
    environment = os.environ | {"TERM": "xterm-256color"}
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=environment
    ) as it:
        os.close(follower)
        said = b""
        while b"Listening on" not in said:
            said += os.read(leader, 65_536)
        it.send_signal(signal.SIGINT)
        with suppress(OSError):  # Linux: the other end is closed.
            while more := os.read(leader, 65_536):
                said += more
    os.close(leader)
    lines = re.sub(r"\x1b\[[0-9;]*[mK]", "", said.decode()).split("\r\n")
    assert it.returncode == 0
    assert max(map(len, lines)) <= 80
    assert lines[-2].strip() == "Stopped."
    assert "  (0) 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266  10,000 ETH" in lines
