"""An adversary on a chain: drawn steps, shrunk and printed failures, a rollback of each example."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis.errors import Unsatisfiable, UnsatisfiedAssumption

from pyevm_agents.errors import ConfigError
from pyevm_agents.models import answer, use
from pyevm_agents.testing import (
    Adversary,
    AgentChain,
    adversary,
    adversary_settings,
    following_script,
)
from tests.pyevm_agents.testing.agents import clerk

if TYPE_CHECKING:
    from collections.abc import Callable

    from web3.contract import Contract

    from pyevm_agents.models.fakes.adversary import DecisionContext, StepDecider
    from pyevm_agents.models.fakes.script_steps import Step


@pytest.mark.slow
def test_a_failure_is_as_short_as_it_can_be_and_printed(
    agent_chain: AgentChain, counter: Contract, agent: Contract
) -> None:
    lengths = set()

    @adversary_settings(max_examples=300, derandomize=True)
    @given(adversary())
    def never_exceeds_thirteen(adversary: Adversary) -> None:
        with adversary.on(agent_chain):
            adversary.ask(agent, "Add 7.")
            lengths.add(len(adversary.steps))
            assert counter.functions.number().call() <= 13

    with pytest.raises(AssertionError) as failure:
        never_exceeds_thirteen()

    script = 'model.script(use("CounterTool", amount=14), answer("Done"))'
    assert script in failure.value.__notes__
    assert {1, 2, 3} <= lengths
    agent_chain.model.script(use("CounterTool", amount=14), answer("Done"))
    agent_chain.ask(agent, "Add 7.")
    assert counter.functions.number().call() == 14


def test_each_example_leaves_the_chain_as_it_was(
    agent_chain: AgentChain, counter: Contract, agent: Contract
) -> None:
    before, ran = agent_chain.chain.head.hash, []

    @adversary_settings(max_examples=10)
    @given(adversary())
    def test_it(adversary: Adversary) -> None:
        with adversary.on(agent_chain):
            assert agent_chain.chain.head.hash == before
            assert counter.functions.number().call() == 0
            ran.append(adversary.ask(agent, "Add 7.")["status"])

    test_it()
    assert len(ran) >= 10
    assert agent_chain.chain.head.hash == before
    agent_chain.model.script(answer("mine"))
    agent_chain.ask(agent, "Who answers?")
    assert agent_chain.model.failure is None


@pytest.mark.slow
def test_a_script_runs_again_word_for_word(agent_chain: AgentChain, agent: Contract) -> None:
    @adversary_settings(max_examples=15)
    @given(adversary())
    def test_it(adversary: Adversary) -> None:
        with adversary.on(agent_chain):
            receipt = adversary.ask(agent, "Add 7.")
            said = [step.inference.text for step in agent_chain.steps(receipt["transactionHash"])]
        script = adversary.to_script()
        with agent_chain.isolated():
            names = {"model": agent_chain.model, "use": use, "answer": answer}
            exec(script, {**names, "accounts": agent_chain.accounts})  # noqa: S102 - it is pasted
            again = agent_chain.ask(agent, "Add 7.", gas=receipt["gasUsed"] + 10_000_000)
            steps = agent_chain.steps(again["transactionHash"])
        assert [step.inference.text for step in steps] == said
        assert again["gasUsed"] == receipt["gasUsed"]
        agent_chain.model.reset()

    test_it()


def test_addresses_have_the_names_of_the_test(agent_chain: AgentChain, agent: Contract) -> None:
    told = following_script(answer(f"{agent.address} or {agent_chain.accounts[3]}"))
    with told.on(agent_chain, clerk=agent):
        told.ask(agent, f"Is it {agent.address} or {agent_chain.accounts[3]}?")
        script = told.to_script()
    assert script == 'model.script(answer(f"{clerk.address} or {accounts[3]}"))'
    assert told.to_script() == script
    with told.on(agent_chain, boss=agent_chain.accounts[3]):
        told.ask(agent, f"Is it {agent.address} or {agent_chain.accounts[3]}?")
    assert told.to_script() == (f'model.script(answer(f"{agent.address} or {{boss}}"))')


def test_examples_of_ones_own_are_tried_first(
    agent_chain: AgentChain, counter: Contract, agent: Contract
) -> None:
    numbers = []

    @adversary_settings(max_examples=1)
    @example(following_script(use("CounterTool", amount=5), use("CounterTool", amount=6)))
    @example(adversary=following_script(answer("no")))
    @given(adversary=adversary())
    def test_it(adversary: Adversary) -> None:
        with adversary.on(agent_chain):
            adversary.ask(agent, "Add 7.")
            numbers.append(counter.functions.number().call())

    test_it()
    test_it()
    assert numbers.count(11) == 2
    assert numbers[:2] in ([11, 0], [0, 11])


def test_a_revert_is_an_outcome(agent_chain: AgentChain, counter: Contract) -> None:
    impatient = clerk(agent_chain, counter, steps=1)
    told = following_script(use("CounterTool", amount=5))
    with told.on(agent_chain):
        assert told.ask(impatient, "Add 7.")["status"] == 0
        add = counter.functions.add(3)
        assert told.run(add)["status"] == 1
        assert told.run(add, **{"from": agent_chain.accounts[2]})["from"] == agent_chain.accounts[2]


def test_where_a_list_would_not_say_the_same_it_is_an_adversary(
    agent_chain: AgentChain, counter: Contract, agent: Contract
) -> None:
    told = following_script(use("CounterTool", amount=5), answer("5"), answer("10"))
    for _ in range(2):
        with told.on(agent_chain):
            told.ask(agent, "Add 5.")
            told.ask(agent, "Add 5.")  # It is 10 now, which the model reads.
            assert counter.functions.number().call() == 10
            script = told.to_script()
        assert script == (
            'adversary = following_script(use("CounterTool", amount=5), answer("5"), answer("10"))'
        )
        pasted: dict[str, Any] = {
            "following_script": following_script,
            "use": use,
            "answer": answer,
        }
        exec(script, pasted)  # noqa: S102 - that is what pasting is
        told = pasted["adversary"]


def test_it_answers_on_a_chain_alone(agent: Contract) -> None:
    told = following_script(answer("no"))
    assert told.steps == ()
    assert told.to_script() == "model.script()"
    with pytest.raises(ConfigError, match=r"with adversary\.on"):
        told.ask(agent, "Add 7.")


class StopNow(BaseException):
    """Ends an example, as Hypothesis' exception does."""


