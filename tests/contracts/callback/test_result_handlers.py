"""CallbackAgent: the result goes to the handler; one that fails loses nothing and harms nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contracts.callback.oracle_bench import encode_iteration
from tests.contracts.callback.test_runs import ANSWERED, use
from tests.contracts.plain_evm import (
    STRANGER,
    ZERO,
    decode_error,
    final_answer,
    reverts,
    text_input,
)

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import OracleBench

TAKE, REVERT, REVERT_WITH_MEGABYTE, BURN_GAS = range(4)


@pytest.mark.parametrize("behaviour", [REVERT, REVERT_WITH_MEGABYTE, BURN_GAS])
def test_result_of_a_failing_handler_is_delivered_later(bench: OracleBench, behaviour: int) -> None:
    agent = bench.agent(callback_gas_limit=8_000_000)
    handler = bench.evm.deploy("ResultHandler")
    handler("behave", behaviour)
    bench.ask(agent, handler=handler.address)
    bench.say(final_answer("the answer"), agent=agent)
    assert agent.events("ResultNotDelivered") == [{"runId": 1, "resultHandler": handler.address}]
    assert (agent("statusOf", 1), agent("resultOf", 1)) == (ANSWERED, "the answer")
    assert not agent("runOf", 1)[3]
    assert not agent("deliver", 1)
    handler("behave", TAKE)
    assert agent("deliver", 1, sender=STRANGER)
    assert handler.events("ResultHandled") == [
        {"sender": int(agent.address, 16), "runId": 1, "result": "the answer"}
    ]
    assert agent("runOf", 1)[3]
    with reverts("NothingToDeliver", 1):
        agent("deliver", 1)


def test_failure_goes_to_the_handler(bench: OracleBench) -> None:
    tool = bench.evm.deploy("RevertingTool", 0)
    agent, handler = bench.agent([tool]), bench.evm.deploy("ResultHandler")
    bench.ask(agent, handler=handler.address)
    bench.say(use(tool), agent=agent)
    (handled,) = handler.events("ResultHandled")
    assert handled["result"].startswith("FAILED: tool 0x")


def test_account_without_code_is_not_called(bench: OracleBench) -> None:
    agent = bench.agent()
    bench.ask(agent, handler=STRANGER.address)
    bench.say(final_answer("the answer"), agent=agent)
    assert not agent("runOf", 1)[3]
    with reverts("NothingToDeliver", 1):
        agent("deliver", 1)


def test_nothing_is_delivered_before_the_end(bench: OracleBench) -> None:
    agent, handler = bench.agent(), bench.evm.deploy("ResultHandler")
    bench.ask(agent, handler=handler.address)
    for run_id in (0, 1, 2):
        with reverts("NothingToDeliver", run_id):
            agent("deliver", run_id)


@pytest.mark.parametrize("function", ["deliver", "expireRun"])
def test_handler_that_reenters_gets_nothing_twice(bench: OracleBench, function: str) -> None:
    agent, handler = bench.agent(), bench.evm.deploy("ResultHandler")
    handler("callBack", agent.address, agent.artifact.encode_call(function, 1))
    bench.ask(agent, handler=handler.address)
    bench.say(final_answer("the answer"), agent=agent)
    assert len(handler.events("ResultHandled")) == 1
    (called,) = handler.events("CalledBack")
    error = "NothingToDeliver" if function == "deliver" else "CannotExpire"
    assert (called["success"], decode_error(called["returned"])[0]) == (False, error)


def test_handler_may_start_the_next_run(bench: OracleBench) -> None:
    agent, handler = bench.agent(), bench.evm.deploy("ResultHandler")
    cost = agent("costOfRun")
    number = bench.oracle("subscribe", value_wei=cost)
    bench.oracle("setConsumer", number, agent.address, True)  # noqa: FBT003
    agent("setSubscription", number)
    agent("setCaller", handler.address, True)  # noqa: FBT003
    again = agent.artifact.encode_call("run", text_input("go on"), ZERO)
    handler("callBack", agent.address, again)
    bench.ask(agent, handler=handler.address)
    bench.say(final_answer("the answer"), agent=agent)
    assert handler.events("CalledBack")[0]["success"]
    assert agent("runOf", 2)[:2] == (handler.address, "go on")
    bench.say(final_answer("the next"), run_id=2, agent=agent)
    assert agent("resultOf", 2) == "the next"


def test_forged_sender_of_a_result_is_for_the_handler_to_refuse(bench: OracleBench) -> None:
    # An agent takes results of its own tools alone; see test_asynchronous_tools.py.
    outer, agent = bench.agent(), bench.agent()
    bench.ask(agent, handler=outer.address)  # a stranger names another agent as handler
    assert bench.answer(bench.request_of(agent), encode_iteration(final_answer("forged")))
    assert agent.events("ResultNotDelivered") == [{"runId": 1, "resultHandler": outer.address}]
