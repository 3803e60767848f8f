"""Version 1 by callback: agents on the oracle, asynchronous tools, results through adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import decode, encode

from tests.contracts.callback.oracle_bench import AGENT_GAS, ETHER, LIFETIME, TIMEOUT, OracleBench
from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, reverts
from tests.contracts.v1.draft import (
    RESULT_TYPE,
    RUN_NEXT_ITERATION,
    SYNCHRONOUS,
    final_answer,
    params,
    reason,
    selector,
    use_tool,
)
from tests.run_answers import ANSWERS, REFUSALS

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract

ARGUMENT_TYPES = ["string", "string", "string", "address[]", "string[]", "string"]
ASKING_MODEL, AWAITING_TOOL, ANSWERED, TOOL_FAILED, REFUSED, MALFORMED = 1, 3, 4, 5, 6, 7
NOT_DONE = 11
PROMPT = "add 5"


@pytest.fixture
def bench() -> OracleBench:
    return OracleBench()


@pytest.fixture
def tool(bench: OracleBench) -> Contract:
    return bench.evm.deploy("CounterToolV1")


@pytest.fixture
def agent(bench: OracleBench, tool: Contract) -> Contract:
    return bench.evm.deploy(
        "SimpleCallbackAgentV1",
        (bench.oracle.address, AGENT_GAS, TIMEOUT, LIFETIME),
        *("some-model", "Some Agent", "You count.", "What to do", [tool.address], 4),
    )


def add(tool: Contract, amount: int) -> bytes:
    step = use_tool(tool.address, ["uint256"], [amount], reason("CounterToolV1", amount))
    return encode([RESULT_TYPE], [step])


def say(bench: OracleBench, agent: Contract, output: bytes, *, refused: bool = False) -> None:
    assert bench.answer(bench.request_of(agent), output, refused=refused)


def finish(bench: OracleBench, agent: Contract, text: str = "done") -> None:
    say(bench, agent, encode([RESULT_TYPE], [final_answer(text)]))


def subscribe(bench: OracleBench, agent: Contract, caller: str) -> None:
    number = bench.oracle("subscribe", value_wei=ETHER)
    bench.oracle("setConsumer", number, agent.address, True)  # noqa: FBT003 - Solidity's order
    agent("setSubscription", number)
    agent("setCaller", caller, True)  # noqa: FBT003


def test_a_run_asks_by_the_drafts_calldata(
    bench: OracleBench, agent: Contract, tool: Contract
) -> None:
    bench.ask(agent, PROMPT)
    say(bench, agent, add(tool, 5))
    (event,) = bench.oracle.events("AgentRequested")
    assert event["arguments"] == agent("argumentsOf", 1)
    assert event["arguments"][:4] == selector(RUN_NEXT_ITERATION)
    entry = f"{reason('CounterToolV1', 5)}\nObservation: The counter is: 5\n"
    asked = decode(ARGUMENT_TYPES, event["arguments"][4:])
    texts = ("some-model", "Some Agent", "You count.")
    assert asked == (*texts, (tool.address,), (entry,), PROMPT)
    finish(bench, agent)
    assert (agent("statusOf", 1), agent("resultOf", 1)) == (ANSWERED, "done")
    assert agent("stepsOf", 1) == (entry,)


@pytest.mark.parametrize(("said", "expected"), ANSWERS)
def test_the_end_of_a_run_says_whether_it_is_done(
    bench: OracleBench, agent: Contract, tool: Contract, said: str, *, expected: bool
) -> None:
    bench.ask(agent, PROMPT)
    say(bench, agent, add(tool, 5))
    finish(bench, agent, said)
    events = agent.events("AgentRunResult"), agent.events("AgentRunFailed")
    (entry,) = agent("stepsOf", 1)
    assert [event["executionSteps"] for event in events[not expected]] == [(entry,)]
    assert events[expected] == []
    assert agent("statusOf", 1) == (ANSWERED if expected else NOT_DONE)
    assert (agent("resultOf", 1), tool("number")) == (said, 5)


@pytest.mark.parametrize("said", REFUSALS)
def test_an_asynchronous_result_that_is_not_done_ends_the_run(
    bench: OracleBench, agent: Contract, tool: Contract, said: str
) -> None:
    tool("setAsynchronous", True, False, 9)  # noqa: FBT003 - Solidity's order
    bench.ask(agent, PROMPT)
    say(bench, agent, add(tool, 5))
    tool("hand", 9, said)
    is_failure = said.startswith("FAILED: ")
    assert agent("statusOf", 1) == (TOOL_FAILED if is_failure else NOT_DONE)
    assert agent("resultOf", 1) == ("FAILED: a tool said: " * is_failure + said)


def test_the_result_goes_to_a_handler_of_version_1(bench: OracleBench, agent: Contract) -> None:
    handler = bench.evm.deploy("ResultHandlerV1")
    subscribe(bench, agent, handler.address)
    assert handler("ask", agent.address, PROMPT) == 1
    finish(bench, agent, "five")
    assert (handler("runId"), handler("result"), handler("results")) == (1, "five", 1)


@pytest.mark.parametrize("is_early", [False, True])
def test_an_asynchronous_tool_hands_in_its_result(
    bench: OracleBench, agent: Contract, tool: Contract, *, is_early: bool
) -> None:
    tool("setAsynchronous", True, is_early, 9)  # noqa: FBT003 - Solidity's order
    bench.ask(agent, PROMPT)
    say(bench, agent, add(tool, 5))
    if not is_early:
        assert agent("statusOf", 1) == AWAITING_TOOL
        with reverts("UnexpectedResult", STRANGER.address, 9):
            agent("handleAgentResult", 9, "forged", sender=STRANGER)
        tool("hand", 9, "five\nmore")
    assert agent("statusOf", 1) == ASKING_MODEL
    said = "The counter is: 5" if is_early else "five\\nmore"
    (entry,) = agent("stepsOf", 1)
    assert entry.endswith(f"\nObservation: {said}\n")


@pytest.mark.parametrize(
    ("output", "refused", "status"),
    [
        (b"\x01\x02\x03\x04", True, REFUSED),
        (b"", False, MALFORMED),
        (
            encode([RESULT_TYPE], [(False, "", OWNER.address, selector("run()"), "x")]),
            False,
            MALFORMED,
        ),
    ],
)
def test_another_answer_ends_the_run(
    bench: OracleBench, agent: Contract, output: bytes, status: int, *, refused: bool
) -> None:
    bench.ask(agent, PROMPT)
    say(bench, agent, output, refused=refused)
    assert agent("statusOf", 1) == status
    assert agent("resultOf", 1).startswith("FAILED: ")


def test_a_run_that_nobody_answers_expires(bench: OracleBench, agent: Contract) -> None:
    bench.ask(agent, PROMPT)
    bench.pass_time(LIFETIME + 1, blocks=1)
    agent("expireRun", 1, sender=STRANGER)
    assert agent("resultOf", 1) == "FAILED: the run took too long"


# -- through adapters -- #


def test_a_version_2_agent_by_callback_answers_a_version_1_client(bench: OracleBench) -> None:
    agent = bench.agent()
    adapter = bench.evm.deploy("ToolV2AsV1", agent.address, ZERO)
    subscribe(bench, agent, adapter.address)
    handler = bench.evm.deploy("ResultHandlerV1")
    run_id = handler("ask", adapter.address, PROMPT)
    bench.say((True, "five", ZERO, ([], b""), ""), run_id=run_id, agent=agent)
    assert (handler("runId"), handler("result"), handler("results")) == (run_id, "five", 1)


def test_a_version_1_agent_by_callback_is_a_tool_of_version_2(
    bench: OracleBench, agent: Contract
) -> None:
    adapter = bench.evm.deploy("ToolV1AsV2", agent.address, ZERO)
    subscribe(bench, agent, adapter.address)
    outer = bench.agent([adapter], name="Outer", run_timeout=LIFETIME)
    bench.ask(outer, "ask inside")
    value = encode(["string"], [PROMPT])
    step = (False, "", adapter.address, ([(0, value)], value), "ask")
    bench.say(step, agent=outer)
    assert outer("statusOf", 1) == AWAITING_TOOL
    finish(bench, agent, "five")
    assert outer("stepsOf", 1) == (("ask",), ("five",))
    bench.say((True, "done", ZERO, ([], b""), ""), agent=outer)
    assert outer("resultOf", 1) == "done"


@pytest.mark.parametrize("is_early", [False, True])
@pytest.mark.parametrize("version", [1, 2])
def test_a_relay_hands_on_each_result_once(
    bench: OracleBench, tool: Contract, version: int, *, is_early: bool
) -> None:
    """By a pin of version 1, and by adapters there and back."""
    handler = bench.evm.deploy("ResultHandlerV1")
    relay = bench.evm.deploy("PinnedToolV1", tool.address, ZERO)
    if version == 2:
        there = bench.evm.deploy("ToolV1AsV2", tool.address, ZERO)
        relay = bench.evm.deploy("ToolV2AsV1", there.address, ZERO)
    tool("setAsynchronous", True, is_early, 3)  # noqa: FBT003 - Solidity's order
    assert handler("ask", relay.address, PROMPT) == 3
    if not is_early:
        assert handler("results") == 0
        tool("hand", 3, "later")
    assert (handler("runId"), handler("results")) == (3, 1)
    assert (handler("result") == "later") is not is_early
    for sender, number in ((STRANGER, 3), (STRANGER, 4)):
        with reverts("UnexpectedResult", sender.address, number):
            relay("handleAgentResult", number, "forged", sender=sender)
    with reverts("UnexpectedResult", tool.address, 3):
        tool("hand", 3, "again")


@pytest.mark.parametrize(
    ("output", "error"),
    [
        (b"", ("MalformedResult", 0)),
        (encode(["int256", "string"], [-2, "x"]), ("MalformedRunId", 2**256 - 2)),
    ],
)
def test_a_relay_refuses_results_of_no_version(
    bench: OracleBench, output: bytes, error: tuple[str, int]
) -> None:
    recorder = bench.evm.deploy("CallRecorder")
    recorder("setAnswer", output)
    name, detail = error
    adapter = bench.evm.deploy("ToolV1AsV2", recorder.address, ZERO)
    with reverts(name, recorder.address, detail):
        adapter("run", ([], b""), ZERO)


def test_a_synchronous_run_needs_no_handler(bench: OracleBench) -> None:
    counter = bench.evm.deploy("CounterTool")
    adapter = bench.evm.deploy("ToolV2AsV1", counter.address, ZERO)
    assert adapter("run", (params(["uint256"], [5]),), ZERO) == (SYNCHRONOUS, "The counter is: 5")
    back = bench.evm.deploy("ToolV1AsV2", adapter.address, ZERO)
    value = encode(["uint256"], [7])
    assert back("run", ([(4, value)], value), ZERO) == (-1, "The counter is: 12")
