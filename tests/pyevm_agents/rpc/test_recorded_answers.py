"""Recorded answers: what the page asks for, within limits."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.node import Node
from pyevm_agents.recordings import open_chain, read_fixture
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.recorded_answers import RecordLimits, format_request, record_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.rpc.recorded_answers import RecordedAnswers
    from pyevm_agents.rpc.service import NodeService

FIXTURES = Path(__file__).parents[3] / "chain_fixtures"


@pytest.fixture(scope="module")
def service() -> Iterator[NodeService]:
    """The service of the recorded chain with nested agents."""
    node = Node(open_chain(read_fixture(FIXTURES / "nested.json")), now=time.time)
    yield build_node_service(node)
    node.close()


def list_methods(answers: RecordedAnswers) -> list[str]:
    return [json.loads(key)[0] for key in answers.results]


def test_a_request_is_in_canonical_json() -> None:
    assert format_request("m", ["0x1", True, {"b": 1, "a": None}]) == (
        '["m",["0x1",true,{"a":null,"b":1}]]'
    )


def test_all_views_have_their_answers(service: NodeService) -> None:
    told: list[str] = []
    answers = record_answers(service, on_progress=told.append)
    results = {key: json.loads(text) for key, text in answers.results.items()}
    assert answers.omissions == ()
    head = results[format_request("anvil_metadata", [])]
    assert head["latestBlockNumber"] == 1
    (run,) = results[format_request("agent_getRuns", ["0x0", "0x1", "0x64"])]
    tx_hash = run["transactionHash"]
    trace = results[format_request("agent_traceTransaction", [tx_hash])]
    assert trace["steps"][0]["steps"]
    assert results[format_request("agent_traceCalls", [tx_hash])]["call"]["calls"]
    for number in ("0x0", "0x1"):
        block = results[format_request("eth_getBlockByNumber", [number, True])]
        assert results[format_request("eth_getBlockByHash", [block["hash"], True])] == block
    described = [
        json.loads(text)
        for key, text in answers.results.items()
        if json.loads(key)[0] == "agent_describe"
    ]
    agents = {one["name"]: one for one in described if one["kind"] == "agent"}
    assert {"Asking Agent", "Counting Agent"} <= agents.keys()
    tool = agents["Counting Agent"]["tools"][0]["address"].lower()
    codes = [key.lower() for key in answers.results if "eth_getCode" in key]
    assert any(tool in key for key in codes)
    storage = next(text for key, text in answers.results.items() if "debug_storageRangeAt" in key)
    assert "storage" in json.loads(storage)
    assert {text.split()[0] for text in told} == {"block", "transaction", "account"}


@pytest.mark.parametrize(
    ("limits", "omission"),
    [
        (RecordLimits(blocks=1), "1 of 2 blocks"),
        (RecordLimits(traces=0), "1 of 1 transactions"),
    ],
)
def test_a_limit_leaves_things_out(
    service: NodeService, limits: RecordLimits, omission: str
) -> None:
    answers = record_answers(service, limits=limits)
    assert answers.omissions == (omission,)


def test_accounts_are_limited(service: NodeService) -> None:
    answers = record_answers(service, limits=RecordLimits(accounts=2))
    assert list_methods(answers).count("eth_getCode") == 2
    (omission,) = answers.omissions
    assert omission.endswith(" accounts")


def test_bytes_are_limited(service: NodeService) -> None:
    limit = 20_000
    answers = record_answers(service, limits=RecordLimits(result_bytes=limit))
    assert sum(len(key) + len(text) for key, text in answers.results.items()) <= limit
    assert any("of 1 transactions" in one for one in answers.omissions)
    assert "anvil_metadata" in list_methods(answers)


def test_a_fork_has_its_own_blocks(service: NodeService) -> None:
    answers = record_answers(service, first_block=1)
    assert answers.omissions == ()
    assert format_request("eth_getBlockByNumber", ["0x0", False]) not in answers.results
