"""The log of agent runs: mined, called, failed and interrupted."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import keccak, to_checksum_address
from web3.exceptions import ContractLogicError

from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.models import answer, use
from pyevm_agents.testing.chain import ZERO_ADDRESS, AgentChain
from pyevm_agents.testing.inputs import agent_input
from pyevm_agents.testing.run_log import KEPT_RUNS, AgentRun, RunLog, log, record_runs
from pyevm_agents.tracing.console_log import CONSOLE_ADDRESS
from tests.byte_model import ByteModel
from tests.pyevm_agents.testing.agents import clerk
from tests.pyevm_agents.testing.byte_answers import USE, counting, five
from tests.pyevm_agents.testing.sample_runs import NESTED, RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import GenerationRequest

STRANGER = to_checksum_address("0x" + "57" * 20)


@pytest.fixture
def chain() -> Iterator[AgentChain]:
    with AgentChain() as made:
        log.clear()
        yield made


def test_a_transaction_is_kept_with_its_cost(chain: AgentChain) -> None:
    chain.model.use_model(five())
    receipt = chain.ask(clerk(chain, chain.deploy("CounterTool")), "Add five")
    (run,) = log.runs
    assert run.transaction_hash == bytes(receipt["transactionHash"])
    assert run.gas_used == receipt["gasUsed"]
    assert run.steps == extract_agent_steps(chain.computation(receipt["transactionHash"]))
    assert (run.failure, run.fault, run.purpose) == (None, None, "block")
    assert log.cost == run.cost
    assert log.cost.evm + log.cost.prompt + log.cost.output == receipt["gasUsed"]
    log.reset_cost()
    assert (log.cost.steps, log.count) == (0, 1)


def test_what_no_agent_did_is_not_kept_unless_it_failed(chain: AgentChain) -> None:
    counter = chain.deploy("CounterTool")
    counter.functions.add(3).transact()
    assert not log.runs
    counter.functions.add(3).transact({"gas": 25_000})
    (run,) = log.runs
    assert (run.steps, run.is_out_of_gas) == ((), True)
    assert log.cost.gas == 0


def test_a_run_out_of_gas_names_a_limit_that_is_enough(chain: AgentChain) -> None:
    agent = clerk(chain, chain.deploy("CounterTool"))
    chain.model.script(use("CounterTool", amount=5), answer("It is 5."))
    chain.set_balance(chain.accounts[9], 7)
    assert chain.ask(agent, "Add five", gas=500_000)["status"] == 0
    run = log.runs[-1]
    assert (run.steps, run.is_out_of_gas) == ((), True)
    told = run.describe_needed_gas()
    assert told is not None
    match = re.fullmatch(r"a gas limit of ([\d,]+) would have been enough", told)
    assert match is not None
    gas = int(match[1].replace(",", ""))
    # It used up no step of the script, and one unit less is too little.
    assert chain.ask(agent, "Add five", gas=gas - 1)["status"] == 0
    assert chain.ask(agent, "Add five", gas=gas)["status"] == 1
    chain.model.verify()
    with AgentChain(schedule=ScheduleFile(schedule={"tool_gas": 10**9})) as dear:
        agent = clerk(dear, dear.deploy("CounterTool"))
        dear.ask(agent, "Add five", gas=2_000_000)
        told = log.runs[-1].describe_needed_gas()
        assert told == "the highest gas limit, 30,000,000, would not have been enough"


def test_a_limit_is_unknown_where_the_model_would_have_to_be_asked(chain: AgentChain) -> None:
    agent = clerk(chain, chain.deploy("CounterTool"))
    chain.model.script(use("CounterTool", amount=5))
    chain.ask(agent, "Add five", gas=500_000)
    assert log.runs[-1].describe_needed_gas() is None  # The second step is not scripted.
    chain.model.verify()
    chain.model.use_model(five())
    assert log.runs[-1].describe_needed_gas() is None
    assert replace(log.runs[-1], source=None).describe_needed_gas() is None


def test_a_reverted_tool_has_its_reason(chain: AgentChain) -> None:
    agent = clerk(chain, chain.deploy("RevertingTool", 0))
    chain.model.script(use("RevertingTool"))
    with pytest.raises(ContractLogicError):
        chain.ask(agent, "Add five")
    (run,) = log.runs
    (step,) = run.steps
    assert step.observation is None
    assert step.tool_failure is not None
    assert step.tool_failure in str(run.failure)
    with pytest.raises(ContractLogicError):
        agent.functions.run(agent_input("Add five"), ZERO_ADDRESS).call()
    assert [one.steps[0].tool_failure for one in log.runs] == [step.tool_failure] * 2


def test_lines_of_the_console_are_kept(chain: AgentChain) -> None:
    # PUSH of the calldata of `log(string)`, then a call of the console's address.
    calldata = keccak(text="log(string)")[:4] + encode(["string"], ["hello"])
    words = [calldata.ljust(128, b"\0")[at : at + 32] for at in range(0, 128, 32)]
    stores = b"".join(
        b"\x7f" + word + bytes([0x60, 32 * at, 0x52]) for at, word in enumerate(words)
    )
    call = bytes.fromhex("5f5f61") + len(calldata).to_bytes(2) + b"\x5f\x73" + CONSOLE_ADDRESS
    code = stores + call + bytes.fromhex("5afa00")
    chain.request("anvil_setCode", STRANGER, "0x" + code.hex())
    chain.w3.eth.send_transaction({"to": STRANGER, "gas": 100_000})
    chain.w3.eth.call({"to": STRANGER})
    assert log.console_lines == ("hello", "hello")
    log.clear()
    assert not log.console_lines


def test_a_call_is_kept_without_gas(chain: AgentChain) -> None:
    chain.model.use_model(five())
    agent = clerk(chain, chain.deploy("CounterTool"))
    receipt = chain.ask(agent, "Add five")
    sent = chain.w3.eth.get_transaction(receipt["transactionHash"])
    log.clear()
    chain.w3.eth.call({"to": sent["to"], "from": sent["from"], "data": sent["input"]})
    (run,) = log.runs
    assert (run.purpose, run.gas_used, run.failure) == ("call", None, None)
    assert [step.observation for step in run.steps] == ["The counter is: 10", None]
    assert log.cost.gas == 0


def test_a_run_that_reverted_says_why(chain: AgentChain) -> None:
    chain.model.use_model(ByteModel(lambda _: USE, is_free=True))
    agent = clerk(chain, chain.deploy("CounterTool"), steps=2)
    with pytest.raises(ContractLogicError, match="NoFinalAnswer"):
        chain.ask(agent, "Add five")
    run = log.runs[-1]
    assert len(run.steps) == 2
    assert run.failure == "NoFinalAnswer(maxIterations=2)"


def test_a_run_that_has_no_end_shows_what_was_done(chain: AgentChain) -> None:
    def said(request: GenerationRequest) -> str:
        if counting(request) != USE:
            raise RuntimeError("no words left")
        return USE

    chain.model.use_model(ByteModel(said, is_free=True))
    agent = clerk(chain, chain.deploy("CounterTool"))
    with pytest.raises(RuntimeError, match="no words left"):
        chain.ask(agent, "Add five")
    run = log.runs[-1]
    assert [step.observation for step in run.steps] == ["The counter is: 5"]
    assert run.steps[0].evm_gas is None
    assert run.fault is not None
    assert "no words left" in run.fault


def test_only_the_latest_are_kept_and_all_are_counted() -> None:
    kept = RunLog()
    for _ in range(KEPT_RUNS + 6):
        kept.add(RUN)
    kept.add(AgentRun(steps=NESTED, purpose="call"))
    assert (len(kept.runs), kept.count) == (KEPT_RUNS, KEPT_RUNS + 7)
    assert kept.cost.gas == (KEPT_RUNS + 6) * 6_000_000
    kept.clear()
    assert (kept.runs, kept.count, kept.cost.gas) == ((), 0, 0)


def test_a_log_of_ones_own_sees_one_chain(chain: AgentChain) -> None:
    own = RunLog()
    record_runs(chain.node, own)
    with AgentChain() as other:
        for one in (chain, other):
            one.model.use_model(five())
            one.ask(clerk(one, one.deploy("CounterTool")), "Add five")
    assert (own.count, log.count) == (1, 2)


def test_of_examples_the_latest_is_kept() -> None:
    kept = RunLog()
    kept.add(RUN)
    for number in range(3):
        with suppress(ValueError), kept.track_example():
            kept.add(AgentRun(steps=NESTED, failure=f"{number}"))
            with kept.track_example():
                kept.add(AgentRun(steps=NESTED, failure=f"{number}, inside"))
            raise ValueError("fails")
    assert [one.failure for one in kept.runs] == [None, "2", "2, inside"]
    assert kept.count == 3


def test_what_was_done_after_an_example_stays_with_it() -> None:
    kept = RunLog()
    for _ in range(2):
        with kept.track_example():
            kept.add(RUN)
        kept.add(RUN)
    assert (len(kept.runs), kept.count) == (4, 4)


def test_a_chains_examples_are_such(chain: AgentChain) -> None:
    chain.model.use_model(five())
    agent = clerk(chain, chain.deploy("CounterTool"))
    for question in ("Add five", "Add five more"):
        with chain.isolated():
            chain.ask(agent, question)
    assert (len(log.runs), log.count) == (1, 1)
