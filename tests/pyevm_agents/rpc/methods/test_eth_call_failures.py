"""Errors of calls and estimates that fail inside an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import to_hex

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.rpc.errors import EXECUTION_REVERTED, RpcError
from tests.thinking_node import TEXTS, ThinkingNode

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def node() -> Iterator[ThinkingNode]:
    thinking = ThinkingNode()
    yield thinking
    thinking.close()


def deploy_agent(node: ThinkingNode, model: str, *tools: str) -> str:
    """Deploy an agent with this model and these tools; return its address."""
    creation = load_artifact("SimpleAgent").encode_creation(
        EXECUTOR_ADDRESS, model, *TEXTS, [*tools], 3
    )
    form = {"from": node.first, "data": to_hex(creation), "gas": hex(5_000_000)}
    sent = node.ask("eth_sendTransaction", form)
    return str(node.ask("eth_getTransactionReceipt", sent)["contractAddress"])


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas", "agent_estimate"])
def test_the_starved_call_is_named(node: ThinkingNode, method: str) -> None:
    with pytest.raises(RpcError) as raised:
        node.ask(method, node.run | {"gas": hex(600_000)})
    assert raised.value.code == EXECUTION_REVERTED
    assert raised.value.data == "0x"
    assert raised.value.message == (
        "execution reverted: no reason given; a call of the executor at "
        "0x0000000000000000000000000000000000000019 ran out of gas: "
        "it had 527,345 and needed at least 1,750,888 (Executor prompt tokens)"
    )


def test_a_revert_without_a_reason_has_geths_message(node: ThinkingNode) -> None:
    with pytest.raises(RpcError) as raised:
        node.ask("eth_call", {"data": "0x5f5ffd"})
    assert raised.value.message == "execution reverted"


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
def test_an_unknown_model_lists_the_chains_models(node: ThinkingNode, method: str) -> None:
    lost = deploy_agent(node, "gpt-4")
    with pytest.raises(RpcError) as raised:
        node.ask(method, node.run | {"to": lost})
    assert raised.value.message == (
        "execution reverted: UnknownModel(\"gpt-4\"); this chain's models: 'bytes', 'llama_model_3'"
    )


def test_an_agent_whose_tool_is_not_a_tool_asks_about_it(node: ThinkingNode) -> None:
    pool = load_artifact("LiquidityPool").encode_creation()
    sent = node.ask(
        "eth_sendTransaction", {"from": node.first, "data": to_hex(pool), "gas": hex(5_000_000)}
    )
    address = str(node.ask("eth_getTransactionReceipt", sent)["contractAddress"])
    with pytest.raises(RpcError, match=r"\"0x\"\): is this address a tool") as raised:
        node.ask("eth_call", node.run | {"to": deploy_agent(node, "bytes", address)})
    assert raised.value.code == EXECUTION_REVERTED
