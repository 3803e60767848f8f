"""Simulated calls of agents: the same as if they were sent, and with other texts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.methods.agent_calls import REQUEST_ID_CHARACTERS
from pyevm_agents.rpc.session import Session
from tests.byte_model import PROFILE
from tests.pyevm_agents.rpc.methods.agents_to_show import (
    FIRST,
    HOSTILE,
    INNER,
    OUTER,
    AgentsToShow,
    find,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

INPUT_BYTE_GAS = 16
"""The executor's price of a byte of calldata. Source: `precompiles.gas.DEFAULT_SCHEDULE`."""

WORD_BYTES = 32


@pytest.fixture(scope="module")
def shown() -> Iterator[AgentsToShow]:
    """A node whose state no test changes but by deployments."""
    node = AgentsToShow()
    yield node
    node.node.close()


@pytest.fixture
def counting(shown: AgentsToShow) -> tuple[str, str]:
    """Return an agent that counts, and its tool."""
    counter = shown.owner.deploy(load_artifact("CounterTool").encode_creation())
    return to_hex(shown.deploy_agent("Counting Agent", INNER, [counter])), to_hex(counter)


def to_hex(address: Address) -> str:
    return to_checksum_address(address)


def try_call(shown: AgentsToShow, agent: str, texts: list[dict[str, object]] | None = None) -> Any:  # noqa: ANN401 - JSON
    form = shown.question(bytes.fromhex(agent[2:]), "Add 7")  # type: ignore[arg-type]
    return shown.ask("agent_traceCall", form, None, None, texts)


