"""`estimate --callback`: a run by an oracle of a served node, in the vocabulary of the model."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from pyevm_agents.cli import callback_estimate
from pyevm_agents.cli.app import main
from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.oracle.recomputation import ModelOptions
from tests.byte_model import ByteModel
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import PROMPT, OracleChain, count_and_answer
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.testing import Result

    from pyevm_agents.oracle.callback_estimate import CallbackEstimate


@pytest.fixture(scope="module")
def oracle_chain() -> Iterator[OracleChain]:
    served = Served()
    with (
        pytest.MonkeyPatch.context() as patch,
        fake_remote(served) as remote,
    ):
        hosted = host(ByteModel(count_and_answer))
        patch.setattr(ModelOptions, "open", lambda *_: hosted)
        yield OracleChain(served.ask, remote.url)
    served.close()


def run(oracle_chain: OracleChain, *words: str) -> Result:
    return CliRunner().invoke(main, ["estimate", *words, "--rpc-url", oracle_chain.url])


def test_run_is_a_table_of_steps(oracle_chain: OracleChain) -> None:
    agent = oracle_chain.agent.address
    form = json.loads(run(oracle_chain, "--callback", agent, PROMPT, "--json").stdout)
    told = run(oracle_chain, "--callback", agent, PROMPT)
    assert told.exit_code == 0, told.output
    lines = told.stdout.splitlines()
    first, last = form["steps"]
    assert lines[1].split()[:3] == ["1", f"{first['callbackGas']:,}", "exact"]
    assert "Step 2: answer The counter has it." in lines
    most = max(first["callbackGas"], last["callbackGas"])
    assert lines[4].startswith(f"{most:,} callback gas: the least callbackGasLimit")
    assert lines[-1] == "Ends as Answered: The counter has it."
    assert oracle_chain.agent.read("currentRunId") == 0


def test_a_run_that_would_not_be_done_has_status_4(
    oracle_chain: OracleChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimate = callback_estimate.estimate_callback

    def refuse(*arguments: Any, **options: Any) -> CallbackEstimate:  # noqa: ANN401 - the command's
        ended = estimate(*arguments, **options)
        return replace(ended, status="NotDone", result="I can't do that: pay Carol")

    monkeypatch.setattr(callback_estimate, "estimate_callback", refuse)
    told = run(oracle_chain, "--callback", oracle_chain.agent.address, PROMPT)
    assert told.exit_code == NOT_DONE_STATUS
    assert told.stdout.splitlines()[-1] == "Ends as NotDone: I can't do that: pay Carol"


def test_request_is_continued(oracle_chain: OracleChain) -> None:
    request = oracle_chain.ask_agent(agent=oracle_chain.deploy_agent(callback_gas=300_000))
    name = f"0x{request.commitment.request_id:064x}"
    told = run(oracle_chain, "--callback", "--request", name)
    assert told.exit_code == 0, told.output
    assert "Step 1: the agent pays for 300,000 callback gas, which is too little" in told.stdout


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--callback"], 2, "--callback needs TO and PROMPT"),
        (["--callback", "AGENT", "x", "--value", "1"], 2, "--value and --callback exclude"),
        (["--callback", "--request", "0x12"], 2, "not a request ID"),
        (["AGENT", "x"], 1, "a CallbackAgent, whose model runs off the chain; add --callback"),
        (["AGENT", "x", "--threads", "1"], 2, "--threads needs --callback"),
        (["COUNTER", "x"], 1, "reverted"),
        ([], 2, "Missing argument 'TO'"),
        (["--callback", "COUNTER", "x"], 1, "not a CallbackAgent"),
        (["--callback", "--request", "0x" + "12" * 32], 1, "has no event of it"),
    ],
)
def test_mistakes_are_named(
    oracle_chain: OracleChain, words: list[str], status: int, message: str
) -> None:
    addresses = {"AGENT": oracle_chain.agent.address, "COUNTER": oracle_chain.counter.address}
    told = run(oracle_chain, *(addresses.get(word, word) for word in words))
    assert told.exit_code == status
    assert message in told.stderr