def stopped_by(end: Callable[[], object]) -> Adversary:
    """Return an adversary that uses the tool, then raises."""

    def begin() -> StepDecider:
        left: list[Step] = [use("CounterTool", amount=5)]

        def decide(_: DecisionContext) -> Step:
            if not left:
                end()
            return left.pop()

        return decide

    return Adversary(begin)


def stop() -> None:
    raise StopNow


def reject() -> None:
    raise UnsatisfiedAssumption


@pytest.mark.parametrize("is_swallowed", [False, True])
def test_what_ends_an_example_ends_it_and_leaves_nothing(
    agent_chain: AgentChain, counter: Contract, agent: Contract, *, is_swallowed: bool
) -> None:
    before = agent_chain.chain.head.hash
    undecided = stopped_by(stop)

    def run() -> None:
        with undecided.on(agent_chain):
            try:
                undecided.ask(agent, "Add 7.")
            except BaseException:
                assert agent_chain.chain.head.hash == before
                assert counter.functions.number().call() == 0
                assert not len(agent_chain.node.pool)
                if not is_swallowed:
                    raise

    with pytest.raises(StopNow):
        run()
    assert undecided.steps == (use("CounterTool", amount=5),)
    assert agent_chain.chain.head.hash == before


def test_a_rejected_example_is_none(agent_chain: AgentChain, agent: Contract) -> None:
    @adversary_settings(max_examples=5)
    @given(adversary())
    def test_it(adversary: Adversary) -> None:
        assert adversary.steps == ()
        undecided = stopped_by(reject)
        with undecided.on(agent_chain):
            undecided.ask(agent, "Add 7.")

    with pytest.raises(Unsatisfiable):
        test_it()


def test_assumptions_hold_where_the_test_makes_them(
    agent_chain: AgentChain, agent: Contract
) -> None:
    used = []

    @adversary_settings(max_examples=10)
    @given(adversary())
    def test_it(adversary: Adversary) -> None:
        with adversary.on(agent_chain):
            adversary.ask(agent, "Add 7.")
            assume(len(adversary.steps) > 1)
            used.append(len(adversary.steps))

    test_it()
    assert min(used) > 1


@pytest.mark.slow
def test_numbers_and_texts_of_the_test_are_likely(agent_chain: AgentChain, agent: Contract) -> None:
    wanted = {"91234567", "sesame"}
    said: set[str] = set()

    @adversary_settings(max_examples=60, derandomize=True)
    @given(adversary(numbers=[91_234_567], texts=["sesame"]))
    def test_it(adversary: Adversary) -> None:
        with adversary.on(agent_chain):
            adversary.ask(agent, "Add 7.")
        said.update(one for one in wanted if one in adversary.to_script())

    test_it()
    assert said == wanted


def test_settings_are_those_of_hypothesis_and_can_be_changed() -> None:
    changed = adversary_settings(max_examples=7, deadline=100)
    assert changed.max_examples == 7
    assert changed.deadline == timedelta(milliseconds=100)
    assert adversary_settings().deadline is None
    assert adversary_settings().max_examples == settings().max_examples
    assert repr(adversary()) == "adversary()"


@pytest.mark.slow
def test_without_hypothesis_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from pyevm_agents.testing import AgentChain\n"
        "try: from pyevm_agents.testing import adversary\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "adversary needs hypothesis, which is not installed: pip install 'pyevm-agents[test]'\n"
    )
