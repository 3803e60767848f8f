"""Contents of an exported replay, from a node's traces, and its JSON form."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from eth_utils import to_checksum_address

from precompiles.abi import ParamType
from pyevm_agents.errors import AgentsError
from pyevm_agents.recordings import canonical_json
from pyevm_agents.recordings.export import VERSION, ReplayExport, extract_replay_steps, render_json
from tests.pyevm_agents.cli.agent_node import AgentNode

if TYPE_CHECKING:
    from collections.abc import Iterator

TRACER = {"tracer": "callTracer"}


@pytest.fixture(scope="module")
def node() -> Iterator[AgentNode]:
    made = AgentNode()
    yield made
    made.node.close()


@pytest.fixture(scope="module")
def sent(node: AgentNode) -> str:
    return str(node.ask("eth_sendTransaction", node.instruction()))


@pytest.fixture
def frame(node: AgentNode, sent: str) -> dict[str, Any]:
    return dict(node.ask("debug_traceTransaction", sent, TRACER))


@pytest.fixture
def trace(node: AgentNode, sent: str) -> dict[str, Any]:
    return dict(node.ask("agent_traceTransaction", sent))


def test_a_step_is_what_was_asked_and_what_was_said(
    node: AgentNode, sent: str, frame: dict[str, Any], trace: dict[str, Any]
) -> None:
    first, last = extract_replay_steps(frame, trace)
    usdc = to_checksum_address(node.wallet.tokens["USDC"])
    spoken = (
        f'Thought: Deposit.\nAction: DeployTool\nAction Input: {{"asset": "{usdc}", "amount": 10}}'
    )
    assert (first.transaction, first.number, last.number) == (sent, 1, 2)
    assert first.agent == last.agent == to_checksum_address(node.wallet.agent)
    assert first.model_id == "llama_model_3"
    assert f"USDC = {usdc}" in first.base_prompt
    assert first.prompt == last.prompt == "Deposit 10 USDC"
    names = ["DeployTool", "WithdrawTool", "ViewBalanceTool", "TokenInfoTool"]
    assert [tool.name for tool in first.tools] == names
    parameters = [(one.param_type, one.name) for one in first.tools[0].parameters]
    assert parameters == [(ParamType.ADDRESS, "asset"), (ParamType.UINT, "amount")]
    assert (first.is_final_answer, first.tool, first.reasoning) == (False, 0, spoken)
    assert first.values == (encode(["address"], [usdc]), encode(["uint256"], [10]))
    # The agent passes arrays of ten; what is empty in them is no step.
    assert (first.agent_reasoning, first.tool_results) == ((), ())
    assert (last.agent_reasoning, last.tool_results) == ((spoken,), ("Successfully deployed",))
    assert (last.is_final_answer, last.answer, last.reasoning) == (True, "Done.", "")


def test_the_gas_beside_the_steps_is_that_of_their_tokens(
    frame: dict[str, Any], trace: dict[str, Any]
) -> None:
    steps = extract_replay_steps(frame, trace)
    replay = ReplayExport(name="one", source="", steps=steps)
    assert replay.inference_gas == trace["gas"]["prompt"] + trace["gas"]["output"]
    assert steps[0].prompt_gas == 6_000 * steps[0].tokens["cold"]
    assert steps[1].output_gas == 10_000 * steps[1].tokens["output"]


def test_calls_that_failed_are_no_steps(frame: dict[str, Any], trace: dict[str, Any]) -> None:
    expected = extract_replay_steps(frame, trace)
    failed = {**frame["calls"][0], "error": "execution reverted"}
    assert extract_replay_steps({**frame, "calls": [failed, *frame["calls"]]}, trace) == expected
    creation = {"type": "CREATE", "input": "0x", "calls": frame["calls"]}
    assert extract_replay_steps(creation, trace) == expected


def test_traces_of_two_transactions_are_refused(
    sent: str, frame: dict[str, Any], trace: dict[str, Any]
) -> None:
    other = copy.deepcopy(trace)
    other["steps"].pop()
    with pytest.raises(AgentsError, match=f"{sent} has 2 finished calls.* but 1 recorded steps"):
        extract_replay_steps(frame, other)


def test_the_json_is_a_form_with_digests(frame: dict[str, Any], trace: dict[str, Any]) -> None:
    steps = extract_replay_steps(frame, trace)
    text = render_json(ReplayExport(name="one", source="Here.", steps=steps))
    name, sections = canonical_json.parse(text.encode(), VERSION)
    assert name == "one"
    assert sections["inferenceGas"] == sum(one.prompt_gas + one.output_gas for one in steps)
    told: Any = sections["steps"]
    assert told[0]["values"] == ["0x" + value.hex() for value in steps[0].values]
    assert told[0]["tools"][0]["parameters"][1] == {
        "paramType": 4,
        "name": "amount",
        "description": "amount of tokens to deposit",
    }
    assert told[1]["answer"] == "Done."
