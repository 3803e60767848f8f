"""Transactions as files: a recorded chain, and a library in Solidity."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.models import SwappableModel
from pyevm_agents.recordings import Fixture, Replay, codec
from pyevm_agents.rpc.errors import INVALID_PARAMS, LIMIT_EXCEEDED, SERVER_ERROR, RpcError
from pyevm_agents.rpc.methods import agent_export
from pyevm_agents.rpc.recorded_answers import format_request
from pyevm_agents.rpc.session import Session
from pyevm_agents.server.recorded_page import read_recorded_page
from tests.byte_model import ByteModel
from tests.pyevm_agents.cli.agent_node import AgentNode
from tests.pyevm_agents.rpc.methods.agents_to_show import FIRST, AgentsToShow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POOR = "0x" + "57" * 20
CODE = "0x" + "58" * 20
UNKNOWN = "0x" + "12" * 32


class Sent:
    """A node, and the hash of a transaction with nested agents before a transfer."""

    def __init__(self) -> None:
        self.shown = AgentsToShow()
        self.run = self.shown.send(self.shown.question(self.shown.deploy_nested()))
        self.transfer = self.shown.send({"from": FIRST, "to": POOR, "value": "0x1"})


@pytest.fixture(scope="module")
def sent() -> Iterator[Sent]:
    """A node that no test changes."""
    sent = Sent()
    yield sent
    sent.shown.node.close()


@pytest.fixture
def shown() -> Iterator[AgentsToShow]:
    node = AgentsToShow()
    yield node
    node.node.close()


def record(shown: AgentNode, tx_hash: str) -> Fixture:
    return codec.decode(shown.ask("agent_exportRecord", tx_hash).encode())


def refuse(shown: AgentNode, method: str, *params: object) -> RpcError:
    with pytest.raises(RpcError) as caught:
        shown.ask(method, *params)
    return caught.value


# -- records -- #


def test_a_record_is_the_chain_up_to_the_transaction(sent: Sent) -> None:
    fixture = record(sent.shown, sent.run)
    last = fixture.blocks[-1]
    assert [each.hash.hex() for each in last.transactions] == [sent.run[2:]]
    assert fixture.steps[-1].block == last.block.number
    steps = fixture.get_steps(last.block.number, 0)
    prompts = ["".join(segment.text for segment in step.exchange.segments) for step in steps]
    trace = sent.shown.ask("agent_traceTransaction", sent.run)
    assert sorted(prompts) == sorted(prompts_of(trace["steps"]))
    assert Replay(fixture).finish().head.hash == last.block.hash


def prompts_of(steps: list[dict[str, object]]) -> list[str]:
    nested = [prompt for step in steps for prompt in prompts_of(step["steps"])]  # type: ignore[arg-type]
    return [str(step["prompt"]) for step in steps] + nested


@pytest.mark.slow
@pytest.mark.parametrize("most_blocks", [agent_export.MAX_RECORD_BLOCKS, 0])
def test_the_commands_read_a_record_and_show_the_transaction(
    sent: Sent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_blocks: int
) -> None:
    monkeypatch.setattr(agent_export, "MAX_RECORD_BLOCKS", most_blocks)
    deposit = sent.shown.send(sent.shown.instruction())
    file, page = tmp_path / "run.json", tmp_path / "run.html"
    file.write_text(sent.shown.ask("agent_exportRecord", deposit), encoding="utf-8")
    for command in (["replay", file], ["show", file, "-o", page]):
        told = CliRunner().invoke(main, [*map(str, command)])
        assert told.exit_code == 0, told.output
        assert "leaves out" not in told.output
    results = read_recorded_page(page.read_text(encoding="utf-8")).results
    shown = json.loads(results[format_request("agent_traceCalls", [deposit])])
    calls = sent.shown.ask("agent_traceCalls", deposit)
    assert [shown[name] for name in ("call", "transfers")] == [
        calls[name] for name in ("call", "transfers")
    ]


def test_a_transaction_without_an_agent_has_a_record(sent: Sent) -> None:
    fixture = record(sent.shown, sent.transfer)
    assert fixture.get_steps(len(fixture.blocks), 0) == ()


def test_a_record_has_the_words_of_then_whatever_the_model_says_now(shown: AgentsToShow) -> None:
    tx_hash = shown.send(shown.instruction())
    expected = shown.ask("agent_exportRecord", tx_hash)
    (model,) = shown.node.chain.models.values()
    assert isinstance(model, SwappableModel)
    other = ByteModel([])
    model.swap(other)
    assert shown.ask("agent_exportRecord", tx_hash) == expected
    assert other.requests == []


def test_after_accounts_were_set_a_record_is_of_the_block_alone(shown: AgentsToShow) -> None:
    shown.send({"from": FIRST, "to": POOR, "value": "0x1"})
    before = shown.ask("eth_blockNumber")
    shown.ask("anvil_setBalance", POOR, hex(10**20))
    shown.ask("anvil_setCode", CODE, "0x4760005260206000f3")  # SELFBALANCE; return it
    read = shown.send({"from": FIRST, "to": CODE, "gas": hex(100_000)})
    run = shown.send(shown.instruction())
    for tx_hash, steps in ((read, 0), (run, 2)):
        fixture = record(shown, tx_hash)
        assert (len(fixture.blocks), len(fixture.steps)) == (1, steps)
        (transaction,) = fixture.blocks[0].transactions
        receipt = shown.ask("eth_getTransactionReceipt", tx_hash)
        assert ("0x" + transaction.hash.hex(), transaction.gas_used) == (
            tx_hash,
            int(receipt["gasUsed"], 16),
        )
        assert Replay(fixture).finish().head.block_number == int(receipt["blockNumber"], 16)
    assert int(before, 16) < record(shown, read).blocks[0].block.number


def test_what_has_no_signature_is_not_recorded(shown: AgentsToShow) -> None:
    shown.ask("anvil_setBalance", POOR, hex(10**20))
    shown.ask("anvil_impersonateAccount", POOR)
    error = refuse(
        shown, "agent_exportRecord", shown.send({"from": POOR, "to": FIRST, "value": "0x1"})
    )
    assert (error.code, "of an impersonated account" in error.message) == (SERVER_ERROR, True)
    assert record(shown, shown.send(shown.instruction())).steps


def test_a_block_that_breaks_a_rule_is_not_recorded_but_later_ones_are(
    shown: AgentsToShow,
) -> None:
    shown.ask("anvil_setNextBlockBaseFeePerGas", "0x5")
    error = refuse(shown, "agent_exportRecord", shown.send({"from": FIRST, "to": POOR}))
    assert error.code == SERVER_ERROR
    assert "can't be recorded" in error.message
    assert len(record(shown, shown.send(shown.instruction())).blocks) == 1


def test_a_long_chain_has_a_record_of_the_block_alone(
    sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = int(sent.shown.ask("eth_getTransactionByHash", sent.run)["blockNumber"], 16)
    monkeypatch.setattr(agent_export, "MAX_RECORD_BLOCKS", number)
    whole = record(sent.shown, sent.run)
    assert len(whole.blocks) == number
    monkeypatch.setattr(agent_export, "MAX_RECORD_BLOCKS", number - 1)
    alone = record(sent.shown, sent.run)
    assert [block.transactions for block in alone.blocks] == [whole.blocks[-1].transactions]
    own = [step for step in whole.steps if step.block == number]
    assert [step.exchange for step in alone.steps] == [step.exchange for step in own]


def test_the_bytes_of_a_record_have_a_limit(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(sent.shown.ask("agent_exportRecord", sent.transfer).encode())
    monkeypatch.setattr(agent_export, "MAX_RECORD_BYTES", size)
    assert record(sent.shown, sent.transfer).blocks
    monkeypatch.setattr(agent_export, "MAX_RECORD_BYTES", size - 1)
    error = refuse(sent.shown, "agent_exportRecord", sent.transfer)
    assert (error.code, f"{size:,} bytes" in error.message) == (LIMIT_EXCEEDED, True)


def test_a_record_ends_when_its_client_leaves(sent: Sent) -> None:
    session = Session("left")
    session.close()
    with pytest.raises(RpcError, match="the client has left"):
        sent.shown.service.call("agent_exportRecord", [sent.run], session)


# -- replays -- #


def test_a_replay_is_what_the_command_writes(tmp_path: Path) -> None:
    node = AgentNode()
    tx_hash = node.ask("eth_sendTransaction", node.instruction())
    with node.served() as url:
        file = tmp_path / "Deposit.sol"
        command = ["export-replay", tx_hash, "--rpc", url]
        told = CliRunner().invoke(main, [*command, "-o", str(file)])
        assert told.exit_code == 0, told.output
        assert CliRunner().invoke(main, command).output == node.ask("agent_exportReplay", tx_hash)
    assert file.read_text(encoding="utf-8") == node.ask("agent_exportReplay", tx_hash, "Deposit")
    node.node.close()


def test_a_replay_has_the_steps_of_nested_agents(sent: Sent) -> None:
    text = sent.shown.ask("agent_exportReplay", sent.run)
    assert "uint256 internal constant STEPS = 4;" in text


def test_what_has_no_steps_has_no_replay(sent: Sent, shown: AgentsToShow) -> None:
    refused = shown.deploy_agent("Refused", "You try.", [], model="unknown")
    failed = shown.send(shown.question(refused))
    for node, tx_hash in ((sent.shown, sent.transfer), (shown, failed)):
        error = refuse(node, "agent_exportReplay", tx_hash)
        assert (error.code, "no steps of agents" in error.message) == (SERVER_ERROR, True)


@pytest.mark.parametrize("name", ["contract", "a b", "load", ""])
def test_a_library_has_a_name_that_solidity_takes(sent: Sent, name: str) -> None:
    assert refuse(sent.shown, "agent_exportReplay", sent.run, name).code == INVALID_PARAMS


@pytest.mark.parametrize("method", ["agent_exportRecord", "agent_exportReplay"])
def test_what_is_not_mined_is_not_exported(sent: Sent, method: str) -> None:
    error = refuse(sent.shown, method, UNKNOWN)
    assert (error.code, "not mined" in error.message) == (SERVER_ERROR, True)
