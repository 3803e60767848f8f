"""`pyevm-agents oracle run`: what it refuses to start with, its log, metrics and end."""

from __future__ import annotations

import json
import signal
import threading
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.cli.options.worker import get_store_path
from pyevm_agents.cli.oracle.run import RunOptions, run_worker
from pyevm_agents.cli.worker_output import WorkerOutput
from pyevm_agents.errors import EngineFault
from pyevm_agents.oracle.worker import WorkerSettings
from pyevm_agents.workers.identity import StoreIdentity
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.cli.oracle.conftest import NO_CONTRACT, PASSWORD, write_keystore
from tests.pyevm_agents.node.senders_of_tests import KEYS
from tests.pyevm_agents.oracle.oracle_chain import WORKER, WORKER_KEY
from tests.pyevm_agents.oracle.working import RefusingComputer

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.pyevm_agents.cli.oracle.conftest import Commands
    from tests.pyevm_agents.oracle.oracle_chain import OracleChain


@pytest.fixture
def oracle_chain(commands: Commands) -> OracleChain:
    return commands.chain


def start(
    chain: OracleChain,
    folder: Path,
    *words: str,
    key: bytes = WORKER_KEY.to_bytes(),
    command: str = "run",
) -> Result:
    """Run the command; its key and store are in the folder."""
    keystore = write_keystore(folder / "worker.json", key)
    (folder / "password").write_text(PASSWORD)
    options = {
        "--rpc-url": chain.url,
        "--oracle": chain.oracle.address,
        "--keystore": str(keystore),
        "--password-file": str(folder / "password"),
        "--store": str(folder / "store"),
    }
    given = dict(zip(words[::2], words[1::2], strict=True))
    flat = [part for pair in (options | given).items() for part in pair]
    return CliRunner().invoke(main, ["oracle", command, *flat])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--oracle", NO_CONTRACT), "no contract on chain"),
        (("--oracle", "0x12"), "not an address; must be 0x and 40 hexadecimal digits"),
        (("--chain-id", "1"), "must be 1; pass the URL of a node of that chain"),
        (("--keystore", "/nowhere"), "/nowhere: no such file; make a keystore"),
        ((), f"worker {WORKER}: has no ether to pay for transactions"),
    ],
)
def test_a_start_that_can_t_work_is_refused(
    oracle_chain: OracleChain, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result = start(oracle_chain, tmp_path, *words)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "trend={}/none.onnx",
            "--numeric-model trend={}/none.onnx: model file {}/none.onnx can't be",
        ),
        ("trend={}/text.onnx", "--numeric-model trend={}/text.onnx: "),
        ("{}/text.onnx", "must be NAME=FILE, such as text={}/text.onnx, or the name of a shipped"),
        ("trend", "'trend': must be NAME=FILE, such as trend=trend.onnx, or the name of a shipped"),
    ],
)
def test_a_numeric_model_that_can_t_be_read_is_refused(
    oracle_chain: OracleChain, tmp_path: Path, option: str, message: str
) -> None:
    (tmp_path / "text.onnx").write_text("not a model")
    given = option.replace("{}", str(tmp_path))
    result = start(oracle_chain, tmp_path, "--numeric-model", given)
    assert result.exit_code == 2
    assert message.replace("{}", str(tmp_path)) in " ".join(result.output.split())
    assert not (tmp_path / "store").exists()


def test_an_address_without_an_oracle_is_refused(oracle_chain: OracleChain, tmp_path: Path) -> None:
    result = start(oracle_chain, tmp_path, "--oracle", oracle_chain.counter.address)
    assert result.exit_code == 2
    assert "not an AgentOracle, by its supportsInterface" in result.output


def test_a_key_that_is_not_registered_is_refused(oracle_chain: OracleChain, tmp_path: Path) -> None:
    result = start(oracle_chain, tmp_path, key=KEYS[0].to_bytes())
    assert result.exit_code == 2
    assert "is not registered with the oracle" in result.output


def test_only_the_arbiter_of_a_challengeable_oracle_arbitrates(
    oracle_chain: OracleChain, tmp_path: Path
) -> None:
    final = start(oracle_chain, tmp_path, command="arbitrate")
    assert final.exit_code == 2
    assert "is no ChallengeableOracle" in final.output
    oracle = oracle_chain.deploy_challengeable().address
    other = start(oracle_chain, tmp_path, "--oracle", oracle, command="arbitrate")
    assert other.exit_code == 2
    assert f"key of {WORKER}: is not the arbiter of the oracle {oracle}" in other.output


def read(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=HANG_SECONDS) as answer:  # noqa: S310 - a loopback address
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class _Observer(WorkerOutput):
    """Reads metrics and health when the first request is settled, and ends the worker."""

    def __init__(self) -> None:
        super().__init__(is_json=True)
        self.url = ""
        self.read: list[tuple[int, str]] = []

    def write(self, event: str, **fields: object) -> None:
        super().write(event, **fields)
        if event == "metrics":
            self.url = str(fields["url"]).removesuffix("/metrics")
        if event == "settled":
            threading.Thread(target=self._look).start()

    def _look(self) -> None:
        for path in ("/metrics", "/health", "/else"):
            self.read.append(read(self.url + path))
        signal.raise_signal(signal.SIGTERM)


def test_it_answers_and_tells_its_metrics_and_health(
    oracle_chain: OracleChain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    oracle_chain.send(WORKER, b"", value=10**18)
    request = oracle_chain.ask_agent()
    computer, output = RefusingComputer(), _Observer()
    options = RunOptions(
        url=oracle_chain.url,
        key=WORKER_KEY,
        open_computer=lambda: computer,
        output=output,
        oracle=oracle_chain.oracle.canonical,
        store=tmp_path / "store",
        settings=WorkerSettings(poll_seconds=0.05),
        metrics_port=0,
    )
    computer.failures = [EngineFault("the engine died")]
    run_worker(options)
    (_, metrics), (status, health), (missing, _) = output.read
    assert 'pyevm_agents_oracle_events_total{event="sent"} 1\n' in metrics
    assert "pyevm_agents_oracle_is_registered 1\n" in metrics
    assert (status, json.loads(health)["healthy"], missing) == (200, True, 404)
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in capsys.readouterr().out.splitlines()
    ]
    names = [line["event"] for line in lines]
    assert [
        name for name in names if name in {"found", "fault", "computed", "signed", "settled"}
    ] == [
        "found",
        "fault",
        "computed",
        "signed",
        "settled",
    ]
    assert names[-2:] == ["stopped", "summary"]
    assert lines[-1]["settled"] == 1
    [found] = [line for line in lines if line["event"] == "found"]
    assert int(found["request"], 16) == request.commitment.request_id
    assert oracle_chain.oracle.read("claimable", WORKER) == request.commitment.fee


def test_the_default_store_is_in_the_user_s_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = StoreIdentity(
        chain_id=5, genesis_hash=bytes(32), contract=b"\x01" * 20, account=b"\x02" * 20
    )
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = get_store_path("oracle", identity)
    assert path == tmp_path / f"pyevm-agents/oracle/5-{'01' * 20}-{'02' * 20}.sqlite3"
