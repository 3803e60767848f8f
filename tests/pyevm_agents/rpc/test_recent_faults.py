"""Recent faults: a failed request is not executed again on a client's immediate retry."""

from __future__ import annotations

from typing import Any

import pytest
from web3._utils.error_formatters_utils import raise_contract_logic_error_on_revert

from pyevm_agents.errors import EngineFault
from pyevm_agents.rpc.errors import RESOURCE_UNAVAILABLE, RpcError
from pyevm_agents.rpc.methods.registry import collect_methods
from pyevm_agents.rpc.recent_faults import FAULT_SECONDS, REMEMBERED_METHODS, RecentFaults

FAULT = EngineFault("the model's process was ended by SIGKILL")
CALL = ("eth_call", [{"to": "0x19"}, "latest"])


class Clock:
    """A clock that a test advances."""

    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_a_request_gets_the_same_answer_until_its_time_is_over() -> None:
    clock = Clock()
    faults = RecentFaults(clock)
    faults.raise_if_recent(*CALL)
    first = faults.record(*CALL, FAULT)
    assert (first.code, first.message) == (RESOURCE_UNAVAILABLE, str(FAULT))
    assert first.data == [{"retry": False}]
    clock.seconds += FAULT_SECONDS - 0.1
    with pytest.raises(RpcError) as again:
        faults.raise_if_recent(*CALL)
    assert (again.value.code, again.value.message, again.value.data) == (
        first.code,
        first.message,
        first.data,
    )
    faults.raise_if_recent("eth_call", [{"to": "0x19"}, "pending"])
    faults.raise_if_recent("eth_estimateGas", CALL[1])
    clock.seconds += 0.1
    faults.raise_if_recent(*CALL)


@pytest.mark.parametrize("method", ["agent_setScript", "evm_mine", "anvil_setCode"])
def test_what_changes_the_outcome_ends_it(method: str) -> None:
    faults = RecentFaults(Clock())
    faults.record(*CALL, FAULT)
    faults.invalidate("eth_blockNumber")
    with pytest.raises(RpcError):
        faults.raise_if_recent(*CALL)
    faults.invalidate(method)
    faults.raise_if_recent(*CALL)


def test_what_is_more_than_its_parameters_is_tried_again() -> None:
    faults = RecentFaults(Clock())
    faults.record("evm_mine", [], FAULT)
    faults.raise_if_recent("evm_mine", [])


@pytest.mark.parametrize("method", ["eth_sendRawTransaction", "debug_traceCall", "evm_mine"])
def test_its_data_says_not_to_ask_again(method: str) -> None:
    assert RecentFaults(Clock()).record(method, [], FAULT).data == {"retry": False}


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
def test_web3_takes_it_for_no_revert(method: str) -> None:
    error = RecentFaults(Clock()).record(method, [], FAULT)
    told: Any = {"code": error.code, "message": error.message, "data": error.data}
    response: Any = {"jsonrpc": "2.0", "id": 1, "error": told}
    assert raise_contract_logic_error_on_revert(response) is response


def test_methods_that_are_not_tried_again_exist() -> None:
    assert set(collect_methods()) >= REMEMBERED_METHODS


def test_all_are_forgotten_where_somebody_knows_better() -> None:
    faults = RecentFaults(Clock())
    faults.record(*CALL, FAULT)
    faults.forget()
    faults.raise_if_recent(*CALL)
