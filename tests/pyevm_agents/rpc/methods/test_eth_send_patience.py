"""A send without a gas limit returns in time, however long its agent runs."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import EngineFault
from pyevm_agents.rpc import recent_faults
from pyevm_agents.rpc.errors import RESOURCE_UNAVAILABLE, RpcError
from tests.deadlines import HANG_SECONDS
from tests.thinking_node import ThinkingNode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import Generation, GenerationRequest


@pytest.fixture
def it() -> Iterator[ThinkingNode]:
    made = ThinkingNode(send_seconds=0.05)
    yield made
    made.close()


def test_it_gets_a_blocks_gas_where_what_it_needs_is_not_known_in_time(it: ThinkingNode) -> None:
    it.model.pause()
    wanted = {name: told for name, told in it.run.items() if name != "gas"}
    sent = it.ask("eth_sendTransaction", wanted)
    waiting = it.ask("eth_getTransactionByHash", sent)
    assert waiting["blockNumber"] is None
    assert waiting["gas"] == it.ask("eth_getBlockByNumber", "latest")["gasLimit"]
    it.model.go_on.set()
    assert it.node.wait_idle(HANG_SECONDS)
    assert it.ask("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_it_gets_what_it_needs_where_that_is_known() -> None:
    with closing(ThinkingNode(send_seconds=HANG_SECONDS)) as it:
        transfer = {"from": it.first, "to": it.second, "value": "0x1"}
        sent = it.ask("eth_sendTransaction", transfer)
        assert it.ask("eth_getTransactionByHash", sent)["gas"] == hex(21_000)


def test_a_fault_is_not_tried_again_at_once(
    it: ThinkingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[GenerationRequest] = []

    def fail(request: GenerationRequest) -> Generation:
        asked.append(request)
        raise EngineFault("the model's process was ended by SIGKILL")

    monkeypatch.setattr(it.model, "generate", fail)
    monkeypatch.setattr(recent_faults, "FAULT_SECONDS", HANG_SECONDS)
    for _ in range(4):
        with pytest.raises(RpcError, match="SIGKILL") as told:
            it.ask("eth_call", it.run, "latest")
        assert (told.value.code, told.value.data) == (RESOURCE_UNAVAILABLE, [{"retry": False}])
    assert len(asked) == 1
    it.ask("evm_mine")
    with pytest.raises(RpcError, match="SIGKILL"):
        it.ask("eth_call", it.run, "latest")
    assert len(asked) == 2


def test_whoever_waits_for_a_receipt_is_told_of_a_fault(
    it: ThinkingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = it.model.generate

    def fail(request: GenerationRequest) -> Generation:
        generate(request)
        raise EngineFault("the model's process was ended by SIGKILL")

    with monkeypatch.context() as patch:
        patch.setattr(it.model, "generate", fail)
        it.model.pause()
        signed = it.ask("eth_signTransaction", it.run)["raw"]
        sent = it.ask("eth_sendRawTransaction", signed)
        assert it.ask("eth_getTransactionReceipt", sent) is None
        it.model.go_on.set()
        assert it.node.wait_idle(HANG_SECONDS)
    with pytest.raises(RpcError, match=r"dropped.*SIGKILL.*send it again") as told:
        it.ask("eth_getTransactionReceipt", sent)
    assert (told.value.code, told.value.data) == (RESOURCE_UNAVAILABLE, {"retry": False})
    assert it.ask("eth_getTransactionByHash", sent) is None
    assert it.ask("eth_sendRawTransaction", signed) == sent
    assert it.node.wait_idle(HANG_SECONDS)
    assert it.ask("eth_getTransactionReceipt", sent)["status"] == "0x1"
