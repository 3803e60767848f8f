"""Requests whose executions take too long, or whose clients have left, end."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_hex

from pyevm_agents.rpc.call_watcher import CallWatcher
from pyevm_agents.rpc.errors import LIMIT_EXCEEDED, RpcError
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.vm import InterruptedExecutionError, Interruption
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.node.senders_of_tests import NOBODY
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

LOOP = {"to": to_hex(NOBODY), "gas": hex(10**15)}
UNCAPPED = {"to": to_hex(NOBODY)}
"""With the gas of a block, which takes far longer than a check."""

ENDLESS = {to_hex(NOBODY): {"code": to_hex(asm("JUMPDEST PUSH0 JUMP"))}}

REQUESTS: dict[str, list[Any]] = {
    "eth_call": [LOOP, "latest", ENDLESS],
    "eth_estimateGas": [LOOP, "latest", ENDLESS],
    "eth_createAccessList": [LOOP, "latest", ENDLESS],
    "eth_callMany": [[{"transactions": [LOOP]}], {}, ENDLESS],
    "eth_simulateV1": [{"blockStateCalls": [{"stateOverrides": ENDLESS, "calls": [UNCAPPED]}]}],
    "debug_traceCall": [LOOP, "latest", {"tracer": "noopTracer", "stateOverrides": ENDLESS}],
    "trace_call": [LOOP, ["trace"], "latest", ENDLESS],
}


def ended(interruption: Interruption) -> str | None:
    """Return the reason for which executions end."""
    try:
        interruption.raise_if_ended()
    except InterruptedExecutionError as error:
        return str(error)
    return None


def test_late_and_abandoned_requests_end_and_no_others() -> None:
    now = [0.0]
    watcher = CallWatcher(10, now=lambda: now[0])
    open_, closed = Session("ws"), Session("ws")
    early, late, left = Interruption(), Interruption(), Interruption()
    watcher.watch(late, open_)
    watcher.watch(left, closed)
    now[0] = 5
    watcher.watch(early, open_)
    watcher.watch(late, open_)  # The first deadline counts.
    assert watcher.check()
    assert [ended(each) for each in (early, late, left)] == [None, None, None]
    closed.close()
    now[0] = 10.5
    assert watcher.check()
    assert ended(early) is None
    assert ended(left) == "execution aborted: the client has left"
    assert str(ended(late)).startswith("execution aborted: it took more than 10 seconds; pass less")
    next_of_batch = Interruption()
    watcher.watch(next_of_batch, closed)
    assert ended(next_of_batch) == ended(left)
    del early, late, left
    gc.collect()
    assert not watcher.check()


@pytest.mark.parametrize("method", REQUESTS)
def test_a_client_that_leaves_ends_its_execution(serve: Serve, method: str) -> None:
    node = serve().node
    service = build_node_service(node, call_gas=10**15)
    session = Session("http")
    errors: list[RpcError] = []

    def run() -> None:
        with pytest.raises(RpcError) as caught:
            service.call(method, REQUESTS[method], session)
        errors.append(caught.value)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    session.close()
    thread.join(HANG_SECONDS)
    assert [(each.code, each.message) for each in errors] == [
        (LIMIT_EXCEEDED, "execution aborted: the client has left")
    ]


def test_a_request_has_a_deadline(serve: Serve) -> None:
    service = build_node_service(serve().node, call_gas=10**15, call_seconds=0.1)
    with pytest.raises(
        RpcError, match=r"more than 0\.1 seconds; .* larger --call-timeout"
    ) as caught:
        service.call("eth_call", REQUESTS["eth_call"], Session("http"))
    assert caught.value.code == LIMIT_EXCEEDED


@pytest.mark.parametrize(
    ("call_gas", "block_gas", "sent", "left"),
    [
        (None, None, None, 30_000_000),
        (None, None, 40_000_000, 40_000_000),
        (None, None, 2**64 - 1, 50_000_000),
        (None, 2**60, None, 50_000_000),
        (100_000, None, None, 100_000),
        (100_000, None, 90_000, 90_000),
        (100_000_000, None, 2**64 - 1, 100_000_000),
    ],
)
def test_the_gas_of_a_call_is_capped(
    serve: Serve, call_gas: int | None, block_gas: int | None, sent: int | None, left: int
) -> None:
    service = build_node_service(serve().node, call_gas=call_gas)
    call = {"to": to_hex(NOBODY)} | ({} if sent is None else {"gas": hex(sent)})
    code = {to_hex(NOBODY): {"code": to_hex(asm("GAS PUSH0 MSTORE 0x20 PUSH0 RETURN"))}}
    block = [] if block_gas is None else [{"gasLimit": hex(block_gas)}]
    answer = service.call("eth_call", [call, "latest", code, *block], Session("http"))
    assert int(str(answer), 16) == left - 21_000 - 2
