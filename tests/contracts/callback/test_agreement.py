"""A CallbackAgent does what a SimpleAgent does with the same answers of the model.

Where the run is not done, the SimpleAgent undoes it, and the CallbackAgent's steps stand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode, encode

from precompiles.outcome import is_done
from tests.contracts.callback.test_runs import ANSWERED, ARGUMENT_TYPES
from tests.contracts.callback.test_runs import NOT_DONE as NOT_DONE_STATUS
from tests.contracts.plain_evm import (
    OWNER,
    ZERO,
    RevertedError,
    final_answer,
    text_input,
    use_tool,
)

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import OracleBench
    from tests.contracts.plain_evm import Contract

NOT_DONE = "UNSURE: which tool?"
COUNT, SAY = 0, 1
"""Tools: a counter, and one whose result is a parameter of the test."""


def step(number: int, *, tool: int = COUNT) -> tuple[int, int, str]:
    action = "Counter" if tool == COUNT else "RawTool"
    return (tool, number, f"Thought: step {number}\nAction: {action}\nAction Input: {{}}")


def deploy_tools(bench: OracleBench, said: str) -> list[Contract]:
    result = encode(["int256", "string"], [-1, said])
    return [bench.evm.deploy("CounterTool"), bench.evm.deploy("RawTool", result)]


def build_script(
    tools: list[Contract], steps: list[tuple[int, int, str]], answer: str
) -> list[tuple[object, ...]]:
    return [
        *(
            use_tool(
                tools[tool].address,
                ["uint256"] if tool == COUNT else [],
                [number] if tool == COUNT else [],
                reasoning,
            )
            for tool, number, reasoning in steps
        ),
        final_answer(answer),
    ]


def without_empty_end(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out the entries that the executor ignores."""
    while texts and not texts[-1]:
        texts = texts[:-1]
    return texts


@pytest.mark.parametrize(
    ("steps", "said", "answer", "asked"),
    [
        ([], "", "at once", 1),
        ([], "", "", 1),
        ([step(5)], "", "5", 2),
        ([step(5), step(7), step(1)], "", "13", 4),
        ([step(1, tool=SAY), step(2)], "a\nb\u2028c “d”", "ünïcode", 3),
        ([step(1), step(2, tool=SAY), step(3)], NOT_DONE, "never said", 2),
        ([step(1), step(1, tool=SAY)], "FAILED: says a tool", "never said", 2),
        ([step(1)], "", NOT_DONE, 2),
        ([], "", NOT_DONE, 1),
        ([step(1)], "", "FAILED: says the model", 2),
    ],
)
def test_same_script_gives_the_same_run(
    bench: OracleBench, steps: list[tuple[int, int, str]], said: str, answer: str, asked: int
) -> None:
    executor = bench.evm.deploy("MockExecutor")
    questions: list[dict[str, Any] | None]
    tools = deploy_tools(bench, said)
    embedded = bench.evm.deploy(
        "SimpleAgent",
        *(executor.address, "some-model", "Some Agent", "Does things", "What to do"),
        *("You do things.", [tool.address for tool in tools], 4),
    )
    for result in build_script(tools, steps, answer):
        executor("willReturn", result)
    try:
        _, embedded_answer = embedded("run", text_input("the prompt"), ZERO)
        expected = embedded.events("AgentRunResult")
        questions = [*executor.events("IterationAsked")]
        assert len(questions) == asked
    except RevertedError as error:  # It used a tool, and is not done: no event of it is left.
        name, embedded_answer = error.error
        expected, questions = [], [None] * asked
        assert (name, is_done(str(embedded_answer))) == ("NotDone", False)
    number = tools[COUNT]("number")

    tools = deploy_tools(bench, said)
    agent = bench.agent(tools, max_iterations=4)
    bench.ask(agent, sender=OWNER)
    for question, result in zip(questions, build_script(tools, steps, answer), strict=False):
        arguments = agent("argumentsOf", 1)[4:]
        model, base_prompt, named, reasoning, results, prompt = decode(ARGUMENT_TYPES, arguments)
        assert named == tuple(tool.address for tool in tools)
        if question is not None:
            assert (model, base_prompt, prompt) == tuple(
                question[name] for name in ("modelId", "basePrompt", "prompt")
            )
            assert reasoning == without_empty_end(question["agentReasoning"])
            assert results == question["toolResults"][: len(reasoning)]
        bench.say(result, agent=agent)
    if is_done(str(embedded_answer)):
        assert agent.events("AgentRunResult") == expected
        assert (agent("statusOf", 1), agent("resultOf", 1)) == (ANSWERED, embedded_answer)
        assert tools[COUNT]("number") == number
        return
    (event,) = agent.events("AgentRunFailed")
    used = tuple(reasoning for _, _, reasoning in steps[:asked])
    assert (event["executionSteps"], event["reason"]) == (used, embedded_answer)
    assert event["status"] == agent("statusOf", 1) == NOT_DONE_STATUS
    assert agent("resultOf", 1) == embedded_answer
    counted = sum(number for tool, number, _ in steps[:asked] if tool == COUNT)
    assert (number, tools[COUNT]("number")) == (0, counted)
