"""trace_* methods for mined transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.rpc.methods import trace_mined
from pyevm_agents.rpc.methods.trace_mined import get_call_parties
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


@pytest.fixture
def served(serve: Serve) -> Served:
    """Return a node with nested calls, a failure, a creation and a transfer, one block each."""
    served = serve(codes=CODES)
    send(served, CALLER, value="0x5")
    send(served, REVERTING)
    send(served, None, data="0x" + INITCODE.hex())
    send(served, OTHER, value="0x7")
    return served


def paths(calls: list[dict[str, Any]]) -> list[tuple[int, list[int]]]:
    return [(call["blockNumber"], call["traceAddress"]) for call in calls]


def test_one_call_is_got_by_its_path(served: Served) -> None:
    mined = served.ask("eth_getBlockByNumber", "0x1")["transactions"][0]
    calls = served.ask("trace_transaction", mined)
    assert len(calls) == 3
    for call in calls:
        path = list(map(hex, call["traceAddress"]))
        assert served.ask("trace_get", mined, path) == call
    assert served.ask("trace_get", mined, ["0x9"]) is None
    assert served.ask("trace_get", "0x" + "11" * 32, []) is None


def test_all_calls_are_found_where_nothing_is_asked_for(served: Served) -> None:
    calls = served.ask("trace_filter", {})
    assert paths(calls) == [(1, []), (1, [0]), (1, [1]), (2, []), (3, []), (4, [])]
    blocks = [served.ask("trace_block", hex(number)) for number in range(5)]
    assert calls == [call for block in blocks for call in block]


def test_calls_are_found_by_who_makes_them_and_to_whom(served: Served) -> None:
    def found(**criteria: object) -> list[tuple[int, list[int]]]:
        return paths(served.ask("trace_filter", criteria))

    assert found(fromAddress=[CALLER]) == [(1, [0]), (1, [1])]
    assert found(toAddress=[COUNTER]) == [(1, [0])]
    assert found(toAddress=OTHER) == [(4, [])]
    both = {"fromAddress": [CALLER], "toAddress": [COUNTER, REVERTING]}
    assert found(**both) == [(1, [0]), (1, [1]), (2, [])]
    assert found(**both, mode="intersection") == [(1, [0])]
    created = served.ask("trace_block", "0x3")[0]["result"]["address"]
    assert found(toAddress=[created]) == [(3, [])]


def test_calls_are_found_in_blocks_and_pages(served: Served) -> None:
    def found(**criteria: object) -> list[tuple[int, list[int]]]:
        return paths(served.ask("trace_filter", criteria))

    assert found(fromBlock="0x2", toBlock="0x3") == [(2, []), (3, [])]
    assert found(after=1, count=2) == [(1, [0]), (1, [1])]
    assert found(after="0x5") == [(4, [])]
    assert found(count="0x0") == []
    assert found(toBlock="0x99", fromBlock="latest") == [(4, [])]


def test_a_range_is_one_and_not_too_long(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RefusedError, match="fromBlock 3 > toBlock 1"):
        served.ask("trace_filter", {"fromBlock": "0x3", "toBlock": "0x1"})
    monkeypatch.setattr(trace_mined, "MAX_BLOCKS", 4)
    assert len(served.ask("trace_filter", {"fromBlock": "0x1"})) == 6
    with pytest.raises(RefusedError, match="5 blocks, 0 to 4; at most 4: set fromBlock"):
        served.ask("trace_filter", {})


def test_a_creation_that_failed_has_no_receiver() -> None:
    failed: dict[str, object] = {"type": "create", "action": {"from": SENDER}, "result": None}
    assert get_call_parties(failed) == (SENDER, None)
