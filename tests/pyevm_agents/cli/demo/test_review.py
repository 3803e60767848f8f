"""The wallet demo's instruction is simulated, and what differs is sent by a yes alone."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.cli import run_preview
from pyevm_agents.cli.demo.review import DemoReview
from pyevm_agents.cli.output import StatusLine
from pyevm_agents.errors import ConfigError
from pyevm_agents.scenarios.setting import ScenarioSetting
from tests.pyevm_agents.cli.agent_node import AgentNode

if TYPE_CHECKING:
    from collections.abc import Iterator


MODEL = {"name": "m", "digest": "0x12"}


@pytest.fixture(scope="module")
def node() -> Iterator[AgentNode]:
    """A wallet whose model deposits 10 USDC, whatever it is asked."""
    node = AgentNode()
    yield node
    node.node.close()


def review(node: AgentNode, *, assumes_yes: bool = False, as_json: bool = False) -> DemoReview:
    return DemoReview(
        scenario="wallet",
        setting=ScenarioSetting(chain=node.wallet.chain, model=MODEL),
        assumes_yes=assumes_yes,
        as_json=as_json,
        watch=StatusLine(),
    )


def test_what_agrees_is_sent(node: AgentNode, capsys: pytest.CaptureFixture[str]) -> None:
    before = node.wallet.read_balances()
    found = review(node).require_yes(node.wallet, "Deposit 10 {USDC}", "Note")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Simulated before it is sent"
    assert [line.split()[0] for line in lines[1:-1]] == [
        "Action", "Input", "Observation", "Answer", "Transfer", "Balance", "Agrees", "Note",
    ]  # fmt: skip
    form: Any = found.details["review"]
    assert (form["approvals"], form["differences"]) == ([], [])
    assert form["transfers"][0]["amount"] == "10000000"
    assert node.wallet.read_balances() == before


def test_what_differs_is_not_sent(node: AgentNode, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        review(node, as_json=True).require_yes(node.wallet, "Deposit 20 USDC")
    assert raised.value.code == 4
    told = capsys.readouterr()
    form = json.loads(told.out)
    assert (form["isSent"], form["instruction"]) == (False, "Deposit 20 USDC")
    assert (form["scenario"], form["model"]) == ("wallet", MODEL)
    assert (form["transactions"], form["endedAsIdeal"]) == ([], False)
    assert form.keys() >= {"isScripted", "seconds", "answer", "steps", "transfers", "balances"}
    differences = form["details"]["review"]["differences"]
    assert [each["kind"] for each in differences] == ["unstatedAmount", "unusedAmount"]
    assert [each["text"] for each in differences] == form["differences"]
    assert "Not sent: its transfers differ from the request" in told.err
    found = review(node, assumes_yes=True).require_yes(node.wallet, "Deposit 20 USDC")
    assert form["differences"] == [*found.differences]


@pytest.mark.parametrize(("answer", "is_sent"), [(True, True), (False, False)])
def test_a_terminal_is_asked(
    node: AgentNode, monkeypatch: pytest.MonkeyPatch, *, answer: bool, is_sent: bool
) -> None:
    monkeypatch.setattr(run_preview, "is_answerable", lambda: True)
    monkeypatch.setattr("click.confirm", lambda *_, **__: answer)
    with nullcontext() if is_sent else pytest.raises(SystemExit):
        review(node).require_yes(node.wallet, "Deposit 10 USDC")


def test_an_invalid_instruction_is_refused(node: AgentNode) -> None:
    with pytest.raises(ConfigError, match="the instruction is empty"):
        review(node).require_yes(node.wallet, " ")
