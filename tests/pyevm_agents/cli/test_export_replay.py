"""`export-replay`, of a node that runs and of chains in files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from precompiles.numeric_abi import RunRequest, decode_numeric_request, encode_output
from pyevm_agents.cli.app import main
from pyevm_agents.models import SwappableModel
from pyevm_agents.models.numeric import SHIPPED, open_shipped
from tests.byte_model import ByteModel
from tests.pyevm_agents.cli.agent_node import AgentNode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

HASH = "0x" + "12" * 32


class Commands:
    """A node that is served, a transaction of an agent on it, and the command."""

    def __init__(self, node: AgentNode, url: str) -> None:
        self.node = node
        self.url = url
        self.sent = str(node.ask("eth_sendTransaction", node.instruction()))
        plain = node.instruction() | {"to": "0x" + "11" * 20, "data": "0x"}
        self.plain = str(node.ask("eth_sendTransaction", plain))

    def run(self, *words: object) -> Result:
        command = ["export-replay", *map(str, words), "--rpc", self.url]
        return CliRunner().invoke(main, command)

    def said(self, *words: object) -> str:
        told = self.run(*words)
        assert told.exit_code == 0, told.output
        return told.stdout


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    node = AgentNode()
    with node.served() as url:
        yield Commands(node, url)
    node.node.close()


def test_prints_a_library(commands: Commands) -> None:
    told = commands.said(commands.sent)
    assert "library AgentRun {" in told
    assert "Recorded on a node of pyevm-agents." in told
    assert 'step.answer = "Done.";' in told


def test_prints_json(commands: Commands) -> None:
    told = json.loads(commands.said(commands.sent, "--format", "json", "--name", "Deposit"))
    steps = told["Deposit"]["steps"]
    assert [step["isFinalAnswer"] for step in steps] == [False, True]
    assert {step["transaction"] for step in steps} == {commands.sent}


def test_writes_a_file_of_the_form_and_the_name_that_its_own_says(
    commands: Commands, tmp_path: Path
) -> None:
    library, record = tmp_path / "Deposit.t.sol", tmp_path / "deposit.json"
    told = commands.run(commands.sent, "-o", library)
    assert told.stdout == ""
    assert "Deposit.t.sol: 2 steps, " in told.stderr.replace("\n", "")
    assert "library Deposit {" in library.read_text()
    commands.said(commands.sent, "-o", record)
    assert list(json.loads(record.read_text())) == ["deposit"]


def test_several_transactions_make_one_replay(commands: Commands) -> None:
    told = commands.said(commands.sent, commands.plain, "--contracts", "../lib/agents")
    assert "STEPS = 2;" in told
    assert 'from "../lib/agents/test/ReplayAgentExecutor.sol"' in told


def test_a_recorded_chain_takes_the_place_of_a_node(commands: Commands) -> None:
    nested = json.loads(commands.said("--fixture", "nested", "--format", "json"))["AgentRun"]
    agents = [step["agent"] for step in nested["steps"]]
    assert agents == [agents[0], agents[1], agents[1], agents[0]]
    assert nested["_info"]["comment"] == "Recorded on the chain 'nested'."
    wallet = json.loads(commands.said("--fixture", "wallet", "--format", "json"))["AgentRun"]
    first, *_, last = [step["transaction"] for step in wallet["steps"]]
    assert first != last
    one = json.loads(commands.said(last, "--fixture", "wallet", "--format", "json"))["AgentRun"]
    assert {step["transaction"] for step in one["steps"]} == {last}


@pytest.mark.slow
def test_answers_of_numeric_models_are_exported(commands: Commands, tmp_path: Path) -> None:
    """They are what the shipped models compute."""
    record = tmp_path / "trading.json"
    told = commands.run("--fixture", "trading", "-o", record)
    exported = json.loads(record.read_text())["trading"]
    calls = exported["numericCalls"]
    assert f"{len(calls)} answers of numeric models" in told.stderr
    models: set[str] = set()
    for each in calls:
        request = decode_numeric_request(bytes.fromhex(each["call"][2:]))
        models.add(request.model_id)
        model = open_shipped(request.model_id)
        if isinstance(request, RunRequest):
            output = encode_output(model.run(request.decode_values()))
            assert each["output"] == "0x" + output.hex()
        else:
            assert model.digest.hex() in each["output"]
    assert models == {*SHIPPED}
    assert len({each["call"] for each in calls}) == len(calls)


@pytest.mark.parametrize(
    ("words", "told", "status"),
    [
        ((), "nothing to export; pass a transaction hash", 2),
        (("0x12",), "'0x12': not a transaction hash", 2),
        ((HASH, "--name", "a b"), "library name 'a b': must be a Solidity identifier", 2),
        ((HASH, "-o", "9lives.sol"), "library name '9lives': must be a Solidity identifier", 2),
        ((HASH, "-o", "contract.sol"), "library name 'contract': must be a Solidity identifier", 2),
        ((HASH, "--name", "uint256"), "library name 'uint256': must be a Solidity identifier", 2),
        ((HASH, "--name", ""), "library name '': must be a Solidity identifier", 2),
        ((HASH, "-o", "load.sol"), "library name 'load': used inside the library", 2),
        ((HASH, "--name", "step1"), "library name 'step1': used inside", 2),
        ((HASH, "--name", "RecordedTool"), "library name 'RecordedTool': used inside", 2),
        ((HASH, "--name", "_"), "library name '_': used inside", 2),
        ((HASH, "--contracts", ""), "--contracts '': must be a path without quotes", 2),
        ((HASH, "--contracts", 'a"b'), "must be a path without quotes", 2),
        (("--fixture", "nothing"), "unknown fixture 'nothing': must be one of", 2),
        ((HASH,), HASH, 1),
    ],
)
def test_says_what_is_wrong(
    commands: Commands, words: tuple[str, ...], told: str, status: int
) -> None:
    ended = commands.run(*words)
    assert ended.exit_code == status, ended.output
    assert told in " ".join(ended.stderr.split())


def test_a_file_of_json_may_have_any_name(commands: Commands, tmp_path: Path) -> None:
    for name in ("wallet-replay.json", "2.JSON"):
        assert commands.run(commands.sent, "-o", tmp_path / name).exit_code == 0
        (key,) = json.loads((tmp_path / name).read_text())
        assert key == name.split(".")[0]


def test_what_was_mined_is_exported_whatever_answers_now(commands: Commands) -> None:
    before = commands.said(commands.sent)
    (model,) = commands.node.node.chain.models.values()
    assert isinstance(model, SwappableModel)
    model.swap(ByteModel(lambda _: " Now.\nFinal Answer: Another."))
    try:
        assert commands.said(commands.sent) == before
    finally:
        model.swap(None)


def test_a_transaction_without_agents_has_nothing_to_export(commands: Commands) -> None:
    ended = commands.run(commands.plain)
    assert ended.exit_code == 1
    assert "the transactions have no steps of agents" in ended.stderr


def test_a_file_that_cannot_be_written_is_named(commands: Commands, tmp_path: Path) -> None:
    ended = commands.run(commands.sent, "-o", tmp_path / "none" / "Run.sol")
    assert ended.exit_code == 2
    assert "can't be written: there is no folder" in " ".join(ended.stderr.split())


def test_a_fixture_has_hyphens_or_underscores() -> None:
    exported = [
        CliRunner().invoke(main, ["export-replay", "--fixture", name, "--format", "json"])
        for name in ("out-of-gas", "out_of_gas")
    ]
    replays = [json.loads(ended.stdout) for ended in exported]
    steps = [next(iter(replay.values()))["steps"] for replay in replays]
    assert steps[0] == steps[1] != []
