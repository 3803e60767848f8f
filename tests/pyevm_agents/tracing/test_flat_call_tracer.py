"""geth's flatCallTracer, and its differences from Parity's form."""

from __future__ import annotations

from typing import Any

import pytest

from pyevm_agents.tracing import PARITY, FlatCallTracer, create_tracer
from pyevm_agents.tracing.flat_call_tracer import FlatCallOptions
from tests.pyevm_agents.tracing.scenarios import BY_NAME, CREATED

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")


def flat(name: str, options: FlatCallOptions | None = None) -> list[dict[str, Any]]:
    result = BY_NAME[name].trace(FlatCallTracer(options))
    assert isinstance(result, list)
    return result


def test_lists_calls_with_their_paths() -> None:
    traces = flat("revert with a reason at depth")
    assert [(trace["traceAddress"], trace["subtraces"]) for trace in traces] == [
        ([], 1),
        ([0], 1),
        ([0, 0], 0),
    ]
    assert all(trace["error"] == "execution reverted" for trace in traces)
    assert all(trace["result"]["output"].startswith("0x08c379a0") for trace in traces)
    first = traces[0]
    assert first["blockHash"] is first["transactionHash"] is None
    assert first["blockNumber"] == first["transactionPosition"] == 0


def test_the_top_has_the_transactions_gas_in_geth_and_the_calls_in_parity() -> None:
    geths, paritys = flat("creation")[0], flat("creation", PARITY)[0]
    assert (geths["action"]["gas"], geths["result"]["gasUsed"]) == ("0xf4240", "0xd6b9")
    assert (paritys["action"]["gas"], paritys["result"]["gasUsed"]) == ("0xe71d8", "0x651")
    assert geths["result"]["address"] == "0x" + CREATED.hex()


def test_calls_of_precompiles_are_left_out_unless_asked_for() -> None:
    kinds = [trace["action"]["callType"] for trace in flat("precompiles")[1:]]
    assert kinds == ["delegatecall"]  # geth leaves out CALL and STATICCALL.
    assert flat("precompiles")[0]["subtraces"] == 1
    asked = flat("precompiles", FlatCallOptions(include_precompiles=True))
    assert [trace["traceAddress"] for trace in asked[1:]] == [[index] for index in range(7)]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("out of gas", "Out of gas"),
        ("creation out of gas", "Out of gas"),
        ("creation of too much code", "Out of gas"),
        ("creation of reserved code", "invalid code: must not begin with 0xef"),
        ("invalid opcode at the top", "Bad instruction"),
        ("creation that reverts", "Reverted"),
    ],
)
def test_errors_are_paritys_if_asked_for(name: str, error: str) -> None:
    trace = flat(name, FlatCallOptions(convert_parity_errors=True))[0]
    assert trace["error"] == error
    assert ("result" in trace) is (error == "Reverted")


def test_a_failed_call_has_a_null_result_in_parity() -> None:
    assert flat("out of gas", PARITY)[0]["result"] is None


def test_a_selfdestruct_is_a_suicide() -> None:
    trace = flat("selfdestruct to itself")[1]
    assert trace["type"] == "suicide"
    assert trace["action"] == {
        "address": "0x" + "c0" * 20,
        "balance": "0xc",
        "refundAddress": "0x" + "c0" * 20,
    }
    assert "result" not in trace


def test_the_options_of_a_request() -> None:
    request = {
        "tracer": "flatCallTracer",
        "tracerConfig": {"convertParityErrors": True, "includePrecompiles": True},
    }
    result = BY_NAME["precompiles"].trace(create_tracer(request))
    assert isinstance(result, list)
    assert len(result) == 8
    assert result[5]["error"] == "Built-in failed"
