"""Mistakes in a test raise a clear error at once and change nothing."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from pyevm_agents.errors import ConfigError, ScriptError
from pyevm_agents.testing import (
    AgentChain,
    adversary,
    again,
    answer,
    assert_agent,
    faults,
    use,
)
from tests.pyevm_agents.testing.agents import EXECUTOR

anyhow: Any = faults
about: Any = assert_agent
open_chain: Any = AgentChain
enemy: Any = adversary
ODD: Any = b"x"
"""Called, and given, as nobody should."""


class Scene:
    """A chain with a tool, its agent, and a token that is neither."""

    def __init__(self, chain: AgentChain) -> None:
        self.chain = chain
        self.counter = chain.deploy("CounterTool")
        self.clerk = chain.deploy(
            "SimpleAgent", EXECUTOR, "default", "n", "d", "i", "b", [self.counter], 3
        )
        self.token = chain.deploy("DemoToken", "a", "b", 6, 100)

    def ask(self, *steps: Any, **told: Any) -> Any:  # noqa: ANN401 - web3's
        self.chain.model.script(*steps or (answer("x"),))
        return self.chain.ask(self.clerk, "Add one", **told)


@pytest.fixture
def scene(agent_chain: AgentChain) -> Scene:
    return Scene(agent_chain)


MISTAKES: dict[str, tuple[Any, str]] = {
    "time": (
        lambda it: it.chain.increase_time(43200.0),
        "increase_time(43200.0): must be whole sec",
    ),
    "back": (
        lambda it: it.chain.increase_time(-100),
        "increase_time(-100): must be whole seconds, 0",
    ),
    "none": (lambda it: it.chain.increase_time(None), "increase_time(None): must be whole seconds"),
    "next": (
        lambda it: it.chain.set_next_timestamp(2e9),
        "set_next_timestamp(2000000000.0): must be",
    ),
    "wei": (
        lambda it: it.chain.set_balance(it.chain.accounts[1], 1.5e18),
        "set_balance(account, 1.5e+18): must be a whole number of wei, as an int",
    ),
    "debt": (lambda it: it.chain.set_balance(it.chain.accounts[1], -1), "a whole number of wei, 0"),
    "blocks": (lambda it: it.chain.mine("3"), "mine('3'): must be a number of blocks"),
    "field": (lambda it: it.ask(from_="0x"), "ask(…): there is no from_=; there are sender, gas"),
    "agent": (
        lambda it: it.chain.ask(it.clerk.address, "x"),
        ", …): must be a contract that `deploy` returned",
    ),
    "tool": (
        lambda it: it.chain.ask(it.counter, "x"),
        ", …): must be an agent; its ABI has none of",
    ),
    "schedule": (
        lambda _: open_chain(schedule={"tool_gas": 7}),
        "schedule {'tool_gas': 7}: must be the path of a schedule file, or a `ScheduleFile`",
    ),
    "question": (lambda it: it.chain.ask(it.clerk, None), "ask(agent, None): must be a text"),
    "not called": (
        lambda it: anyhow.tool(it.chain, it.counter, anyhow.runs_out_of_gas),
        "fault runs_out_of_gas: must be called, as runs_out_of_gas()",
    ),
    "model's": (
        lambda it: anyhow.tool(it.chain, it.counter, anyhow.refuses()),
        "is what a model does: model.script(…)",
    ),
    "text": (lambda _: anyhow.returns("0x1234"), "returns('0x1234'): must be bytes"),
    "no text": (lambda _: anyhow.answers(None), "answers(None): must be a text"),
    "bytes": (lambda it: anyhow.reenters(it.clerk, b"x"), "reenters(agent, b'x'): must be a text"),
    "name": (lambda _: anyhow.changes(name=5), "changes(5): must be a text"),
    "error": (lambda _: anyhow.reverts(error="E(uint256)", arguments=5), "must be a list, as [5]"),
    "named": (lambda _: anyhow.reverts(error="E(uint256 a)", arguments=[5]), "without names"),
    "after": (
        lambda it: anyhow.tool(it.chain, it.counter, anyhow.reverts(), after=-1),
        "after=-1): must be a number of uses, 0",
    ),
    "no tool": (
        lambda it: anyhow.tool(it.chain, it.token, anyhow.reverts()),
        "must be a tool, with inputDescription()",
    ),
    "no agent": (
        lambda it: anyhow.tool(it.chain, "CounterTool", anyhow.reverts(), of=it.counter),
        "is not an agent: it has no getTools()",
    ),
    "type": (
        lambda it: (
            about(it.ask(use("CounterTool", amount=1), answer("x")))
            .used("CounterTool")
            .with_args(amount=str)
        ),
        "str is a type: give a value, or lambda value: isinstance(value, str)",
    ),
    "answer": (lambda it: about(it.ask()).answered(None), "answered(None): must be one text"),
    "then": (lambda it: about(it.ask()).then_answered(None), "then_answered(None): must be"),
    "pattern": (
        lambda it: it.chain.model.when(None, answer("x")),
        "when(None, …): must be a regular",
    ),
    "float": (lambda _: use("CounterTool", amount=2.0), "or a list of one of these: amount=2"),
    "by position": (
        lambda it: use("CounterTool", it.chain.accounts[1], cast("Any", 1)),
        ", 1): pass tool arguments by name, such as use('CounterTool', amount=1)",
    ),
    "lambda": (lambda it: it.chain.model.use_model(lambda _: answer("x")), "it has no generate()"),
    "contract": (lambda it: it.chain.deploy(it.counter), "must be a contract's name or the path"),
    "again": (lambda _: again(ODD), "again(b'x'): must be a step, as again(use("),
    "unchecked": (lambda it: it.chain.model.unchecked(ODD), "unchecked(b'x'): must be a text"),
    "thought": (lambda _: answer("x", thought=ODD), "thought=b'x'): the thought must be a text"),
    "numbers": (lambda _: enemy(numbers="12"), "adversary(numbers='12'): must be a list of int"),
    "number": (lambda _: enemy(numbers=[True]), "adversary(numbers=[True]): must be a list of int"),
    "one": (lambda _: enemy(numbers=5), "adversary(numbers=5): must be a list of int"),
    "texts": (lambda _: enemy(texts="abc"), "adversary(texts='abc'): must be a list of str"),
    "bytes in": (lambda _: enemy(texts=[b"x"]), "adversary(texts=[b'x']): must be a list of str"),
    "libraries": (
        lambda it: it.chain.deploy("CounterTool", libraries=[1]),
        "libraries=[1]: must be a mapping of addresses by library name",
    ),
    "steps": (lambda it: it.chain.steps({"logs": "x" * 5_000}), "is not a transaction hash"),
    "receipt": (lambda _: about({"logs": "x" * 5_000}), "is not a transaction: give its"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_where_it_is_made(scene: Scene, mistake: str) -> None:
    act, message = MISTAKES[mistake]
    with pytest.raises(ConfigError, match=re.escape(message)) as refused:
        act(scene)
    assert len(str(refused.value)) < 500
    scene.chain.model.reset()
    before = scene.chain.time
    scene.ask()
    assert scene.chain.time == before + 1
    scene.chain.model.reset()


def test_a_forgotten_answer_is_asked_for(scene: Scene) -> None:
    with pytest.raises(ScriptError, match=r"did you mean answer\(\"It is 5.\"\), or use"):
        scene.ask("It is 5.")
    scene.chain.model.reset()


def test_whoever_sends_is_told_as_where_one_deploys(scene: Scene) -> None:
    other = scene.chain.accounts[1]
    assert scene.ask(sender=other)["from"] == other
    assert scene.ask(**{"from": other})["from"] == other
    assert scene.ask()["from"] == scene.chain.accounts[0]


def test_a_compiled_pattern_is_one(scene: Scene) -> None:
    scene.chain.model.when(re.compile("ADD", re.IGNORECASE), again(answer("x")))
    receipt = scene.chain.ask(scene.clerk, "Add one")
    assert len(scene.chain.steps(receipt)) == 1
