"""Cases of `benchmarks.testkit`: chains, a five-step agent, and the same with stored answers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pyevm_agents.models import SwappableModel, answer, use
from pyevm_agents.testing import AgentChain

if TYPE_CHECKING:
    from pathlib import Path

    from precompiles.language_model import Generation, GenerationRequest, LanguageModel, Segment
    from pyevm_agents.models.fakes.scripted import AnswerStep, ToolStep
    from pyevm_agents.testing.genesis_template import GenesisTemplate

EXECUTOR = "0x0000000000000000000000000000000000000019"
TOOLS = ("CounterTool", "EchoTool", "TokenInfoTool")
STEPS = 5


class StoredModel:
    """A model that repeats recorded generations without work."""

    def __init__(self, model: LanguageModel) -> None:
        """Record a model."""
        self._model = model
        self._tokens: dict[tuple[Segment, ...], tuple[int, ...]] = {}
        self._said: dict[tuple[tuple[int, ...], str], Generation] = {}

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        if segments not in self._tokens:
            self._tokens[segments] = self._model.tokenize(segments)
        return self._tokens[segments]

    def generate(self, request: GenerationRequest) -> Generation:
        """Return the recorded generation of this prompt."""
        key = (request.prompt_tokens, request.grammar)
        if key not in self._said:
            self._said[key] = self._model.generate(request)
        return self._said[key]


def set_up(beginning: GenesisTemplate) -> float:
    """Create a chain with web3.py and close it; return the seconds."""
    begun = time.perf_counter()
    with AgentChain(beginning) as chain:
        _ = chain.w3
    return time.perf_counter() - begun


class FiveSteps:
    """A chain with an agent of three tools, for five steps."""

    def __init__(self, beginning: GenesisTemplate) -> None:
        """Deploy it."""
        self.chain = AgentChain(beginning)
        tools = [self.chain.deploy(name) for name in TOOLS]
        self.agent: Any = self.chain.deploy(
            "SimpleAgent",
            agentExecutorContract=EXECUTOR,
            modelId="default",
            name="Clerk",
            description="Counts for you",
            inputDescription="What to count",
            basePrompt="You count what you are told to.",
            tools=tools,
            agentMaxIterations=STEPS,
        )
        self._snapshot = self.chain.snapshot()

    def run_script(self, words: str) -> float:
        """Run it by a script, with these words in its thoughts; return the seconds."""
        self._begin_anew()
        return self._time_steps(script(words))

    def run_stored(self, words: str, repeats: int) -> list[float]:
        """Run it by a script, then repeatedly with every answer stored; return their seconds."""
        (switch,) = self.chain.chain.models.values()
        assert isinstance(switch, SwappableModel)  # noqa: S101 - as an AgentChain has it
        self._begin_anew()
        stored = StoredModel(self.chain.model)
        own, switch.original = switch.original, stored
        switch.swap(None)
        try:
            self._time_steps(script(words))
            times = []
            for _ in range(repeats):
                self._begin_anew()
                times.append(self._time_steps(()))
        finally:
            switch.original = own
            switch.swap(None)
        return times

    def _begin_anew(self) -> None:
        self.chain.revert(self._snapshot)
        self._snapshot = self.chain.snapshot()

    def _time_steps(self, steps: tuple[ToolStep | AnswerStep, ...]) -> float:
        begun = time.perf_counter()
        if steps:
            self.chain.model.script(*steps)
        receipt = self.chain.ask(self.agent, "Add to the counter", gas=30_000_000)
        seconds = time.perf_counter() - begun
        steps_made = len(self.chain.steps(receipt["transactionHash"]))
        if receipt["status"] != 1 or steps_made != STEPS:
            raise RuntimeError(f"the run ended after {steps_made} steps: {receipt}")
        return seconds

    def close(self) -> None:
        """Close the chain."""
        self.chain.close()


def script(words: str) -> tuple[ToolStep | AnswerStep, ...]:
    """Return five steps with these words."""
    uses = [use("CounterTool", thought=f"{words}, {n}", amount=n + 1) for n in range(STEPS - 1)]
    return (*uses, answer(f"{words}, done"))


ONE_STEP_SUITE = """
import pytest
from pyevm_agents.testing import answer

@pytest.mark.parametrize("number", range({count}))
def test_one_step(agent_chain, deploy, model, number):
    agent = deploy(
        "SimpleAgent", agentExecutorContract="{executor}", modelId="default", name="Clerk",
        description="Answers", inputDescription="What", basePrompt="You answer.", tools=[],
        agentMaxIterations=1,
    )
    model.script(answer(f"It is {{number}}"))
    receipt = agent_chain.ask(agent, f"What is {{number}}?", gas=10_000_000)
    assert receipt["status"] == 1
"""
"""A thousand tests with new words in each."""

ETH_TESTER_SUITE = """
import json
from pathlib import Path

import pytest
from eth_abi import encode
from web3 import EthereumTesterProvider, Web3

BUILD = Path({build!r})
NOBODY = "0x" + "00" * 20

@pytest.fixture
def w3():
    w3 = Web3(EthereumTesterProvider())
    w3.eth.default_account = w3.eth.accounts[0]
    return w3

def deploy(w3, name, *arguments):
    form = json.loads((BUILD / f"{{name}}.json").read_text())
    contract = w3.eth.contract(abi=form["abi"], bytecode=form["bytecode"])
    sent = contract.constructor(*arguments).transact()
    address = w3.eth.wait_for_transaction_receipt(sent)["contractAddress"]
    return w3.eth.contract(address=address, abi=form["abi"])

@pytest.mark.parametrize("number", range({count}))
def test_one_step(w3, number):
    executor = deploy(w3, "MockExecutor")
    result = (True, f"It is {{number}}", NOBODY, ([], b""), "")
    executor.functions.willReturn(result).transact()
    agent = deploy(
        w3, "SimpleAgent", executor.address, "default", "Clerk", "Answers", "What", "You answer.",
        [], 1,
    )
    asked = encode(["string"], [f"What is {{number}}?"])
    sent = agent.functions.run(([(0, asked)], asked), NOBODY).transact({{"gas": 10_000_000}})
    assert w3.eth.wait_for_transaction_receipt(sent)["status"] == 1
"""
"""The same with a stub of the executor, set up as in web3.py's documentation."""


def write_suite(folder: Path, suite: str, **values: object) -> None:
    """Write a suite of tests into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test_one_step.py").write_text(suite.format(**values), encoding="utf-8")
    (folder / "pytest.ini").write_text(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\n", encoding="utf-8"
    )