def without_times(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return steps without what differs between two equal runs."""
    return [
        {
            name: without_times(value) if name == "steps" else value
            for name, value in step.items()
            if name not in {"seconds", "isCached"}
        }
        for step in steps
    ]


# -- without other texts -- #


def test_a_call_does_what_a_transaction_would_do() -> None:
    shown = AgentsToShow()
    form = shown.question(shown.deploy_nested())
    before = shown.node.chain.head.hash
    tried = shown.ask("agent_traceCall", form)
    assert shown.node.chain.head.hash == before
    sent = shown.send(form)
    trace, calls = shown.ask("agent_traceTransaction", sent), shown.ask("agent_traceCalls", sent)
    assert tried["transactionHash"] is None
    assert without_times(tried["steps"]) == without_times(trace["steps"])
    for name in ("isSuccess", "reason", "gas", "tokens", "closest"):
        assert tried[name] == trace[name]
    assert (tried["call"], tried["transfers"]) == (calls["call"], calls["transfers"])
    assert tried["names"].items() >= calls["names"].items()
    assert tried["output"] == calls["call"]["output"]
    # A transaction pays its fee, too.
    sender = to_checksum_address(FIRST)
    changed = {change["address"]: change for change in calls["changes"]}
    for change in tried["changes"]:
        if change["address"] != sender:
            assert change == changed[change["address"]]
    shown.node.close()


def test_a_wallets_call_has_the_balances_that_it_would_leave(shown: AgentsToShow) -> None:
    before = shown.wallet.read_balances()
    tried = shown.ask("agent_traceCall", shown.instruction(), "latest")
    assert shown.wallet.read_balances() == before
    (transfer,) = tried["transfers"]
    (got,) = [each for each in tried["changes"] if each["address"] == transfer["to"]]
    (tokens,) = got["tokens"]
    assert int(tokens["after"]) - int(tokens["before"]) == int(transfer["amount"]) == 10_000_000


def test_accounts_can_be_overridden(shown: AgentsToShow) -> None:
    poor = "0x" + "57" * 20
    form = {"from": poor, "to": FIRST, "value": hex(10**30)}
    with pytest.raises(RpcError, match="insufficient funds"):
        shown.ask("agent_traceCall", form)
    tried = shown.ask("agent_traceCall", form, None, {poor: {"balance": hex(2 * 10**30)}})
    (change,) = [each for each in tried["changes"] if each["address"].lower() == poor]
    assert change["balance"] == {"before": str(2 * 10**30), "after": str(10**30)}


# -- events -- #


def test_the_steps_are_announced_with_the_requests_id() -> None:
    shown = AgentsToShow()
    messages: list[Any] = []
    session = Session("test", messages.append)
    ask = partial(shown.service.call, session=session)
    ask("agent_subscribe", ["steps"])
    form = shown.question(shown.deploy_nested())
    before = len(messages)
    for request_id in ("first", "second", None):
        ask("agent_traceCall", [form, None, None, None, request_id])
    ask("eth_call", [form])
    events = [message["params"]["result"] for message in messages[before:]]
    by_run: dict[int, list[Any]] = {}
    for event in events:
        by_run.setdefault(event["run"], []).append(event)
    first, second, third, called = by_run.values()
    for run, request_id in ((first, "first"), (second, "second"), (third, None), (called, None)):
        assert {event.get("requestId") for event in run} == {request_id}
        assert {event["source"] for event in run} == {"call"}
        assert [event["kind"] for event in run] == [event["kind"] for event in called]
    assert [event["kind"] for event in first][-1] == "end"
    assert {event["depth"] for event in first} == {0, 1}
    session.close()
    shown.node.close()


def test_an_id_has_a_length(shown: AgentsToShow) -> None:
    form = {"from": FIRST, "to": FIRST}
    shown.ask("agent_traceCall", form, None, None, None, "x" * REQUEST_ID_CHARACTERS)
    with pytest.raises(RpcError, match="at most 64 characters") as caught:
        shown.ask("agent_traceCall", form, None, None, None, "x" * (REQUEST_ID_CHARACTERS + 1))
    assert caught.value.code == INVALID_PARAMS


# -- with other texts -- #


def test_the_same_texts_change_nothing(shown: AgentsToShow, counting: tuple[str, str]) -> None:
    agent, tool = counting
    described = shown.ask("agent_describe", tool)
    parameters = {each["name"]: each["description"] for each in described["parameters"]}
    texts: list[dict[str, object]] = [
        {"address": agent, "basePrompt": INNER},
        {
            "address": tool,
            "name": described["name"],
            "description": described["description"],
            "parameters": parameters,
        },
    ]
    plain, reworded = try_call(shown, agent), try_call(shown, agent, texts)
    plain["steps"], reworded["steps"] = (
        without_times(plain["steps"]),
        without_times(reworded["steps"]),
    )
    assert reworded == plain


def test_another_base_prompt_is_read_and_paid_for(
    shown: AgentsToShow, counting: tuple[str, str]
) -> None:
    agent, _ = counting
    longer = INNER + "!" * WORD_BYTES
    plain = try_call(shown, agent)
    tried = try_call(shown, agent, [{"address": agent, "basePrompt": longer}])
    assert [longer in step["prompt"] for step in tried["steps"]] == [True, True]
    (first, *_), (changed, *_) = plain["steps"], tried["steps"]
    added = changed["gas"]["prompt"] - first["gas"]["prompt"]
    assert added == WORD_BYTES * PROFILE.cold_prompt_token_gas
    asked, read = (find(each["call"], "runNextIteration")[0] for each in (plain, tried))
    assert len(read["input"]) - len(asked["input"]) == 2 * WORD_BYTES
    assert read["gasUsed"] - asked["gasUsed"] == added + WORD_BYTES * INPUT_BYTE_GAS
    # The agent itself says what it has always said.
    assert shown.ask("agent_describe", agent)["basePrompt"] == INNER


def test_another_base_prompt_changes_what_is_done(shown: AgentsToShow) -> None:
    outer = to_hex(shown.deploy_nested())
    plain = try_call(shown, outer)
    tried = try_call(shown, outer, [{"address": outer, "basePrompt": "You rest."}])
    assert [step["action"] for step in plain["steps"]] == ["Counting Agent", None]
    assert [step["action"] for step in tried["steps"]] == [None]
    inner = plain["steps"][0]["tool"]
    tried = try_call(shown, outer, [{"address": inner, "basePrompt": "You rest."}])
    assert OUTER in tried["steps"][0]["prompt"]
    (nested,) = tried["steps"][0]["steps"]
    assert (nested["action"], nested["answer"]) == (None, "Done.")


def test_a_tool_can_have_other_words(shown: AgentsToShow, counting: tuple[str, str]) -> None:
    agent, tool = counting
    described = shown.ask("agent_describe", tool)
    (parameter,) = described["parameters"]
    texts: dict[str, object] = {
        "address": tool,
        "name": "Adder",
        "description": HOSTILE.strip("\0"),
        "parameters": {
            parameter["name"]: "the number to add up",
            "none": "no parameter of the tool",
        },
    }
    tried = try_call(shown, agent, [texts])
    first = tried["steps"][0]
    assert (first["action"], first["tool"]) == ("Adder", tool)
    assert "the number to add up" in first["prompt"]
    assert "<script>" in first["prompt"]
    assert parameter["description"] not in first["prompt"]
    reads = find(tried["call"], "name")
    assert {read["result"][0]["value"] for read in reads} == {"Adder"}
    assert [call["isReverted"] for call in walk(tried["call"])].count(True) == 0
    assert shown.ask("agent_describe", tool) == described


def test_words_that_the_executor_refuses_have_a_reason(
    shown: AgentsToShow, counting: tuple[str, str]
) -> None:
    agent, tool = counting
    tried = try_call(shown, agent, [{"address": tool, "name": ""}])
    assert (tried["isSuccess"], tried["steps"]) == (False, [])
    assert "MalformedToolMetadata" in tried["reason"]


def test_other_texts_are_for_one_call(shown: AgentsToShow, counting: tuple[str, str]) -> None:
    agent, tool = counting
    before = try_call(shown, agent)
    try_call(shown, agent, [{"address": tool, "description": "Something else"}])
    after = try_call(shown, agent)
    assert without_times(after["steps"]) == without_times(before["steps"])


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ([{"basePrompt": "x"}], "address"),
        ([{"address": FIRST, "prompt": "x"}], "unknown override: prompt"),
        ([{"address": FIRST}, {"address": FIRST}], "given twice"),
        ([{"address": FIRST, "name": "\ud800"}], "surrogate"),
        ([{"address": FIRST, "parameters": {"a": 1}}], "parameters.a"),
        ([{"address": FIRST, "name": 1}], "name"),
        ({}, "textOverrides"),
    ],
)
def test_malformed_texts_are_refused(shown: AgentsToShow, texts: object, reason: str) -> None:
    with pytest.raises(RpcError, match=reason) as caught:
        shown.ask("agent_traceCall", {"from": FIRST, "to": FIRST}, None, None, texts)
    assert caught.value.code == INVALID_PARAMS
