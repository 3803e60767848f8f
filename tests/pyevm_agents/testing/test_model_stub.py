"""The model of a test: lists, patterns, functions, other models, and their failures."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from web3 import Web3
from web3.exceptions import ContractCustomError, Web3RPCError

from pyevm_agents.chain import Chain
from pyevm_agents.errors import ConfigError, EngineFault, RecordError, ScriptError
from pyevm_agents.models import again, answer, unchecked, use
from pyevm_agents.models.fakes.parsed_request import parse_prompt
from pyevm_agents.models.fakes.recorded import RecordingModel
from pyevm_agents.recordings.bundled import load_bundled_fixture
from pyevm_agents.rpc.web3_provider import AgentProvider
from pyevm_agents.testing.genesis_template import get_genesis_template
from pyevm_agents.testing.inputs import agent_input
from pyevm_agents.testing.model_stub import ModelStub
from tests.pyevm_agents.testing.agents import EXECUTOR, clerk

if TYPE_CHECKING:
    from web3.contract import Contract

    from precompiles.language_model import Generation, GenerationRequest, Segment
    from pyevm_agents.models.fakes.recorded import Exchange
    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.testing.chain import AgentChain

ADD = use("CounterTool", amount=1)


def answers_of(chain: AgentChain, receipt: Any) -> list[str | None]:  # noqa: ANN401 - web3's
    return [step.answer or step.action_input for step in chain.steps(receipt["transactionHash"])]


class TestList:
    """`model.script`."""

    def test_steps_are_said_in_order(
        self, agent_chain: AgentChain, agent: Contract, counter: Contract
    ) -> None:
        agent_chain.model.script(use("CounterTool", amount=4), ADD, answer("five"))
        agent_chain.ask(agent, "Add five")
        assert counter.functions.number().call() == 5

    def test_a_list_may_be_given_as_one(self, agent_chain: AgentChain, agent: Contract) -> None:
        agent_chain.model.script([ADD, answer("done")])
        receipt = agent_chain.ask(agent, "Add one")
        assert answers_of(agent_chain, receipt) == ['{"amount": 1}', "done"]

    def test_estimate_transaction_and_calls_use_each_step_once(
        self, agent_chain: AgentChain, agent: Contract, counter: Contract
    ) -> None:
        agent_chain.model.script(ADD, answer("done"))
        run = agent.functions.run(agent_input("Add one"), agent_chain.accounts[0])
        gas = run.estimate_gas()
        run.call()
        agent_chain.w3.eth.wait_for_transaction_receipt(run.transact({"gas": gas}))
        # The tool's second answer differs, and the run continues.
        assert run.call() == [-1, "done"]
        assert counter.functions.number().call() == 1

    def test_the_same_question_in_another_transaction_repeats_the_words(
        self, agent_chain: AgentChain, agent: Contract, counter: Contract
    ) -> None:
        agent_chain.model.script(ADD, answer("done"))
        for _ in range(2):
            agent_chain.ask(agent, "Add one")
        assert counter.functions.number().call() == 2

    def test_several_questions_go_on_in_the_list(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        agent_chain.model.script(ADD, answer("first"), answer("second"))
        said = [agent_chain.ask(agent, question) for question in ("One", "Two")]
        assert [answers_of(agent_chain, receipt)[-1] for receipt in said] == ["first", "second"]

    def test_a_new_script_between_transactions_says_something_else(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        for text in ("first", "second"):
            agent_chain.model.script(answer(text))
            receipt = agent_chain.ask(agent, "The same")
            assert answers_of(agent_chain, receipt) == [text]

    def test_nested_agents_share_a_list(
        self, agent_chain: AgentChain, agent: Contract, counter: Contract
    ) -> None:
        outer = agent_chain.deploy(
            "SimpleAgent", EXECUTOR, "default", "Boss", "", "", "You delegate.", [agent], 3
        )
        agent_chain.model.script(
            use("Clerk", prompt="Add one"), ADD, answer("inner"), answer("outer")
        )
        receipt = agent_chain.ask(outer, "Have one added")
        assert answers_of(agent_chain, receipt)[-2:] == ["inner", "outer"]
        assert counter.functions.number().call() == 1

    def test_addresses_may_be_contracts(self, agent_chain: AgentChain) -> None:
        token = agent_chain.deploy("DemoToken", "USD Coin", "USDC", 6, 1)
        agent = clerk(agent_chain, agent_chain.deploy("TokenInfoTool"))
        agent_chain.model.script(use("TokenInfoTool", asset=token), answer(token.address))
        receipt = agent_chain.ask(agent, f"What is {token.address.lower()}?")
        step, last = agent_chain.steps(receipt["transactionHash"])
        assert step.observation == "USD Coin (USDC), 6 decimals"
        assert last.answer == token.address

    @pytest.mark.parametrize("steps", [(7,), (answer("x"), None), (again(ADD), answer("x"))])
    def test_what_is_no_script_is_refused(
        self, agent_chain: AgentChain, steps: tuple[Any, ...]
    ) -> None:
        with pytest.raises(ConfigError, match=r"^step \d"):
            agent_chain.model.script(*steps)

    def test_a_trace_of_an_earlier_transaction_says_its_own_words(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        hashes = []
        for text in ("first", "second"):
            agent_chain.model.script(ADD, answer(text))
            hashes.append(agent_chain.ask(agent, "The same")["transactionHash"].to_0x_hex())
        agent_chain.model.script(answer("third"))
        for transaction_hash, text in zip(hashes, ("first", "second"), strict=True):
            tracer = {"tracer": "callTracer"}
            trace = agent_chain.request("debug_traceTransaction", transaction_hash, tracer)
            assert text.encode().hex() in trace["output"]
            steps = agent_chain.request("agent_traceTransaction", transaction_hash)["steps"]
            assert steps[-1]["answer"] == text
        # The standing script is unchanged.
        receipt = agent_chain.ask(agent, "Something else")
        assert answers_of(agent_chain, receipt) == ["third"]


class TestFailures:
    """A script that does not fit fails the test, with both sides shown."""

    def test_a_script_that_is_not_used_up_fails(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        agent_chain.model.script(answer("done"), ADD, answer("never"))
        agent_chain.ask(agent, "Add nothing")
        with pytest.raises(ScriptError) as caught:
            agent_chain.model.verify()
        assert str(caught.value).startswith(
            "The script is not used up: 2 of its steps were not requested.\n"
            "Used:\n"
            "  1. answer(\"done\") for step 1 of 'Add nothing'\n"
            "Unused:\n"
            '  2. use("CounterTool", amount=1)\n'
            '  3. answer("never")\n'
        )
        agent_chain.model.reset()

    def test_a_script_that_is_asked_for_more_fails_the_request(
        self, agent_chain: AgentChain, agent: Contract, counter: Contract
    ) -> None:
        agent_chain.model.script(ADD)
        with pytest.raises(ScriptError) as caught:
            agent_chain.ask(agent, "Add one")
        told = str(caught.value)
        assert told.startswith(
            "The script has 1 step and all are used; step 2 of 'Add one' needs another: "
            "add a step.\nUsed:\n"
            "  1. use(\"CounterTool\", amount=1) for step 1 of 'Add one'\n"
            "Unused:\n  none\n"
            "The grammar admits:\n"
            "  CounterTool(amount: positive integer)\n"
        )
        assert told.endswith("Observation: The counter is: 1\n  Thought:")
        # A test that ignores the failure fails at its end.
        with pytest.raises(ScriptError, match="all are used"):
            agent_chain.model.verify()
        agent_chain.model.reset()
        assert counter.functions.number().call() == 0

    def test_a_step_that_cant_be_said_fails_the_request(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        agent_chain.model.script(use("CountTool", amount=-1), answer("done"))
        with pytest.raises(ScriptError) as caught:
            agent_chain.ask(agent, "Add one")
        assert str(caught.value).startswith(
            'Step 1 of the script, use("CountTool", amount=-1) does not fit step 1 of '
            "'Add one': there is no tool 'CountTool'; did you mean 'CounterTool'?\n"
            "The grammar admits:\n  CounterTool(amount: positive integer)\n  or a final answer\n"
        )
        assert caught.value.__cause__ is None
        agent_chain.model.reset()

    def test_nothing_scripted_fails_the_request(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        with pytest.raises(ScriptError, match="asked for step 1 of 'Go', and nothing is scripted"):
            agent_chain.ask(agent, "Go")
        agent_chain.model.reset()

    def test_a_script_that_has_steps_left_fails_when_it_is_replaced(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        agent_chain.model.script(answer("never"))
        with pytest.raises(
            ScriptError, match=r"1 of its steps were not requested(.|\n)*Another script replaces it"
        ):
            agent_chain.model.script(answer("this"))
        receipt = agent_chain.ask(agent, "Go")
        assert answers_of(agent_chain, receipt) == ["this"]

    def test_what_failed_a_moment_ago_is_tried_again_with_another_script(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        run = agent.functions.run(agent_input("Go"), agent_chain.accounts[0])
        agent_chain.model.script()
        with pytest.raises(ScriptError, match="has 0 steps"):
            run.call()
        agent_chain.model.reset()
        agent_chain.model.script(answer("now"))
        assert run.call() == [-1, "now"]

    def test_a_client_of_its_own_gets_an_error_and_the_test_fails_too(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        w3 = Web3(AgentProvider(agent_chain.service))
        same = w3.eth.contract(agent.address, abi=agent.abi)
        agent_chain.model.script()
        with pytest.raises(Web3RPCError, match="has 0 steps and all are used"):
            same.functions.run(agent_input("Go"), agent_chain.accounts[0]).call()
        assert isinstance(agent_chain.model.failure, ScriptError)
        with pytest.raises(ScriptError, match="has 0 steps"):
            agent_chain.model.verify()
        agent_chain.model.reset()

    def test_a_model_that_says_what_the_grammar_excludes_is_a_fault_of_the_host(
        self, agent_chain: AgentChain, agent: Contract, counter: Contract
    ) -> None:
        agent_chain.model.script(ADD, unchecked(" Hm.\nAction: Sing\nAction Input: {}"))
        root = agent_chain.chain.state().state_root
        with pytest.raises(Web3RPCError, match="violates its grammar: not one of the") as raised:
            agent_chain.ask(agent, "Sing")
        assert raised.value.rpc_response is not None
        assert raised.value.rpc_response["error"]["code"] == -32002
        assert agent_chain.chain.state().state_root == root
        agent_chain.model.unchecked(" Well.\nFinal Answer: I can be understood")
        receipt = agent_chain.ask(agent, "Sing")
        assert answers_of(agent_chain, receipt) == ["I can be understood"]
        assert counter.functions.number().call() == 0


class TestPatterns:
    """`model.when`."""

    def test_the_first_pattern_that_matches_answers(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        model = agent_chain.model
        model.when(r"^Add (one|1)$", ADD, answer("added"))
        model.when(r"Add", answer("how much?"))
        model.script(answer("what?"))
        questions = ("Add one", "Please Add", "Go", "Add 1")
        said = [agent_chain.ask(agent, question) for question in questions]
        last = [answers_of(agent_chain, receipt)[-1] for receipt in said]
        assert last == ["added", "how much?", "what?", "added"]

    def test_a_pattern_may_match_what_was_observed(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        model = agent_chain.model
        model.when(r"Observation: The counter is: 2", answer("two is enough"))
        model.when(r"Count", again(ADD))
        receipt = agent_chain.ask(agent, "Count")
        assert answers_of(agent_chain, receipt) == ['{"amount": 1}'] * 2 + ["two is enough"]

    def test_agents_are_told_apart_by_their_prompts(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        outer = agent_chain.deploy(
            "SimpleAgent", EXECUTOR, "default", "Boss", "", "", "You delegate.", [agent], 3
        )
        model = agent_chain.model
        model.when("", use("Clerk", prompt="Go"), answer("outer"), prompt="You delegate")
        model.when("Go", answer("inner"), prompt="You count")
        receipt = agent_chain.ask(outer, "Go")
        assert answers_of(agent_chain, receipt) == ['{"prompt": "Go"}', "inner", "outer"]

    def test_a_pattern_that_is_asked_for_more_fails_the_request(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        agent_chain.model.when("Add", ADD)
        with pytest.raises(
            ScriptError,
            match=r"^when\('Add'\) has 1 step, all used in this run; step 2 of 'Add'",
        ):
            agent_chain.ask(agent, "Add")
        agent_chain.model.reset()

    def test_a_pattern_that_is_not_used_up_fails_unless_it_is_optional(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        model = agent_chain.model
        model.when("maybe", answer("x"), is_optional=True)
        model.when("Add", answer("done"), answer("more"), prompt="You count")
        agent_chain.ask(agent, "Add")
        with pytest.raises(ScriptError) as caught:
            model.verify()
        assert str(caught.value).startswith(
            "when('Add', prompt='You count') has steps that were not requested:\n"
            '  1. answer("done")\n'
            '  2. answer("more") (not used)\n'
        )
        model.reset()

    @pytest.mark.parametrize("pattern", ["(", "*"])
    def test_what_is_no_pattern_is_refused(self, agent_chain: AgentChain, pattern: str) -> None:
        with pytest.raises(ConfigError, match="is not a regular expression"):
            agent_chain.model.when(pattern, answer("x"))
        with pytest.raises(ConfigError, match="is not a regular expression"):
            agent_chain.model.when("", answer("x"), prompt=pattern)


class TestFunctionsAndModels:
    """`model.respond` and `model.use_model`."""

    def test_a_function_answers_by_the_request(
        self, agent_chain: AgentChain, agent: Contract, counter: Contract
    ) -> None:
        def respond(request: GenerationRequest) -> Step:
            told = parse_prompt(request)
            return answer(f"{told.question}: {told.observation}") if told.step > 2 else ADD

        agent_chain.model.respond(respond)
        receipt = agent_chain.ask(agent, "Count")
        assert answers_of(agent_chain, receipt)[-1] == "Count: The counter is: 2"
        assert counter.functions.number().call() == 2

    def test_what_a_function_raises_reaches_the_test(
        self, agent_chain: AgentChain, agent: Contract, caplog: pytest.LogCaptureFixture
    ) -> None:
        def respond(request: GenerationRequest) -> Step:
            assert parse_prompt(request).question == "another"
            raise NotImplementedError

        agent_chain.model.respond(respond)
        with pytest.raises(AssertionError, match="another") as caught:
            agent_chain.ask(agent, "Go")
        frames = [entry.name for entry in caught.traceback]
        assert frames[-1] == "respond"
        assert "apply_message" not in frames  # A frame of the EVM.
        assert "this is a bug" not in caplog.text
        agent_chain.model.reset()

    def test_a_function_that_returns_no_step_fails_the_request(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        agent_chain.model.respond(lambda _: None)  # type: ignore[arg-type, return-value]
        with pytest.raises(ScriptError, match="returned None for step 1 of 'Go'; return a step"):
            agent_chain.ask(agent, "Go")
        agent_chain.model.reset()

    def test_another_model_answers(self, agent_chain: AgentChain, agent: Contract) -> None:
        vocabulary = agent_chain.model.vocabulary
        model = ModelStub(lambda: vocabulary)
        model.script(answer("by another"))
        agent_chain.model.use_model(model)
        assert answers_of(agent_chain, agent_chain.ask(agent, "Go")) == ["by another"]
        model.verify()
        agent_chain.model.use_model(None)
        with pytest.raises(ScriptError, match="nothing is scripted"):
            agent_chain.ask(agent, "Go")
        agent_chain.model.reset()

    @pytest.mark.parametrize("fault", [RecordError("not recorded"), EngineFault("it died")])
    def test_the_fault_of_another_model_reaches_the_test(
        self, agent_chain: AgentChain, agent: Contract, fault: EngineFault
    ) -> None:
        class Failing:
            def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
                raise NotImplementedError

            def generate(self, request: GenerationRequest) -> Generation:
                assert parse_prompt(request).question == "Go"
                raise fault

        agent_chain.model.use_model(Failing())
        with pytest.raises(type(fault)) as caught:
            agent_chain.ask(agent, "Go")
        assert caught.value is fault
        agent_chain.model.reset()


def test_a_client_may_set_a_script_of_its_own(agent_chain: AgentChain, agent: Contract) -> None:
    agent_chain.request("agent_setScript", [{"answer": "by a client"}])
    assert answers_of(agent_chain, agent_chain.ask(agent, "Go")) == ["by a client"]
    assert agent_chain.request("agent_clearScript")
    agent_chain.model.script(answer("by the test"))
    assert answers_of(agent_chain, agent_chain.ask(agent, "Go")) == ["by the test"]


class TestForAWhile:
    """`model.script_scope`, and a chain's `isolated`."""

    def test_what_stood_before_answers_during_and_after(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        model = agent_chain.model
        model.when("Rule", answer("ruled"))
        model.script(answer("one"), answer("two"))
        with agent_chain.isolated():
            receipt = agent_chain.ask(agent, "First")
            assert answers_of(agent_chain, receipt) == ["one"]
            model.when("More", answer("more"))
            model.script(answer("inside"))
            said = [agent_chain.ask(agent, question) for question in ("Rule", "More", "What?")]
            assert [answers_of(agent_chain, one)[0] for one in said] == ["ruled", "more", "inside"]
        said = [agent_chain.ask(agent, question) for question in ("First", "More")]
        assert [answers_of(agent_chain, one)[0] for one in said] == ["one", "two"]

    def test_what_is_left_of_it_fails_where_it_ends(
        self, agent_chain: AgentChain, agent: Contract
    ) -> None:
        model = agent_chain.model
        model.script(answer("one"))
        model.when("never", answer("outside"), is_optional=True)
        with (
            pytest.raises(ScriptError, match=r'Unused:\n  1. answer\("inside"\)'),
            model.script_scope(),
        ):
            model.script(answer("inside"))
        with pytest.raises(ScriptError, match=r"when\('never'\)"), model.script_scope():
            model.when("never", answer("inside"))

        def ask_for_more() -> None:
            with model.script_scope():
                model.script()
                with suppress(ScriptError):
                    agent_chain.ask(agent, "More")

        with pytest.raises(ScriptError, match="all are used"):
            ask_for_more()
        assert model.failure is None
        agent_chain.ask(agent, "First")

    def test_a_failure_meanwhile_is_all_that_is_told(self, agent_chain: AgentChain) -> None:
        def fail() -> None:
            with agent_chain.model.script_scope():
                agent_chain.model.script(answer("never"))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()

    @settings(
        max_examples=10,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(count=st.integers(0, 4))
    def test_examples_have_nothing_to_do_with_each_other(
        self, agent_chain: AgentChain, agent: Contract, counter: Contract, count: int
    ) -> None:
        with agent_chain.isolated():
            agent_chain.model.script(*[ADD] * count, answer("done"))
            agent_chain.ask(agent, "Count")
            assert counter.functions.number().call() == count


def test_many_threads_may_ask_at_once(agent_chain: AgentChain, agent: Contract) -> None:
    threads = 8
    agent_chain.model.script(*(answer(str(index)) for index in range(threads)))
    begin = threading.Barrier(threads)

    def ask(index: int) -> str:
        begin.wait()
        run = agent.functions.run(agent_input(f"Question {index}"), agent_chain.accounts[0])
        return str(run.call()[1])

    with ThreadPoolExecutor(threads) as pool:
        said = list(pool.map(ask, range(threads)))
    assert sorted(said) == [str(index) for index in range(threads)]


def test_a_reverting_run_is_no_failure_of_the_models(agent_chain: AgentChain) -> None:
    agent = clerk(agent_chain, agent_chain.deploy("RevertingTool", 0))
    agent_chain.model.script(use("RevertingTool"))
    with pytest.raises(ContractCustomError, match="ToolRefused"):
        agent_chain.ask(agent, "Go")
    assert agent_chain.model.failure is None


FREE = Path(__file__).with_name("recorded")
"""Fixtures of the model `smollm2-135m-free`: its steps have the format of scripts."""


class AnyModel(RecordingModel):
    """A model that a chain accepts under every digest."""

    @property
    def profile_facts(self) -> None:
        """None: nothing to compare."""
        return


@pytest.mark.parametrize("name", ["wallet", "nested", "rollback"])
def test_a_script_costs_what_the_real_model_cost_that_said_the_same(name: str) -> None:
    """A script of the real model's steps makes the same blocks, with the same hashes."""
    fixture = load_bundled_fixture(str(FREE / f"{name}.json"))
    exchanges = [step.exchange for step in fixture.steps]
    model = ModelStub(lambda: get_genesis_template().vocabulary)
    model.script([step_of(exchange) for exchange in exchanges])
    log: list[Exchange] = []
    models = {
        profile.name: AnyModel(model, name=profile.name, log=log)
        for profile in fixture.config.models
    }
    chain = Chain(fixture.config, models, accounts=fixture.pre)
    for recorded in fixture.blocks:
        mined = chain.import_block(recorded.encoded)
        assert mined.block.hash == recorded.block.hash
        assert mined.block.header.state_root == recorded.block.header.state_root
        gas = [0, *(receipt.gas_used for receipt in mined.receipts)]
        assert [b - a for a, b in pairwise(gas)] == [
            transaction.gas_used for transaction in recorded.transactions
        ]
    for said, wanted in zip(log, exchanges, strict=True):
        assert said.generation is not None
        assert wanted.generation is not None
        assert said.prompt_tokens == wanted.prompt_tokens
        assert said.generation.text == wanted.generation.text
        assert said.generation.tokens == wanted.generation.tokens
    model.verify()


def step_of(exchange: Exchange) -> Step:
    """Return a model's generation as a step of a script."""
    assert exchange.generation is not None
    thought, _, rest = exchange.generation.text.removeprefix(" ").partition("\n")
    if rest.startswith("Final Answer: "):
        return answer(rest.removeprefix("Final Answer: "), thought=thought)
    action, _, arguments = rest.removeprefix("Action: ").partition("\nAction Input: ")
    return use(action, thought, json.loads(arguments))
