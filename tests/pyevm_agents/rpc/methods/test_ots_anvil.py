"""Otterscan's methods for transactions, compared with anvil's recorded responses.

anvil lists the transaction's own transfer and reverted transfers as internal ones, and leaves
creations and destructions out of the calls. Otterscan's documentation differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.node import Node
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from tests.pyevm_agents.tracing.anvil_answers import OTTERSCANS, answers
from tests.pyevm_agents.tracing.scenarios import BY_NAME

if TYPE_CHECKING:
    from tests.pyevm_agents.tracing.scenario import Scenario

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")

UNLIKE = {
    "creation that destroys itself": {1},
    "creation of a funded account that destroys itself": {1},
    "selfdestruct to itself": {1},
    "selfdestruct of what was created": {1, 2},
}
"""Where anvil takes the contract that destroys itself for nobody, or its creation for none; and the
kinds of operation that we show."""

SHOWN_BY_ANVIL = {"CALL", "STATICCALL", "DELEGATECALL", "CALLCODE"}


def ours(scenario: Scenario) -> dict[str, Any]:
    """Return the node's responses on a scenario's transaction."""
    chain = scenario.chain()
    node = Node(chain, now=lambda: chain.head.timestamp + 1.0)
    service, session = build_node_service(node, send_seconds=240), Session("test")
    try:
        raw = "0x" + scenario.raw_transaction().hex()
        sent = service.call("eth_sendRawTransaction", [raw], session)
        return {name: service.call(name, [sent], session) for name in OTTERSCANS}
    finally:
        node.close()


def moves(trace: dict[str, Any]) -> bool:
    """Return whether anvil lists a call in Parity's format as an operation."""
    if trace["type"] == "call":
        return (trace["action"]["callType"], trace["action"]["value"] != "0x0") == ("call", True)
    return True


def undone(trace: dict[str, Any], traces: list[dict[str, Any]]) -> bool:
    """Return whether a call or one of its callers failed."""
    path = trace["traceAddress"]
    return any(
        "error" in one and path[: len(one["traceAddress"])] == one["traceAddress"] for one in traces
    )


@pytest.mark.parametrize("name", BY_NAME)
def test_tells_what_anvil_does(name: str) -> None:
    mine, theirs = ours(BY_NAME[name]), answers()[name]
    assert mine["ots_getTransactionError"] == theirs["ots_getTransactionError"]

    calls = [one for one in mine["ots_traceTransaction"] if one["type"] in SHOWN_BY_ANVIL]
    assert len(calls) == len(theirs["ots_traceTransaction"])
    for one, other in zip(calls, theirs["ots_traceTransaction"], strict=True):
        assert one["value"] in {None, other["value"]}
        assert one | {"value": ""} == other | {"value": ""}

    operations = theirs["ots_getInternalOperations"]
    if name in UNLIKE:
        assert {one["type"] for one in mine["ots_getInternalOperations"]} == UNLIKE[name]
        return
    traces = theirs["parity"]
    moving = [trace for trace in traces if moves(trace)]
    assert len(moving) == len(operations)
    assert mine["ots_getInternalOperations"] == [
        operation
        for operation, trace in zip(operations, moving, strict=True)
        if trace["traceAddress"] and not undone(trace, traces)
    ]
