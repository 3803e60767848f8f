"""geth's callTracer: differences from anvil, and options."""

from __future__ import annotations

from typing import Any

import pytest

from pyevm_agents.tracing import create_tracer
from pyevm_agents.tracing.call_tracer import CallTracer, CallTracerOptions
from tests.chain_bench import OWNER
from tests.pyevm_agents.tracing.scenario import CONTRACT, Scenario
from tests.pyevm_agents.tracing.scenarios import BY_NAME, CREATED

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")


def tree(scenario: str | Scenario, **options: object) -> dict[str, Any]:
    found = scenario if isinstance(scenario, Scenario) else BY_NAME[scenario]
    result = found.trace(create_tracer({"tracer": "callTracer", "tracerConfig": options}))
    assert isinstance(result, dict)
    return result


def test_a_transfer_is_one_call_with_the_transactions_gas() -> None:
    assert tree("transfer") == {
        "type": "CALL",
        "from": "0x" + OWNER.hex(),
        "to": "0x" + "ee" * 20,
        "value": "0x5",
        "gas": "0x7530",
        "gasUsed": "0x5208",
        "input": "0x",
    }


def test_a_creation_that_failed_has_no_address() -> None:
    assert tree("creation")["to"] == "0x" + CREATED.hex()
    failed = tree("creation that reverts")
    assert "to" not in failed
    assert failed["error"] == "execution reverted"
    assert failed["revertReason"] == "not today"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("creation out of gas", "contract creation code storage out of gas"),
        ("creation of too much code", "max code size exceeded"),
        ("creation of reserved code", "invalid code: must not begin with 0xef"),
        ("creation at an address in use", "contract address collision"),
        ("invalid opcode at the top", "invalid opcode: INVALID"),
        ("out of gas", "out of gas"),
    ],
)
def test_a_failed_transaction_tells_why(name: str, error: str) -> None:
    assert tree(name)["error"] == error


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("stack underflow", "stack underflow (1 <=> 2)"),
        ("stack underflow of a call", "stack underflow (1 <=> 7)"),
        ("stack overflow", "stack limit reached 1024 (1023)"),
        ("undefined opcode", "invalid opcode: opcode 0xc not defined"),
        ("jump into nowhere", "invalid jump destination"),
        ("return data out of bounds", "return data out of bounds"),
        ("write protection of a slot", "write protection"),
        ("call without the balance", "insufficient balance for transfer"),
        ("create without the balance", "insufficient balance for transfer"),
    ],
)
def test_a_failed_call_tells_why(name: str, error: str) -> None:
    assert tree(name)["calls"][0]["error"] == error


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("revert with a panic", "arithmetic underflow or overflow"),
        ("revert with data of no error", None),
        ("revert with two bytes", None),
        ("revert with a damaged reason", None),
        ("revert with nothing", None),
    ],
)
def test_a_reverts_reason_is_solidity_s(name: str, reason: str | None) -> None:
    call = tree(name)["calls"][0]
    assert call["error"] == "execution reverted"
    assert call.get("revertReason") == reason


def test_a_selfdestruct_is_a_call_with_the_balance() -> None:
    assert tree("selfdestruct to itself")["calls"] == [
        {
            "type": "SELFDESTRUCT",
            "from": "0x" + CONTRACT.hex(),
            "to": "0x" + CONTRACT.hex(),
            "value": "0xc",
            "gas": "0x0",
            "gasUsed": "0x0",
            "input": "0x",
        }
    ]


def test_logs_that_were_undone_are_not_there_and_do_not_count() -> None:
    top = tree("logs at depth", withLog=True)
    assert [(log["index"], log["position"]) for log in top["logs"]] == [
        ("0x0", "0x0"),
        ("0x2", "0x1"),
        ("0x3", "0x2"),
    ]
    inner, reverted = top["calls"]
    assert [log["index"] for log in inner["logs"]] == ["0x1"]
    assert len(inner["logs"][0]["topics"]) == 4
    assert "logs" not in reverted
    assert "logs" not in inner["calls"][0]
    assert "logs" not in tree("logs undone", withLog=True)


def test_logs_count_from_the_blocks_earlier_ones() -> None:
    tracer = CallTracer(CallTracerOptions(with_log=True, first_log_index=7))
    result = BY_NAME["logs at depth"].trace(tracer)
    assert isinstance(result, dict)
    assert [log["index"] for log in result["logs"]] == ["0x7", "0x9", "0xa"]


def test_the_top_call_alone_has_its_own_logs() -> None:
    top = tree("logs at depth", onlyTopCall=True, withLog=True)
    assert "calls" not in top
    assert [(log["index"], log["position"]) for log in top["logs"]] == [
        ("0x0", "0x0"),
        ("0x2", "0x0"),
        ("0x3", "0x0"),
    ]


def test_a_static_call_has_no_value_and_a_delegated_one_has_its_callers() -> None:
    calls = {call["type"]: call for call in tree("calls of all kinds")["calls"][:4]}
    assert "value" not in calls["STATICCALL"]
    assert calls["DELEGATECALL"]["value"] == "0x6"
    assert {call["from"] for call in calls.values()} == {"0x" + CONTRACT.hex()}


def test_a_tracer_that_saw_nothing_has_an_empty_object() -> None:
    assert CallTracer().result() == {}
