"""trace_* methods that execute. tests/pyevm_agents/tracing tests the formats of the traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.pyevm_agents.rpc.contracts_to_trace import (
    CALLER,
    CODES,
    COUNTER,
    INITCODE,
    OTHER,
    REVERTING,
    SENDER,
    send,
)
from tests.pyevm_agents.rpc.served import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

ALL = ["trace", "stateDiff", "vmTrace"]
ZERO, ONE, TWO = (f"0x{number:064x}" for number in range(3))
COUNT = {"from": SENDER, "to": COUNTER}


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve(codes=CODES)


def counted(told: dict[str, Any]) -> object:
    """Return the change of the counter's slot."""
    return told["stateDiff"][COUNTER]["storage"][ZERO]["*"]


def test_what_is_not_asked_for_is_null(served: Served) -> None:
    told = served.ask("trace_call", COUNT, [])
    assert told == {"output": ONE, "trace": [], "stateDiff": None, "vmTrace": None}
    told = served.ask("trace_call", COUNT, ["vmTrace"])
    assert told["vmTrace"]["ops"]
    assert told["trace"] == []


def test_a_call_is_tried_and_not_kept(served: Served) -> None:
    for _ in range(2):
        told = served.ask("trace_call", COUNT, ALL)
        assert told["output"] == ONE
        assert counted(told) == {"from": ZERO, "to": ONE}
        assert told["trace"][0]["result"]["output"] == ONE
        assert "blockHash" not in told["trace"][0]
    assert served.ask("eth_getStorageAt", COUNTER, "0x0") == ZERO


def test_a_call_that_fails_is_told_and_no_error(served: Served) -> None:
    told = served.ask("trace_call", {"from": SENDER, "to": REVERTING}, ALL)
    assert told["output"] == f"0x{5:064x}"
    assert told["trace"][0]["error"] == "Reverted"
    assert told["vmTrace"]["ops"][-1]["op"] == "REVERT"


def test_a_call_takes_overrides(served: Served) -> None:
    told = served.ask(
        "trace_call", COUNT, ["trace"], "latest", {COUNTER: {"stateDiff": {ZERO: ONE}}}, None
    )
    assert told["output"] == TWO


def test_calls_follow_on_each_other(served: Served) -> None:
    before = served.ask("trace_callMany", [[COUNT, ["stateDiff"]]] * 3, "latest")
    assert [counted(told)["to"] for told in before] == [ONE, TWO, f"0x{3:064x}"]  # type: ignore[index]
    nonces = [told["stateDiff"][SENDER]["nonce"]["*"]["to"] for told in before]
    assert nonces == ["0x1", "0x2", "0x3"]
    assert served.ask("eth_getStorageAt", COUNTER, "0x0") == ZERO


def test_calls_in_a_row_end_as_the_same_transactions_in_blocks(served: Served) -> None:
    """State differences equal those of the chain's execution, except fees and nonces."""
    forms: list[dict[str, str]] = [
        {"from": SENDER, "to": CALLER, "value": "0x5"},
        {"from": SENDER, "to": COUNTER, "value": "0x2"},
        {"from": SENDER, "data": "0x" + INITCODE.hex()},
        {"from": SENDER, "to": REVERTING},
        {"from": SENDER, "to": CALLER, "value": "0x9"},
    ]
    calls = [[form | {"gas": hex(300_000), "gasPrice": hex(10**9)}, ALL] for form in forms]
    tried = served.ask("trace_callMany", calls)
    for form, told in zip(forms, tried, strict=True):
        sent = served.ask("eth_sendTransaction", form | {"gas": hex(300_000)})
        mined = served.ask("trace_replayTransaction", sent, ALL)
        assert told["output"] == mined["output"]
        assert told["trace"] == mined["trace"]
        assert told["vmTrace"] == mined["vmTrace"]
        paid = {SENDER, "0x" + "00" * 20}
        assert {one: it for one, it in told["stateDiff"].items() if one not in paid} == {
            one: it for one, it in mined["stateDiff"].items() if one not in paid
        }


def test_a_call_that_can_not_be_is_named(served: Served) -> None:
    poor = {"from": "0x" + "57" * 20, "to": OTHER, "value": "0x1"}
    with pytest.raises(RefusedError, match=r"err: calls\[1\]: ") as refusal:
        served.ask("trace_callMany", [[COUNT, []], [poor, []]])
    assert refusal.value.code == -32000
    with pytest.raises(RefusedError, match="err: "):
        served.ask("trace_call", poor, [])


def test_a_signed_transaction_is_tried_and_not_sent(served: Served) -> None:
    signed = served.ask("eth_signTransaction", COUNT | {"gas": hex(100_000)})["raw"]
    told = served.ask("trace_rawTransaction", signed, ALL)
    assert counted(told) == {"from": ZERO, "to": ONE}
    assert told["stateDiff"][SENDER]["balance"] == "="  # The sender pays no fee.
    assert served.ask("eth_blockNumber") == "0x0"
    sent = served.ask("eth_sendRawTransaction", signed)
    mined = served.ask("trace_replayTransaction", sent, ALL)
    for name in ("output", "trace", "vmTrace"):
        assert told[name] == mined[name]
    with pytest.raises(RefusedError, match="failed to decode signed transaction"):
        served.ask("trace_rawTransaction", "0x01", [])


def test_a_blocks_transactions_are_told_one_by_one(serve: Serve) -> None:
    served = serve(codes=CODES, is_automatic=False)
    sent = [send(served, COUNTER) for _ in range(3)]
    served.ask("evm_mine")
    told = served.ask("trace_replayBlockTransactions", "latest", ALL)
    assert [one["transactionHash"] for one in told] == sent
    assert [counted(one)["to"] for one in told] == [ONE, TWO, f"0x{3:064x}"]  # type: ignore[index]
    alone = served.ask("trace_replayTransaction", sent[1], ALL)
    assert alone == {key: it for key, it in told[1].items() if key != "transactionHash"}
    assert served.ask("trace_replayBlockTransactions", "0x0", ALL) == []


@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("trace_call", [COUNT, ["colour"]], "must be trace, stateDiff, vmTrace"),
        ("trace_call", [COUNT, "trace"], "must be a list"),
        ("trace_call", [COUNT, [[]]], "must be trace, stateDiff, vmTrace"),
        ("trace_callMany", [[[COUNT]]], "must be a call and a list of trace types"),
        ("trace_callMany", [[[COUNT, []]] * 1_001], "must be at most 1000 calls, not 1001"),
        ("trace_callMany", [[COUNT]], "must be a list"),
    ],
)
def test_what_is_asked_wrongly(
    served: Served, method: str, params: list[object], told: str
) -> None:
    with pytest.raises(RefusedError, match=told) as refusal:
        served.ask(method, *params)
    assert refusal.value.code == -32602


def test_what_is_not_there_is_said_so(served: Served) -> None:
    with pytest.raises(RefusedError, match="transaction not found"):
        served.ask("trace_replayTransaction", "0x" + "11" * 32, [])
    with pytest.raises(RefusedError, match="header not found"):
        served.ask("trace_replayBlockTransactions", "0x9", [])
