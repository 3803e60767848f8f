"""Refusals are answered; an error of a library that nobody expected is logged as a bug."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import ValidationError

from pyevm_agents.rpc.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RESOURCE_UNAVAILABLE,
    SERVER_ERROR,
)
from pyevm_agents.vm import AgentTransactionExecutor
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.rpc.served import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

FIRST, LAST = ("0x" + ADDRESSES[index].hex() for index in (0, -1))
CALL = {"from": FIRST, "to": LAST}
AUTHORIZED = CALL | {
    "authorizationList": [
        {
            "chainId": "0x0",
            "address": LAST,
            "nonce": "0x0",
            "yParity": "0x0",
            "r": "0x1",
            "s": "0x1",
        }
    ]
}
MOVED = {LAST: {"movePrecompileToAddress": FIRST}}
POOR = CALL | {"from": "0x" + "ab" * 20, "value": "0x1"}
BUG = "this is a bug"

REFUSED: dict[str, tuple[str, list[Any], int]] = {
    "too little gas": ("eth_call", [CALL | {"gas": "0x1"}], SERVER_ERROR),
    "too little gas, traced": ("debug_traceCall", [CALL | {"gas": "0x1"}, "latest"], SERVER_ERROR),
    "no funds": ("eth_call", [POOR], SERVER_ERROR),
    "no funds, traced": ("trace_call", [POOR, ["trace"]], SERVER_ERROR),
    "authorizations before Prague": ("eth_call", [AUTHORIZED], SERVER_ERROR),
    "the same, estimated": ("eth_estimateGas", [AUTHORIZED], SERVER_ERROR),
    "no precompile to move": ("eth_call", [CALL, "latest", MOVED], SERVER_ERROR),
    "a past timestamp": ("evm_setNextBlockTimestamp", ["0x1"], INVALID_PARAMS),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_no_bug(serve: Serve, caplog: pytest.LogCaptureFixture, name: str) -> None:
    method, params, code = REFUSED[name]
    with pytest.raises(RefusedError) as refused:
        serve(fork="cancun").ask(method, *params)
    assert refused.value.code == code
    assert BUG not in caplog.text


EXECUTIONS: dict[str, list[Any]] = {
    "eth_call": [CALL],
    "eth_estimateGas": [CALL],
    "eth_createAccessList": [CALL],
    "debug_traceCall": [CALL, "latest"],
    "trace_callMany": [[[CALL, ["trace"]]]],
    "eth_callMany": [[{"transactions": [CALL]}], {"blockNumber": "latest"}],
    "eth_simulateV1": [{"blockStateCalls": [{"calls": [CALL]}]}],
    "eth_sendTransaction": [CALL | {"gas": "0x5208"}],
}


@pytest.mark.parametrize("method", EXECUTIONS)
def test_an_error_inside_of_an_execution_is_a_logged_fault(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    monkeypatch.setattr(AgentTransactionExecutor, "build_computation", fail)
    with pytest.raises(RefusedError) as refused:
        serve().ask(method, *EXECUTIONS[method])
    assert refused.value.code == RESOURCE_UNAVAILABLE
    assert BUG in caplog.text


@pytest.mark.parametrize("method", [it for it in EXECUTIONS if it != "eth_sendTransaction"])
def test_an_error_outside_of_an_execution_is_a_logged_bug(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    monkeypatch.setattr(AgentTransactionExecutor, "__call__", fail)
    with pytest.raises(RefusedError) as refused:
        serve().ask(method, *EXECUTIONS[method])
    assert refused.value.code == INTERNAL_ERROR
    assert BUG in caplog.text


def fail(*_: object) -> None:
    """Raise what py-evm raises of anything."""
    raise ValidationError("py-evm's")
