"""`IERCAgent`: its loop, its errors, agents as tools of agents, by a scripted executor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector

from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    decode_error,
    deploy_reverting,
    final_answer,
    reverts,
    text_input,
    use_tool,
)
from tests.run_answers import ANSWERS

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract, Evm

NOT_DONE_SELECTOR = function_signature_to_4byte_selector("NotDone(string)")


def deploy_agent(evm: Evm, executor: str, tools: list[str], max_iterations: int = 3) -> Contract:
    return evm.deploy(
        "SimpleAgent",
        executor,
        "some-model",
        "Some Agent",
        "Does things",
        "What to do",
        "You do things.",
        tools,
        max_iterations,
    )


def add(tool: Contract, amount: int) -> tuple[object, ...]:
    return use_tool(tool.address, ["uint256"], [amount], f"add {amount}")


def test_agent_shows_what_it_was_given(evm: Evm) -> None:
    agent = deploy_agent(evm, OWNER.address, [STRANGER.address], 7)
    assert agent("name") == "Some Agent"
    assert agent("description") == "Does things"
    assert agent("inputDescription") == (((0, "prompt", "What to do"),),)
    assert agent("agentExecutorContract") == OWNER.address
    assert agent("modelId") == "some-model"
    assert agent("basePrompt") == "You do things."
    assert agent("getTools") == (STRANGER.address,)
    assert agent("tools", 0) == STRANGER.address
    assert agent("agentMaxIterations") == 7
    assert agent("currentRunId") == 0


def test_run_without_tools_answers_and_logs(evm: Evm, executor: Contract) -> None:
    agent = deploy_agent(evm, executor.address, [])
    executor("willReturn", final_answer("42"))

    assert agent("run", text_input("the question"), ZERO, sender=STRANGER) == (-1, "42")
    assert agent.events("AgentRunResult") == [
        {"runId": 1, "requester": STRANGER.address, "executionSteps": (), "answer": "42"}
    ]
    assert executor.events("IterationAsked") == [
        {
            "modelId": "some-model",
            "basePrompt": "You do things.",
            "tools": (),
            "agentReasoning": ("", "", ""),
            "toolResults": ("", "", ""),
            "prompt": "the question",
        }
    ]


def test_run_uses_tools_and_hands_their_results_on(evm: Evm, executor: Contract) -> None:
    tool = evm.deploy("CounterTool")
    agent = deploy_agent(evm, executor.address, [tool.address])
    for step in (add(tool, 5), add(tool, 7), final_answer("12")):
        executor("willReturn", step)

    assert agent("run", text_input("add 5 and 7"), ZERO) == (-1, "12")
    (event,) = agent.events("AgentRunResult")
    assert event["executionSteps"] == ("add 5", "add 7")
    asked = executor.events("IterationAsked")
    assert [a["agentReasoning"] for a in asked] == [
        ("", "", ""),
        ("add 5", "", ""),
        ("add 5", "add 7", ""),
    ]
    assert asked[2]["toolResults"] == ("The counter is: 5", "The counter is: 12", "")
    assert tool("number") == 12


def test_run_ids_count_runs(evm: Evm, executor: Contract) -> None:
    agent = deploy_agent(evm, executor.address, [])
    for expected in (1, 2):
        executor("willReturn", final_answer("done"))
        agent("run", text_input("do"), ZERO)
        assert agent.events("AgentRunResult")[0]["runId"] == expected


def test_agent_is_a_tool_of_another_agent(evm: Evm, executor: Contract) -> None:
    tool = evm.deploy("CounterTool")
    inner = deploy_agent(evm, executor.address, [tool.address])
    outer = deploy_agent(evm, executor.address, [inner.address])
    for step in (
        use_tool(inner.address, ["string"], ["add 5, please"], "ask the other one"),
        add(tool, 5),
        final_answer("it is 5"),
        final_answer("five"),
    ):
        executor("willReturn", step)

    assert outer("run", text_input("add 5"), ZERO) == (-1, "five")
    asked = executor.events("IterationAsked")
    assert [(a["prompt"], a["toolResults"][0]) for a in asked] == [
        ("add 5", ""),
        ("add 5, please", ""),
        ("add 5, please", "The counter is: 5"),
        ("add 5", "it is 5"),
    ]
    assert inner.events("AgentRunResult")[0]["requester"] == outer.address
    assert tool("number") == 5


def test_reentrant_run_keeps_its_own_id(evm: Evm, executor: Contract) -> None:
    # The scripted executor may name what isn't in the agent's list: here the agent itself.
    agent = deploy_agent(evm, executor.address, [])
    for step in (
        use_tool(agent.address, ["string"], ["inner"], "ask myself"),
        final_answer("inner answer"),
        final_answer("outer answer"),
    ):
        executor("willReturn", step)

    agent("run", text_input("outer"), ZERO)
    assert [(e["runId"], e["requester"], e["answer"]) for e in agent.events("AgentRunResult")] == [
        (2, agent.address, "inner answer"),
        (1, OWNER.address, "outer answer"),
    ]


def test_no_answer_within_the_limit_undoes_everything(evm: Evm, executor: Contract) -> None:
    tool = evm.deploy("CounterTool")
    agent = deploy_agent(evm, executor.address, [tool.address], max_iterations=2)
    for _ in range(2):
        executor("willReturn", add(tool, 1))
    with reverts("NoFinalAnswer", 2):
        agent("run", text_input("add"), ZERO)
    assert tool("number") == 0


def test_no_iterations_means_no_answer(evm: Evm, executor: Contract) -> None:
    agent = deploy_agent(evm, executor.address, [], max_iterations=0)
    with reverts("NoFinalAnswer", 0):
        agent("run", text_input("add"), ZERO)


def test_executor_errors_pass_through_unchanged(evm: Evm, executor: Contract) -> None:
    agent = deploy_agent(evm, executor.address, [])
    refusal = bytes.fromhex("453151b3") + encode(["string"], ["some-model"])
    executor("willRevert", refusal)
    with reverts("UnknownModel", "some-model"):
        agent("run", text_input("add"), ZERO)


def test_missing_executor_is_named(evm: Evm) -> None:
    nobody = "0x" + "00" * 18 + "0123"
    agent = deploy_agent(evm, nobody, [])
    with reverts("ExecutorMissing", nobody):
        agent("run", text_input("add"), ZERO)


NO_STRING = "value is not an ABI-encoded string"


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ([], "one parameter expected"),
        ([(0, encode(["string"], ["a"]))] * 2, "one parameter expected"),
        ([(4, encode(["uint256"], [1]))], "a STRING expected"),
        ([(0, b"")], NO_STRING),
        ([(0, encode(["uint256"], [32]))], NO_STRING),
        # Offset and length of the string:
        ([(0, encode(["uint256", "uint256"], [32, 1]))], NO_STRING),
        ([(0, encode(["uint256", "uint256"], [33, 0]))], NO_STRING),
        ([(0, encode(["uint256", "uint256"], [2**256 - 1, 0]))], NO_STRING),
        ([(0, encode(["uint256", "uint256"], [32, 2**256 - 1]))], NO_STRING),
    ],
)
def test_other_inputs_are_refused(
    evm: Evm, executor: Contract, params: list[object], reason: str
) -> None:
    agent = deploy_agent(evm, executor.address, [])
    with reverts("UnexpectedInput", reason):
        agent("run", (params, b""), ZERO)


def test_shortest_string_is_accepted(evm: Evm, executor: Contract) -> None:
    agent = deploy_agent(evm, executor.address, [])
    executor("willReturn", final_answer(""))
    assert agent("run", ([(0, encode(["uint256", "uint256"], [32, 0]))], b""), ZERO) == (-1, "")


def test_reason_of_a_failing_tool_is_kept(evm: Evm, executor: Contract) -> None:
    tool = evm.deploy("RevertingTool", 2)
    agent = deploy_agent(evm, executor.address, [tool.address])
    for _ in range(2):
        executor("willReturn", use_tool(tool.address, [], []))
    refused = bytes.fromhex("fe625ae9") + encode(["uint256"], [2])
    with reverts("ToolCallFailed", tool.address, refused):
        agent("run", text_input("do it twice"), ZERO)
    assert decode_error(refused) == ("ToolRefused", 2)
    assert tool("calls") == 0


def test_asynchronous_tool_is_refused(evm: Evm, executor: Contract) -> None:
    tool = evm.deploy("RawTool", encode(["int256", "string"], [7, ""]))
    agent = deploy_agent(evm, executor.address, [tool.address])
    executor("willReturn", use_tool(tool.address, [], []))
    with reverts("AsynchronousToolUnsupported", tool.address, 7):
        agent("run", text_input("do"), ZERO)


@pytest.mark.parametrize(
    "output",
    [
        b"",
        encode(["int256"], [-1]),
        encode(["int256", "uint256"], [-1, 64]),
        encode(["int256", "uint256", "uint256"], [-1, 64, 1]),
        encode(["int256", "uint256", "uint256"], [-1, 65, 0]),
    ],
)
def test_malformed_tool_result_is_refused(evm: Evm, executor: Contract, output: bytes) -> None:
    tool = evm.deploy("RawTool", output)
    agent = deploy_agent(evm, executor.address, [tool.address])
    executor("willReturn", use_tool(tool.address, [], []))
    with reverts("MalformedToolResult", tool.address, len(output)):
        agent("run", text_input("do"), ZERO)


NOT_DONE = "UNSURE: I am not sure which tool to use: add or none?"


@pytest.mark.parametrize(("said", "expected"), ANSWERS)
def test_a_run_without_tools_returns_any_answer(
    evm: Evm, executor: Contract, said: str, *, expected: bool
) -> None:
    simple = deploy_agent(evm, executor.address, [])
    executor("willReturn", final_answer(said))
    assert simple("run", text_input("do"), ZERO) == (-1, said)
    owned = evm.deploy(
        "OwnedAgent", OWNER.address, executor.address, "m", "Owned", "d", "i", "b", [], 4
    )
    executor("willReturn", final_answer(said))
    if expected:
        assert owned("run", text_input("do"), ZERO) == (-1, said)
        return
    with reverts("NotDone", said):
        owned("run", text_input("do"), ZERO)
    with reverts("NotDone", said):
        owned("instruct", "do")


@pytest.mark.parametrize(("said", "expected"), ANSWERS)
def test_a_run_that_used_a_tool_is_done_or_undone(
    evm: Evm, executor: Contract, said: str, *, expected: bool
) -> None:
    tool = evm.deploy("CounterTool")
    agent = deploy_agent(evm, executor.address, [tool.address])
    executor("willReturn", add(tool, 5))
    executor("willReturn", final_answer(said))
    if expected:
        assert agent("run", text_input("add 5"), ZERO) == (-1, said)
        assert tool("number") == 5
        return
    with reverts("NotDone", said):
        agent("run", text_input("add 5"), ZERO)
    assert (tool("number"), agent("currentRunId")) == (0, 0)


@pytest.mark.parametrize(("said", "expected"), ANSWERS)
def test_a_result_that_is_not_done_ends_the_run(
    evm: Evm, executor: Contract, said: str, *, expected: bool
) -> None:
    tool = evm.deploy("RawTool", encode(["int256", "string"], [-1, said]))
    agent = deploy_agent(evm, executor.address, [tool.address])
    executor("willReturn", use_tool(tool.address, [], []))
    executor("willReturn", final_answer("went on"))
    if expected:
        assert agent("run", text_input("do"), ZERO) == (-1, "went on")
        assert len(executor.events("IterationAsked")) == 2
        return
    with reverts("NotDone", said):
        agent("run", text_input("do"), ZERO)


@pytest.mark.parametrize("has_acted", [False, True])
def test_a_nested_agent_that_is_not_done_ends_every_run_around_it(
    evm: Evm, executor: Contract, *, has_acted: bool
) -> None:
    """It returns its refusal, or undoes its run: the agents around it answer alike."""
    tool = evm.deploy("CounterTool")
    agents = [deploy_agent(evm, executor.address, [tool.address])]
    for _ in range(2):
        agents.append(deploy_agent(evm, executor.address, [agents[-1].address, tool.address], 4))
    inner, middle, outer = agents
    reasoning = "Thought: add 2\nAction: Counter: 2\nAction Input: {}"
    for step in (
        use_tool(tool.address, ["uint256"], [2], reasoning),
        use_tool(tool.address, ["uint256"], [3], "no lines"),
        use_tool(middle.address, ["string"], ["add 5"], "ask"),
        use_tool(inner.address, ["string"], ["add 5"], "ask"),
        *([add(tool, 5)] if has_acted else []),
        final_answer(NOT_DONE),
    ):
        executor("willReturn", step)
    done = "; done before: Counter: 2: The counter is: 2; : The counter is: 5"
    with reverts("NotDone", NOT_DONE + done):
        outer("run", text_input("add"), ZERO)
    assert tool("number") == 0
    assert [agent("currentRunId") for agent in agents] == [0, 0, 0]


@pytest.mark.parametrize(
    ("data", "is_not_done"),
    [
        (NOT_DONE_SELECTOR + encode(["string"], ["Failed"]), True),
        (NOT_DONE_SELECTOR + encode(["string"], ["Done. pay: Paid"]), False),
        (NOT_DONE_SELECTOR, False),
    ],
)
def test_a_revert_passes_for_no_result(
    evm: Evm, executor: Contract, data: bytes, *, is_not_done: bool
) -> None:
    tool = deploy_reverting(evm, data)
    agent = deploy_agent(evm, executor.address, [tool])
    executor("willReturn", use_tool(tool, [], []))
    executor("willReturn", final_answer("never asked for"))
    with reverts(*(("NotDone", "Failed") if is_not_done else ("ToolCallFailed", tool, data))):
        agent("run", text_input("do"), ZERO)


def test_two_runs_in_one_transaction(evm: Evm, executor: Contract) -> None:
    tool = evm.deploy("CounterTool")
    agent = deploy_agent(evm, executor.address, [tool.address])
    twice = evm.deploy("RunTwice")
    for step in (add(tool, 1), final_answer("a"), add(tool, 2), final_answer("b")):
        executor("willReturn", step)
    assert twice("runBoth", agent.address, "first", agent.address, "second") == ("a", "b")
    assert tool("number") == 3


def test_undone_run_leaves_nothing(evm: Evm, executor: Contract) -> None:
    tool = evm.deploy("CounterTool")
    agent = deploy_agent(evm, executor.address, [tool.address])
    twice = evm.deploy("RunTwice")
    for step in (add(tool, 5), final_answer("a")):
        executor("willReturn", step)
    # The script's position is rolled back as well, so the second run gets the same steps.
    assert twice("runUndoneThenRun", agent.address, "first", agent.address, "second") == "a"
    assert decode_error(twice.events("Failed")[0]["reason"]) == ("Undone", "a")
    assert tool("number") == 5
    assert agent("currentRunId") == 1
