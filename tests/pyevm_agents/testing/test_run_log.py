"""What is kept of agents' runs: mined, called, failed and never ended."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from web3.exceptions import ContractLogicError

from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.testing.chain import AgentChain
from pyevm_agents.testing.run_log import KEPT_RUNS, AgentRun, RunLog, log, record_runs
from tests.byte_model import ByteModel
from tests.pyevm_agents.testing.agents import clerk
from tests.pyevm_agents.testing.byte_answers import USE, counting, five
from tests.pyevm_agents.testing.sample_runs import NESTED, RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import GenerationRequest


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


def test_what_no_agent_did_is_not_kept(chain: AgentChain) -> None:
    chain.deploy("CounterTool").functions.add(3).transact()
    assert log.runs == ()
    assert log.cost.gas == 0


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
    chain.model.use_model(ByteModel(lambda _: USE))
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

    chain.model.use_model(ByteModel(said))
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
