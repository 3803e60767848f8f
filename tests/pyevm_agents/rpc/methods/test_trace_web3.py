"""web3.py's tracing module with a node in this process."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.rpc.methods.registry import build_node_service
from tests.pyevm_agents.rpc.local_node import FIRST, SECOND, LocalNode, local_node

if TYPE_CHECKING:
    from collections.abc import Iterator

web3 = pytest.importorskip(
    "web3", reason="web3.py is not installed: pip install pyevm-agents[web3]"
)
provider = import_module("pyevm_agents.rpc.web3_provider")

ALL = ["trace", "stateDiff", "vmTrace"]


@pytest.fixture
def local() -> Iterator[LocalNode]:
    with local_node() as local:
        yield local


@pytest.fixture
def w3(local: LocalNode) -> Any:  # noqa: ANN401 - web3's
    return web3.Web3(provider.AgentProvider(build_node_service(local.node, send_seconds=240)))


def test_web3_reads_what_is_traced(w3: Any) -> None:  # noqa: ANN401 - web3's
    first, second = map(web3.Web3.to_checksum_address, (FIRST, SECOND))
    form = {"from": first, "to": second, "value": 5, "gas": 21_000}
    tried = w3.tracing.trace_call(form, ALL)
    assert tried["stateDiff"][SECOND]["balance"]["*"]["to"] == hex(10_000 * 10**18 + 5)
    sent = w3.eth.send_transaction(form)
    replayed = w3.tracing.trace_replay_transaction(sent, ALL)
    assert replayed["trace"][0]["action"]["value"] == 5
    assert replayed["vmTrace"]["ops"] == []
    (of_block,) = w3.tracing.trace_replay_block_transactions(1, ALL)
    assert of_block["transactionHash"] == sent
    assert of_block["trace"] == replayed["trace"]
    (flat,) = w3.tracing.trace_transaction(sent)
    assert flat["action"]["to"] == second
    assert w3.tracing.trace_block(1) == [flat]
    assert w3.tracing.trace_filter({"fromBlock": 1, "toAddress": [second]}) == [flat]


def test_web3_tries_a_signed_transaction(w3: Any, local: LocalNode) -> None:  # noqa: ANN401 - web3's
    raw = local.ask("eth_signTransaction", {"from": FIRST, "to": SECOND, "value": "0x7"})["raw"]
    told = w3.tracing.trace_raw_transaction(raw)
    assert told["trace"][0]["action"]["value"] == 7
    assert w3.eth.block_number == 0
