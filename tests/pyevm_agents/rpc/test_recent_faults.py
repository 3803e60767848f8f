"""What the host failed on is not tried again at once, however often a client asks."""

from __future__ import annotations

from typing import Any

import pytest
from web3._utils.error_formatters_utils import raise_contract_logic_error_on_revert

from pyevm_agents.errors import EngineFault
from pyevm_agents.rpc.errors import RESOURCE_UNAVAILABLE, RpcError
from pyevm_agents.rpc.methods.registry import all_methods
from pyevm_agents.rpc.recent_faults import FAULT_SECONDS, TRYING, Faults

FAULT = EngineFault("the model's process was ended by SIGKILL")
CALL = ("eth_call", [{"to": "0x19"}, "latest"])


class Clock:
    """A time that passes when a test says so."""

    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_a_request_gets_the_same_answer_until_its_time_is_over() -> None:
    clock = Clock()
    faults = Faults(clock)
    faults.require_none(*CALL)
    first = faults.noted(*CALL, FAULT)
    assert (first.code, first.message) == (RESOURCE_UNAVAILABLE, str(FAULT))
    assert first.data == [{"retry": False}]
    clock.seconds += FAULT_SECONDS - 0.1
    with pytest.raises(RpcError) as again:
        faults.require_none(*CALL)
    assert (again.value.code, again.value.message, again.value.data) == (
        first.code,
        first.message,
        first.data,
    )
    faults.require_none("eth_call", [{"to": "0x19"}, "pending"])
    faults.require_none("eth_estimateGas", CALL[1])
    clock.seconds += 0.1
    faults.require_none(*CALL)


@pytest.mark.parametrize("method", ["agent_setScript", "evm_mine", "anvil_setCode"])
def test_what_changes_the_outcome_ends_it(method: str) -> None:
    faults = Faults(Clock())
    faults.noted(*CALL, FAULT)
    faults.asked("eth_blockNumber")
    with pytest.raises(RpcError):
        faults.require_none(*CALL)
    faults.asked(method)
    faults.require_none(*CALL)


def test_what_is_more_than_its_parameters_is_tried_again() -> None:
    faults = Faults(Clock())
    faults.noted("evm_mine", [], FAULT)
    faults.require_none("evm_mine", [])


@pytest.mark.parametrize("method", ["eth_sendRawTransaction", "debug_traceCall", "evm_mine"])
def test_its_data_says_not_to_ask_again(method: str) -> None:
    assert Faults(Clock()).noted(method, [], FAULT).data == {"retry": False}


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
def test_web3_takes_it_for_no_revert(method: str) -> None:
    error = Faults(Clock()).noted(method, [], FAULT)
    told: Any = {"code": error.code, "message": error.message, "data": error.data}
    response: Any = {"jsonrpc": "2.0", "id": 1, "error": told}
    assert raise_contract_logic_error_on_revert(response) is response


def test_methods_that_are_not_tried_again_exist() -> None:
    assert set(all_methods()) >= TRYING


def test_all_are_forgotten_where_somebody_knows_better() -> None:
    faults = Faults(Clock())
    faults.noted(*CALL, FAULT)
    faults.forget()
    faults.require_none(*CALL)
