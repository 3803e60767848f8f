"""CallbackAgent: its runs from the first request to the last, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode, encode
from eth_utils import function_abi_to_4byte_selector, function_signature_to_4byte_selector

from pyevm_agents.abi.bundled import load_artifact
from tests.contracts.callback.oracle_bench import (
    AGENT_GAS,
    LIFETIME,
    MAX_ITERATIONS,
    TIMEOUT,
    WORKER,
    encode_iteration,
)
from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    RevertedError,
    decode_error,
    deploy_reverting,
    final_answer,
    reverts,
    text_input,
    use_tool,
)
from tests.run_answers import ANSWERS

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import OracleBench
    from tests.contracts.plain_evm import Contract

(
    NONE,
    ASKING_MODEL,
    USING_TOOL,
    AWAITING_TOOL,
    ANSWERED,
    TOOL_FAILED,
    REFUSED,
    MALFORMED_ANSWER,
    OUT_OF_ITERATIONS,
    DEADLINE_PASSED,
    REQUEST_FAILED,
    NOT_DONE,
) = range(12)
WRITE, WRITE_THEN_REVERT, RETURN, REVERT_WITH, RETURN_TEXT, BURN_GAS = range(6)
ARGUMENT_TYPES = ["string", "string", "address[]", "string[]", "string[]", "string"]


def add(tool: Contract, amount: int) -> tuple[object, ...]:
    return use_tool(tool.address, ["uint256"], [amount], f"add {amount}")


def use(tool: Contract) -> tuple[object, ...]:
    return use_tool(tool.address, [], [], "use it")


def failure(bench: OracleBench, agent: Contract, run_id: int = 1) -> tuple[int, str]:
    """Return status and result of a run that failed, after the checks that hold for all."""
    (failed,) = agent.events("AgentRunFailed")
    steps, _ = agent("stepsOf", run_id)
    status, result = agent("statusOf", run_id), agent("resultOf", run_id)
    assert failed["runId"] == run_id
    assert (failed["status"], failed["executionSteps"], failed["reason"]) == (status, steps, result)
    assert result.startswith("FAILED: ")
    _, _, _, _, _, _, budget_id = agent("runOf", run_id)
    assert bench.oracle("budgets", budget_id)[3], "the budget was released"
    return status, result.removeprefix("FAILED: ")


def test_agent_shows_what_it_was_given(bench: OracleBench) -> None:
    agent = bench.agent(name="Helper", max_iterations=7)
    assert agent("name") == "Helper"
    assert agent("description") == "Does things"
    assert agent("inputDescription") == (((0, "prompt", "What to do"),),)
    assert (agent("modelId"), agent("basePrompt")) == ("some-model", "You do things.")
    assert agent("getTools") == ()
    assert agent("agentMaxIterations") == 7
    assert agent("oracle") == bench.oracle.address
    settings = ("callbackGasLimit", "stepTimeout", "runTimeout")
    assert tuple(agent(one) for one in settings) == (AGENT_GAS, TIMEOUT, LIFETIME)
    assert agent("costOfRun") == 7 * bench.fee(AGENT_GAS)
    assert agent("owner") == OWNER.address


def test_run_asks_the_oracle_for_the_next_iteration(bench: OracleBench) -> None:
    tool = bench.evm.deploy("CounterTool")
    agent = bench.agent([tool])
    assert bench.ask(agent, "add 5") == 1
    (event,) = bench.oracle.events("AgentRequested")
    assert agent.events("AgentRunStarted") == [
        {
            "runId": 1,
            "requester": int(STRANGER.address, 16),
            "resultHandler": ZERO,
            "prompt": "add 5",
        }
    ]
    assert agent("statusOf", 1) == ASKING_MODEL
    assert event["arguments"] == agent("argumentsOf", 1)
    executor = load_artifact("IERCAgentExecutor")
    selector = executor.encode_call("runNextIteration", "", "", [], [], [], "")[:4]
    assert event["arguments"][:4] == selector
    given = ("some-model", "You do things.", (tool.address,))
    assert decode(ARGUMENT_TYPES, event["arguments"][4:]) == (*given, (), (), "add 5")

    bench.say(add(tool, 5), agent=agent)
    (event,) = bench.oracle.events("AgentRequested")
    assert decode(ARGUMENT_TYPES, event["arguments"][4:]) == (
        *given,
        ("add 5",),
        ("The counter is: 5",),
        "add 5",
    )


def test_run_ends_with_the_answer_and_its_steps(bench: OracleBench) -> None:
    tool = bench.evm.deploy("CounterTool")
    agent = bench.agent([tool])
    handler = bench.evm.deploy("ResultHandler")
    bench.ask(agent, handler=handler.address)
    bench.say(add(tool, 5), agent=agent)
    assert agent.events("AgentStep") == [
        {"runId": 1, "step": 0, "tool": int(tool.address, 16), "agentReasoning": "add 5"}
    ]
    assert agent.events("AgentToolResult") == [
        {"runId": 1, "step": 0, "result": "The counter is: 5"}
    ]
    bench.say(add(tool, 7), final_answer("12"), agent=agent)
    assert agent.events("AgentRunResult") == [
        {
            "runId": 1,
            "requester": STRANGER.address,
            "executionSteps": ("add 5", "add 7"),
            "answer": "12",
        }
    ]
    assert handler.events("ResultHandled") == [
        {"sender": int(agent.address, 16), "runId": 1, "result": "12"}
    ]
    assert (agent("statusOf", 1), agent("resultOf", 1)) == (ANSWERED, "12")
    reasoning, results = agent("stepsOf", 1)
    assert reasoning == ("add 5", "add 7")
    assert results == ("The counter is: 5", "The counter is: 12")
    requester, prompt, of_run, delivered, deadline, _, _ = agent("runOf", 1)
    assert (requester, prompt, of_run) == (STRANGER.address, "the prompt", handler.address)
    assert delivered
    assert deadline == bench.now - 3 * 12 + LIFETIME
    assert tool("number") == 12


def test_unused_steps_are_refunded_to_who_asked(bench: OracleBench) -> None:
    agent = bench.agent()
    bench.ask(agent)
    fee = bench.fee(AGENT_GAS)
    bench.say(final_answer("done"), agent=agent)
    assert bench.oracle("claimable", STRANGER.address) == (MAX_ITERATIONS - 1) * fee
    assert bench.oracle("claimable", WORKER.address) == fee
    assert bench.balance(agent.address) == 0


def test_runs_do_not_mix(bench: OracleBench) -> None:
    tools = [bench.evm.deploy("CounterTool") for _ in range(3)]
    agent = bench.agent(tools)
    for run_id in (1, 2, 3):
        assert bench.ask(agent, f"prompt {run_id}") == run_id
    for amount in (1, 2):
        for run_id, tool in enumerate(tools, start=1):
            bench.say(add(tool, 10 * run_id + amount), run_id=run_id, agent=agent)
    for run_id in (3, 1, 2):
        bench.say(final_answer(f"answer {run_id}"), run_id=run_id, agent=agent)
    for run_id, tool in enumerate(tools, start=1):
        assert agent("resultOf", run_id) == f"answer {run_id}"
        assert agent("stepsOf", run_id)[0] == (f"add {10 * run_id + 1}", f"add {10 * run_id + 2}")
        assert tool("number") == 20 * run_id + 3


def test_nested_agents_answer_one_by_one(bench: OracleBench) -> None:
    tool = bench.evm.deploy("CounterTool")
    inner = bench.agent([tool], name="Inner")
    outer = bench.agent([inner], name="Outer")
    number = bench.oracle("subscribe", value_wei=10**18)
    bench.oracle("setConsumer", number, inner.address, True)  # noqa: FBT003
    inner("setSubscription", number)
    inner("setCaller", outer.address, True)  # noqa: FBT003
    bench.ask(outer)
    bench.say(use_tool(inner.address, ["string"], ["add 5, please"], "ask it"), agent=outer)
    assert outer.events("AgentAwaitsTool") == [
        {"runId": 1, "tool": int(inner.address, 16), "toolRunId": 1}
    ]
    assert outer("statusOf", 1) == AWAITING_TOOL
    assert inner("runOf", 1)[:3] == (outer.address, "add 5, please", outer.address)
    bench.say(add(tool, 5), final_answer("it is 5"), agent=inner)
    assert outer("statusOf", 1) == ASKING_MODEL
    assert outer("stepsOf", 1)[1] == ("it is 5",)
    bench.say(final_answer("five"), agent=outer)
    assert outer("resultOf", 1) == "five"
    spent = bench.fee(AGENT_GAS) * 2
    assert bench.oracle("subscriptions", number) == (OWNER.address, 10**18 - spent)


def test_failure_of_a_nested_agent_ends_the_outer_run(bench: OracleBench) -> None:
    inner = bench.agent()
    outer = bench.agent([inner])
    number = bench.oracle("subscribe", value_wei=10**18)
    bench.oracle("setConsumer", number, inner.address, True)  # noqa: FBT003
    inner("setSubscription", number)
    inner("setCaller", outer.address, True)  # noqa: FBT003
    bench.ask(outer)
    bench.say(use_tool(inner.address, ["string"], ["do"]), agent=outer)
    bench.expire(bench.request_of(inner))
    status, reason = failure(bench, outer)
    assert status == TOOL_FAILED
    assert reason == "a tool said: FAILED: no worker answered in time"
    assert outer("stepsOf", 1) == (("a thought",), ("FAILED: no worker answered in time",))


# ---- Who may start a run


def test_subscription_pays_for_the_runs_of_allowed_callers(bench: OracleBench) -> None:
    agent = bench.agent()
    with reverts("CallerNotAllowed", STRANGER.address):
        agent("run", text_input("do"), ZERO, sender=STRANGER)
    with reverts("NoSubscription"):
        agent("run", text_input("do"), ZERO)
    cost = agent("costOfRun")
    number = bench.oracle("subscribe", value_wei=2 * cost)
    agent("setSubscription", number)
    assert agent.events("SubscriptionSet") == [{"subscriptionId": number}]
    with reverts("SubscriptionNotUsable", number, agent.address):
        agent("run", text_input("do"), ZERO)
    bench.oracle("setConsumer", number, agent.address, True)  # noqa: FBT003
    agent("setCaller", STRANGER.address, True)  # noqa: FBT003
    assert agent.events("CallerSet") == [{"caller": int(STRANGER.address, 16), "allowed": True}]
    assert agent("isCaller", STRANGER.address)
    assert agent("isCaller", OWNER.address)
    assert agent("run", text_input("first"), ZERO) == (1, "")
    assert agent("run", text_input("second"), ZERO, sender=STRANGER) == (2, "")
    with reverts("SubscriptionExhausted", number, 0, cost):
        agent("run", text_input("third"), ZERO)
    bench.say(final_answer("done"), run_id=2, agent=agent)
    fee = bench.fee(AGENT_GAS)
    assert bench.oracle("subscriptions", number) == (OWNER.address, cost - fee)
    agent("setCaller", STRANGER.address, False)  # noqa: FBT003
    with reverts("CallerNotAllowed", STRANGER.address):
        agent("run", text_input("do"), ZERO, sender=STRANGER)


@pytest.mark.parametrize(
    ("function", "arguments"), [("setSubscription", (1,)), ("setCaller", (STRANGER.address, True))]
)
def test_only_the_owner_manages_an_agent(
    bench: OracleBench, function: str, arguments: tuple[object, ...]
) -> None:
    with reverts("OwnableUnauthorizedAccount", STRANGER.address):
        bench.agent()(function, *arguments, sender=STRANGER)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ([], "one parameter expected"),
        ([(4, encode(["uint256"], [1]))], "a STRING expected"),
        ([(0, encode(["uint256"], [32]))], "value is not an ABI-encoded string"),
    ],
)
def test_other_inputs_are_refused(bench: OracleBench, params: list[object], reason: str) -> None:
    agent = bench.agent()
    agent("setSubscription", 1)
    with reverts("UnexpectedInput", reason):
        agent("run", (params, b""), ZERO)


def test_cost_of_a_run_must_be_sent(bench: OracleBench) -> None:
    agent = bench.agent()
    cost = agent("costOfRun")
    for value in (0, cost - 1):
        with reverts("WrongValue", value, cost):
            agent("ask", "do", ZERO, value_wei=value)
    agent("ask", "do", ZERO, value_wei=cost + 5)
    bench.say(final_answer("done"), agent=agent)
    assert bench.oracle("claimable", OWNER.address) == cost + 5 - bench.fee(AGENT_GAS)


# ---- Answers


def test_forged_sender_of_an_answer_is_refused(bench: OracleBench) -> None:
    agent = bench.agent()
    bench.ask(agent)
    request = bench.request_of(agent)
    for forger in (OWNER, STRANGER, WORKER):
        with reverts("NotOracle", forger.address):
            agent(
                *("handleAnswer", request.request_id, 1),
                encode_iteration(final_answer("forged")),
                sender=forger,
            )
    other = bench.evm.deploy("AgentOracle", OWNER.address, (0, 0, 0))
    assert other.address != bench.oracle.address
    assert agent("statusOf", 1) == ASKING_MODEL


def test_refusal_of_the_executor_ends_the_run(bench: OracleBench) -> None:
    agent = bench.agent()
    bench.ask(agent)
    refusal = bytes.fromhex("453151b3") + encode(["string"], ["some-model"])
    assert bench.answer(bench.request_of(agent), refusal, refused=True)
    assert failure(bench, agent) == (REFUSED, "the executor refused with error 0x453151b3")


def test_refusal_without_data_ends_the_run(bench: OracleBench) -> None:
    agent = bench.agent()
    bench.ask(agent)
    assert bench.answer(bench.request_of(agent), b"", refused=True)
    assert failure(bench, agent) == (REFUSED, "the executor refused with error 0x00000000")


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"\x00",
        encode(["uint256"], [32]),
        encode(["uint256", "uint256"], [32, 1]),
        encode_iteration(final_answer("x"))[:-1],
        encode(["(uint256,string,address,((uint8,bytes)[],bytes),string)"],
               [(2, "", ZERO, ([], b""), "")]),
    ],
)  # fmt: skip
def test_malformed_answer_ends_the_run(bench: OracleBench, output: bytes) -> None:
    agent = bench.agent()
    bench.ask(agent)
    assert bench.answer(bench.request_of(agent), output)
    expected = (MALFORMED_ANSWER, "the answer is not an AgentIterationResult")
    assert failure(bench, agent) == expected


def test_tool_that_only_a_lying_worker_names_is_not_called(bench: OracleBench) -> None:
    stranger, own = bench.evm.deploy("CounterTool"), bench.evm.deploy("CounterTool")
    agent = bench.agent([own])
    bench.ask(agent)
    bench.say(add(stranger, 5), agent=agent)
    assert failure(bench, agent) == (MALFORMED_ANSWER, "the answer names no tool of this agent")
    assert stranger("number") == 0


def test_last_iteration_calls_no_tool(bench: OracleBench) -> None:
    tool = bench.evm.deploy("CounterTool")
    agent = bench.agent([tool], max_iterations=2)
    bench.ask(agent)
    bench.say(add(tool, 1), add(tool, 2), agent=agent)
    assert failure(bench, agent) == (OUT_OF_ITERATIONS, "the last iteration gave no answer")
    assert tool("number") == 1  # earlier steps stand
    assert agent("stepsOf", 1) == (("add 1",), ("The counter is: 1",))


def test_request_that_nobody_answers_ends_the_run(bench: OracleBench) -> None:
    agent = bench.agent()
    bench.ask(agent)
    bench.expire(bench.request_of(agent))
    assert failure(bench, agent) == (DEADLINE_PASSED, "no worker answered in time")
    assert bench.oracle("claimable", STRANGER.address) == agent("costOfRun")


def test_anybody_ends_a_run_after_its_deadline(bench: OracleBench) -> None:
    agent = bench.agent()
    bench.ask(agent)
    deadline = bench.now + LIFETIME
    request = bench.request_of(agent)
    bench.pass_time(LIFETIME)
    with reverts("CannotExpire", 1, ASKING_MODEL, deadline):
        agent("expireRun", 1)
    bench.pass_time(1)
    agent("expireRun", 1, sender=STRANGER)
    assert failure(bench, agent) == (DEADLINE_PASSED, "the run took too long")
    with reverts("CannotExpire", 1, DEADLINE_PASSED, deadline):
        agent("expireRun", 1)
    with reverts("CannotExpire", 2, NONE, 0):
        agent("expireRun", 2)
    # The request ends after the run, and its fee goes back to who paid.
    assert bench.expire(request)
    assert agent("statusOf", 1) == DEADLINE_PASSED
    assert bench.oracle("claimable", STRANGER.address) == agent("costOfRun")


def test_answer_after_the_end_of_a_run_changes_nothing(bench: OracleBench) -> None:
    agent = bench.agent(step_timeout=2 * LIFETIME)
    bench.ask(agent)
    request = bench.request_of(agent)
    bench.pass_time(LIFETIME + 1)
    agent("expireRun", 1)
    assert bench.answer(request, encode_iteration(final_answer("late")))
    assert agent("resultOf", 1) == "FAILED: the run took too long"
    assert bench.oracle("claimable", WORKER.address) == bench.fee(AGENT_GAS)


def test_run_fails_if_its_budget_was_released(bench: OracleBench) -> None:
    tool = bench.evm.deploy("CounterTool")
    agent = bench.agent([tool], step_timeout=TIMEOUT, run_timeout=TIMEOUT)
    bench.ask(agent)
    for amount in (1, 2):
        bench.pass_time(TIMEOUT - 12)
        bench.say(add(tool, amount), agent=agent)
    request = bench.request_of(agent)
    bench.oracle("release", request.budget_id, sender=STRANGER)
    assert bench.answer(request, encode_iteration(add(tool, 3)))
    expected = (REQUEST_FAILED, "the oracle did not take the next request")
    assert failure(bench, agent) == expected
    assert tool("number") == 6


def test_run_fails_if_its_history_is_too_long_for_a_request(bench: OracleBench) -> None:
    tool = bench.evm.deploy("GreedyTool", RETURN_TEXT, 16_256, 0)
    agent = bench.agent([tool], callback_gas_limit=11_000_000, max_iterations=6)
    bench.ask(agent)
    for _ in range(4):
        assert agent("statusOf", 1) == ASKING_MODEL
        bench.say(use(tool), agent=agent)
    expected = (REQUEST_FAILED, "the oracle did not take the next request")
    assert failure(bench, agent) == expected


# ---- Tools


def test_tool_that_reverts_ends_the_run(bench: OracleBench) -> None:
    tool = bench.evm.deploy("RevertingTool", 0)
    agent = bench.agent([tool])
    bench.ask(agent)
    bench.say(use(tool), agent=agent)
    status, reason = failure(bench, agent)
    assert status == TOOL_FAILED
    assert reason.lower() == f"tool {tool.address} reverted"
    assert agent("stepsOf", 1) == (("use it",), ())


def test_tool_without_code_ends_the_run(bench: OracleBench) -> None:
    nobody = bench.evm.at("CounterTool", "0x" + "cd" * 20)
    agent = bench.agent([nobody])
    bench.ask(agent)
    bench.say(use(nobody), agent=agent)
    assert failure(bench, agent)[0] == TOOL_FAILED


@pytest.mark.parametrize(
    "output",
    [
        b"",
        encode(["int256"], [-1]),
        encode(["int256", "uint256"], [-1, 64]),
        encode(["int256", "uint256", "uint256"], [-1, 64, 1]),
        encode(["int256", "uint256", "uint256"], [-1, 2**256 - 1, 0]),
    ],
)
def test_malformed_tool_result_ends_the_run(bench: OracleBench, output: bytes) -> None:
    tool = bench.evm.deploy("RawTool", output)
    agent = bench.agent([tool])
    bench.ask(agent)
    bench.say(use(tool), agent=agent)
    status, reason = failure(bench, agent)
    assert status == TOOL_FAILED
    assert reason.lower() == f"tool {tool.address} returned no run id and string"


@pytest.mark.parametrize("behaviour", [RETURN, REVERT_WITH])
def test_tool_with_megabytes_ends_the_run(bench: OracleBench, behaviour: int) -> None:
    tool = bench.evm.deploy("GreedyTool", behaviour, 2**20, 0)
    agent = bench.agent([tool])
    bench.ask(agent)
    bench.say(use(tool), agent=agent)
    assert failure(bench, agent)[0] == TOOL_FAILED


@pytest.mark.parametrize(("size", "is_taken"), [(16_384 - 96, True), (16_384 - 95, False)])
def test_tool_result_has_a_limit(bench: OracleBench, size: int, *, is_taken: bool) -> None:
    assert bench.agent()("MAX_TOOL_RESULT_BYTES") == 16_384
    # Zeros cost little to store.
    tool = bench.evm.deploy("GreedyTool", RETURN_TEXT, size, 0)
    agent = bench.agent([tool], callback_gas_limit=11_000_000)
    bench.ask(agent)
    bench.say(use(tool), agent=agent)
    assert agent("statusOf", 1) == (ASKING_MODEL if is_taken else TOOL_FAILED)


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_tool_that_runs_out_of_gas_is_repeated_with_more(bench: OracleBench, depth: int) -> None:
    tool = bench.evm.deploy("GreedyTool", WRITE, 40, depth)  # 900,000 gas
    agent = bench.agent([tool], callback_gas_limit=700_000)
    bench.ask(agent)
    request = bench.request_of(agent)
    assert not bench.answer(request, encode_iteration(use(tool)))
    assert agent("statusOf", 1) == ASKING_MODEL
    bench.oracle("retry", request.request_id, gas=900_000)
    (finished,) = bench.oracle.events("CallbackFinished")
    assert decode_error(finished["returned"]) == ("ToolOutOfGas", tool.address)
    assert bench.oracle("retry", request.request_id, gas=3_000_000)
    assert agent("stepsOf", 1) == (("use it",), ("Done",))
    bench.say(final_answer("done"), agent=agent)
    assert agent("statusOf", 1) == ANSWERED


def test_tool_that_burns_all_gas_leaves_the_run_to_its_deadline(bench: OracleBench) -> None:
    tool = bench.evm.deploy("GreedyTool", BURN_GAS, 0, 0)
    agent = bench.agent([tool])
    bench.ask(agent)
    request = bench.request_of(agent)
    assert not bench.answer(request, encode_iteration(use(tool)))
    assert not bench.oracle("retry", request.request_id, gas=15_000_000)
    assert agent("statusOf", 1) == ASKING_MODEL
    assert bench.oracle("claimable", WORKER.address) == bench.fee(AGENT_GAS)
    bench.pass_time(LIFETIME + 1)
    agent("expireRun", 1)
    assert failure(bench, agent) == (DEADLINE_PASSED, "the run took too long")


def test_costly_failure_of_a_tool_is_told_from_running_out(bench: OracleBench) -> None:
    # The tool uses almost all gas of the callback, and would fail with any amount.
    tool = bench.evm.deploy("GreedyTool", WRITE_THEN_REVERT, 40, 0)
    agent = bench.agent([tool], callback_gas_limit=1_120_000)
    bench.ask(agent)
    request = bench.request_of(agent)
    assert not bench.answer(request, encode_iteration(use(tool)))
    assert bench.oracle("retry", request.request_id, gas=3_000_000)
    assert failure(bench, agent)[0] == TOOL_FAILED


@pytest.mark.parametrize(("said", "expected"), ANSWERS)
def test_the_end_of_a_run_says_whether_it_is_done(
    bench: OracleBench, said: str, *, expected: bool
) -> None:
    counter = bench.evm.deploy("CounterTool")
    handler = bench.evm.deploy("ResultHandler")
    agent = bench.agent([counter])
    bench.ask(agent, handler=handler.address)
    bench.say(add(counter, 2), final_answer(said), agent=agent)
    assert [event["result"] for event in handler.events("ResultHandled")] == [said]
    results, failures = agent.events("AgentRunResult"), agent.events("AgentRunFailed")
    ended = {"runId": 1, "requester": STRANGER.address, "executionSteps": ("add 2",)}
    if expected:
        assert (results, failures) == ([{**ended, "answer": said}], [])
    else:
        assert (results, failures) == ([], [{**ended, "status": NOT_DONE, "reason": said}])
    status = ANSWERED if expected else NOT_DONE
    assert (agent("statusOf", 1), agent("resultOf", 1)) == (status, said)
    assert counter("number") == 2


@pytest.mark.parametrize(("said", "expected"), ANSWERS)
def test_a_result_that_is_not_done_ends_the_run(
    bench: OracleBench, said: str, *, expected: bool
) -> None:
    tool = bench.evm.deploy("RawTool", encode(["int256", "string"], [-1, said]))
    agent = bench.agent([tool])
    bench.ask(agent)
    bench.say(use(tool), agent=agent)
    assert agent("statusOf", 1) == (ASKING_MODEL if expected else NOT_DONE)
    assert agent("resultOf", 1) == ("" if expected else said)


@pytest.mark.parametrize("is_undone", [False, True])
def test_the_end_names_the_steps_before_a_result_that_is_not_done(
    bench: OracleBench, *, is_undone: bool
) -> None:
    """The tool answers so, or reverts so, as an agent that undid its own run."""
    said = "UNSURE: which one?"
    counter = bench.evm.deploy("CounterTool")
    if is_undone:
        selector = function_signature_to_4byte_selector("NotDone(string)")
        revert = selector + encode(["string"], [said])
        tool = bench.evm.at("RawTool", deploy_reverting(bench.evm, revert))
    else:
        tool = bench.evm.deploy("RawTool", encode(["int256", "string"], [-1, said]))
    agent = bench.agent([counter, tool])
    bench.ask(agent)
    reasoning = "Thought: add 2\nAction: Counter\nAction Input: {}"
    bench.say(use_tool(counter.address, ["uint256"], [2], reasoning), use(tool), agent=agent)
    expected = said + "; done before: Counter: The counter is: 2"
    (event,) = agent.events("AgentRunFailed")
    assert (event["executionSteps"], event["reason"]) == ((reasoning, "use it"), expected)
    assert (agent("statusOf", 1), agent("resultOf", 1)) == (NOT_DONE, expected)
    assert agent("stepsOf", 1)[1] == ("The counter is: 2", said)


# ---- Settings and interfaces


def test_settings_that_the_oracle_refuses_start_no_run(bench: OracleBench) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"step_timeout": 7 * 86_400 + 1}, "timeout"),
        ({"run_timeout": 30 * 86_400}, "lifetime"),
        ({"callback_gas_limit": 11_000_001}, "callbackGasLimit"),
        ({"max_iterations": 0}, "steps"),
    ]
    for settings, member in refused:
        agent = bench.agent(**settings)
        with pytest.raises(RevertedError) as caught:
            agent("ask", "do", ZERO, value_wei=10**20)
        assert caught.value.error[:2] == ("OutOfRange", member)


def interface_id(name: str, *left_out: str) -> bytes:
    """Return the ERC-165 identifier of an interface: its functions without those it inherits."""
    artifact = load_artifact(name)
    number = 0
    for element in artifact.abi:
        if element["type"] == "function" and element["name"] not in left_out:
            number ^= int.from_bytes(function_abi_to_4byte_selector(element))
    return number.to_bytes(4, "big")


def test_contracts_say_their_interfaces(bench: OracleBench) -> None:
    erc165 = bytes.fromhex("01ffc9a7")
    human = bench.evm.deploy("AskHumanTool", OWNER.address, 60, "AskOwner", "Ask the owner")
    oracle = interface_id("IAgentOracle", "supportsInterface")
    tool = interface_id("IERCAgentTool")
    client, oracle_client = interface_id("IERCAgentClient"), interface_id("IAgentOracleClient")
    every = {erc165, oracle, tool, client, oracle_client, b"\xff" * 4}
    for contract, has in (
        (bench.oracle, {erc165, oracle}),
        (bench.agent(), {erc165, tool, client, oracle_client}),
        (human, {erc165, tool}),
    ):
        assert {one for one in every if contract("supportsInterface", one)} == has
