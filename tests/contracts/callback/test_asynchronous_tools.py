"""CallbackAgent awaits asynchronous tools; AskHumanTool is one whose results a person writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode

from tests.contracts.callback.oracle_bench import LIFETIME
from tests.contracts.callback.test_runs import (
    ANSWERED,
    ASKING_MODEL,
    AWAITING_TOOL,
    DEADLINE_PASSED,
    NOT_DONE,
    TOOL_FAILED,
    failure,
    use,
)
from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, final_answer, reverts, use_tool

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import OracleBench
    from tests.contracts.plain_evm import Contract

(
    LATER,
    EARLY,
    EARLY_TWICE,
    EARLY_WRONG,
    EARLY_THEN_REVERT,
    EARLY_THEN_SYNCHRONOUS,
    REPEATED,
    NEGATIVE,
) = range(8)
PERSON = STRANGER
PERSON_TIMEOUT = 300


def asynchronous_tool(bench: OracleBench, behaviour: int = LATER) -> Contract:
    return bench.evm.deploy("AsynchronousTool", behaviour)


def waiting_run(bench: OracleBench, tool: Contract) -> Contract:
    """Return an agent whose run 1 has called a tool."""
    agent = bench.agent([tool])
    bench.ask(agent)
    bench.say(use(tool), agent=agent)
    return agent


def test_run_goes_on_when_the_result_arrives(bench: OracleBench) -> None:
    tool = asynchronous_tool(bench)
    agent = waiting_run(bench, tool)
    assert agent.events("AgentAwaitsTool") == [
        {"runId": 1, "tool": int(tool.address, 16), "toolRunId": 0}
    ]
    assert agent("statusOf", 1) == AWAITING_TOOL
    tool("finish", 0, "the result", sender=STRANGER)
    assert agent.events("AgentToolResult") == [{"runId": 1, "step": 0, "result": "the result"}]
    assert agent("stepsOf", 1) == (("use it",), ("the result",))
    bench.say(final_answer("done"), agent=agent)
    assert agent("statusOf", 1) == ANSWERED


def test_result_that_arrives_before_run_returns_is_taken(bench: OracleBench) -> None:
    agent = waiting_run(bench, asynchronous_tool(bench, EARLY))
    assert agent.events("AgentAwaitsTool") == []
    assert agent("stepsOf", 1) == (("use it",), ("early",))
    bench.say(final_answer("done"), agent=agent)
    assert agent("statusOf", 1) == ANSWERED


def test_result_of_a_stranger_is_refused(bench: OracleBench) -> None:
    tool = asynchronous_tool(bench)
    agent = waiting_run(bench, tool)
    other = asynchronous_tool(bench)
    for forger in (STRANGER, OWNER):
        with reverts("UnexpectedResult", forger.address, 0):
            agent("handleAgentResult", 0, "forged", sender=forger)
    # A contract that nobody asked.
    other("run", ([], b""), agent.address)
    with reverts("UnexpectedResult", other.address, 0):
        other("finish", 0, "forged")
    assert agent("statusOf", 1) == AWAITING_TOOL


def test_result_with_another_id_is_refused(bench: OracleBench) -> None:
    tool = asynchronous_tool(bench)
    agent = waiting_run(bench, tool)
    for wrong in (1, -1):
        with reverts("UnexpectedResult", tool.address, wrong):
            tool("finish", wrong, "wrong")
    assert agent("statusOf", 1) == AWAITING_TOOL


def test_result_is_taken_once(bench: OracleBench) -> None:
    tool = asynchronous_tool(bench)
    agent = waiting_run(bench, tool)
    tool("finish", 0, "the result")
    with reverts("UnexpectedResult", tool.address, 0):
        tool("finish", 0, "another result")
    assert agent("stepsOf", 1)[1] == ("the result",)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (EARLY_WRONG, "returned a wrong run id"),
        (NEGATIVE, "returned a wrong run id"),
        (EARLY_TWICE, "reverted"),
        (EARLY_THEN_REVERT, "reverted"),
    ],
)
def test_asynchronous_tool_that_lies_ends_the_run(
    bench: OracleBench, behaviour: int, reason: str
) -> None:
    tool = asynchronous_tool(bench, behaviour)
    agent = waiting_run(bench, tool)
    status, text = failure(bench, agent)
    assert (status, text.lower()) == (TOOL_FAILED, f"tool {tool.address} {reason}")
    assert agent("stepsOf", 1) == (("use it",), ())


def test_synchronous_result_counts_before_an_early_one(bench: OracleBench) -> None:
    agent = waiting_run(bench, asynchronous_tool(bench, EARLY_THEN_SYNCHRONOUS))
    assert agent("stepsOf", 1)[1] == ("at once",)
    bench.say(final_answer("done"), agent=agent)
    assert agent("statusOf", 1) == ANSWERED


def test_run_id_that_another_run_waits_for_ends_the_later_run(bench: OracleBench) -> None:
    tool = asynchronous_tool(bench, REPEATED)
    agent = waiting_run(bench, tool)
    bench.ask(agent)
    bench.say(use(tool), run_id=2, agent=agent)
    assert failure(bench, agent, 2)[0] == TOOL_FAILED
    tool("finish", 0, "of the first")
    assert agent("stepsOf", 1)[1] == ("of the first",)


def test_end_of_a_run_leaves_another_runs_tool_alone(bench: OracleBench) -> None:
    # Run 1 had the ID that run 2 waits for now.
    tool = asynchronous_tool(bench, REPEATED)
    agent = waiting_run(bench, tool)
    tool("finish", 0, "of the first")
    bench.pass_time(100)
    bench.ask(agent)
    bench.say(use(tool), run_id=2, agent=agent)
    bench.pass_time(LIFETIME - 100)
    agent("expireRun", 1)
    tool("finish", 0, "of the second")
    assert agent("stepsOf", 2)[1] == ("of the second",)


def test_several_runs_wait_for_one_tool(bench: OracleBench) -> None:
    tool = asynchronous_tool(bench)
    agent = bench.agent([tool])
    for run_id in (1, 2, 3):
        bench.ask(agent)
        bench.say(use(tool), run_id=run_id, agent=agent)
    for run_id in (2, 3, 1):
        tool("finish", run_id - 1, f"result {run_id}")
    for run_id in (1, 2, 3):
        assert agent("stepsOf", run_id)[1] == (f"result {run_id}",)


def test_failure_that_a_tool_reports_ends_the_run(bench: OracleBench) -> None:
    tool = asynchronous_tool(bench)
    agent = waiting_run(bench, tool)
    tool("finish", 0, "FAILED: no")
    assert failure(bench, agent) == (TOOL_FAILED, "a tool said: FAILED: no")
    assert agent("stepsOf", 1) == (("use it",), ("FAILED: no",))


def test_a_result_that_is_not_done_ends_the_run(bench: OracleBench) -> None:
    tool = asynchronous_tool(bench)
    agent = waiting_run(bench, tool)
    tool("finish", 0, "UNSURE: which?")
    assert (agent("statusOf", 1), agent("resultOf", 1)) == (NOT_DONE, "UNSURE: which?")


def test_late_result_is_refused(bench: OracleBench) -> None:
    tool = asynchronous_tool(bench)
    agent = waiting_run(bench, tool)
    bench.pass_time(LIFETIME + 1)
    agent("expireRun", 1)
    assert failure(bench, agent) == (DEADLINE_PASSED, "the run took too long")
    with reverts("UnexpectedResult", tool.address, 0):
        tool("finish", 0, "late")


def test_synchronous_agent_refuses_a_tool_that_asks_a_person(
    bench: OracleBench,
) -> None:
    executor, human = bench.evm.deploy("MockExecutor"), ask_human_tool(bench)
    agent = bench.evm.deploy(
        "SimpleAgent", executor.address, "m", "A", "d", "w", "b", [human.address], 3
    )
    executor("willReturn", use_tool(human.address, ["string"], ["really?"]))
    with reverts("AsynchronousToolUnsupported", human.address, 1):
        agent("run", ([(0, encode(["string"], ["do"]))], b""), ZERO)


# ---- AskHumanTool


def ask_human_tool(bench: OracleBench) -> Contract:
    return bench.evm.deploy(
        "AskHumanTool", PERSON.address, PERSON_TIMEOUT, "AskOwner", "Ask the owner"
    )


def asking_run(bench: OracleBench) -> tuple[Contract, Contract]:
    """Return a tool and an agent whose run 1 has asked the person."""
    human = ask_human_tool(bench)
    agent = bench.agent([human])
    bench.ask(agent)
    bench.say(use_tool(human.address, ["string"], ["Which one?"]), agent=agent)
    return human, agent


def test_person_is_asked_and_answers(bench: OracleBench) -> None:
    human, agent = asking_run(bench)
    deadline = bench.now + PERSON_TIMEOUT
    (asked,) = human.events("QuestionAsked")
    assert (asked["text"], asked["deadline"]) == ("Which one?", deadline)
    assert asked["person"] == int(PERSON.address, 16)
    assert human("questionOf", 1) == (agent.address, deadline, "Which one?")
    assert (human("name"), human("description")) == ("AskOwner", "Ask the owner")
    assert human("inputDescription") == (((0, "question", "the question to ask"),),)

    bench.pass_time(PERSON_TIMEOUT)
    human("respond", 1, "the left one", sender=PERSON)
    assert human.events("QuestionSettled") == [{"questionId": 1, "answer": "the left one"}]
    assert agent("stepsOf", 1)[1] == ("the left one",)
    assert human("questionOf", 1) == (ZERO, 0, "")
    with reverts("UnknownQuestion", 1):
        human("respond", 1, "the right one", sender=PERSON)
    bench.say(final_answer("left"), agent=agent)
    assert agent("resultOf", 1) == "left"


def test_only_the_person_answers(bench: OracleBench) -> None:
    human, _ = asking_run(bench)
    with reverts("NotPerson", OWNER.address):
        human("respond", 1, "me too", sender=OWNER)
    with reverts("UnknownQuestion", 2):
        human("respond", 2, "unasked", sender=PERSON)


def test_question_expires_after_its_deadline(bench: OracleBench) -> None:
    human, agent = asking_run(bench)
    deadline = bench.now + PERSON_TIMEOUT
    bench.pass_time(PERSON_TIMEOUT)
    with reverts("TooEarly", 1, deadline):
        human("expire", 1)
    bench.pass_time(1)
    with reverts("TooLate", 1, deadline):
        human("respond", 1, "late", sender=PERSON)
    human("expire", 1, sender=OWNER)
    expected = (TOOL_FAILED, "a tool said: FAILED: nobody answered in time")
    assert failure(bench, agent) == expected
    with reverts("UnknownQuestion", 1):
        human("expire", 1)


def test_answer_to_a_run_that_ended_is_refused(bench: OracleBench) -> None:
    human = bench.evm.deploy("AskHumanTool", PERSON.address, 2 * LIFETIME, "Ask", "Ask")
    agent = bench.agent([human])
    bench.ask(agent)
    bench.say(use_tool(human.address, ["string"], ["Which one?"]), agent=agent)
    bench.pass_time(LIFETIME + 1)
    agent("expireRun", 1)
    with reverts("UnexpectedResult", human.address, 1):
        human("respond", 1, "too late", sender=PERSON)
    assert human("questionOf", 1)[0] == agent.address


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ([], "one parameter expected"),
        ([(4, encode(["uint256"], [1]))], "a STRING expected"),
        ([(0, b"")], "value is not an ABI-encoded string"),
    ],
)
def test_person_is_asked_a_text_alone(
    bench: OracleBench, params: list[object], reason: str
) -> None:
    with reverts("UnexpectedInput", reason):
        ask_human_tool(bench)("run", (params, b""), ZERO)


@pytest.mark.parametrize("step", [20_000, pytest.param(2_000, marks=pytest.mark.slow)])
def test_answer_with_little_gas_can_be_repeated(bench: OracleBench, step: int) -> None:
    # The oracle's part of the next request needs more; the run must not fail for it.
    human, agent = asking_run(bench)
    state = bench.evm.vm.state
    outcomes = set()
    for gas in range(60_000, 400_000, step):
        snapshot = state.snapshot()
        try:
            human("respond", 1, "the left one", sender=PERSON, gas=gas)
            outcomes.add(agent("statusOf", 1))
        except Exception:  # noqa: BLE001, S110 - any failure undoes all
            pass
        state.revert(snapshot)
    assert outcomes == {ASKING_MODEL}


@pytest.mark.parametrize("step", [5_000, pytest.param(500, marks=pytest.mark.slow)])
def test_run_that_ends_gives_back_its_budget_with_any_gas(bench: OracleBench, step: int) -> None:
    # The handler is who sends the transaction, so that looking at its code costs little.
    agent = bench.agent()
    bench.ask(agent, handler=STRANGER.address)
    bench.pass_time(LIFETIME + 1)
    state = bench.evm.vm.state
    released = set()
    for gas in range(40_000, 300_000, step):
        snapshot = state.snapshot()
        try:
            agent("expireRun", 1, sender=STRANGER, gas=gas)
            released.add(bench.oracle("budgets", 1)[3])
        except Exception:  # noqa: BLE001, S110 - any failure undoes all
            pass
        state.revert(snapshot)
    assert released == {True}
