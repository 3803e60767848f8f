"""The traces of all requests share one pool of memory, and return what they took."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from eth_utils import to_hex

from pyevm_agents.rpc.dispatcher import DeferredResponse, Dispatcher
from pyevm_agents.rpc.errors import LIMIT_EXCEEDED, RpcError
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.tracing import TraceBudget, TracePool, TraceTooLargeError
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.node.senders_of_tests import NOBODY
from tests.pyevm_agents.rpc.contracts_to_trace import CODES, COUNTER, send
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.rpc.service import NodeService
    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

CALL = {"to": to_hex(NOBODY), "gas": hex(60_000)}
CODE = {to_hex(NOBODY): {"code": to_hex(asm("JUMPDEST PUSH0 JUMP"))}}
TRACE: list[Any] = [CALL, "latest", {"stateOverrides": CODE}]
MOST_BYTES = 2**40


def trace(service: NodeService, resources: ExitStack | None = None) -> object:
    return service.call("debug_traceCall", TRACE, Session("http"), resources=resources)


def measure_trace(serve: Serve) -> int:
    """Return the bytes that the traced call takes."""
    pool = TracePool(MOST_BYTES)
    with ExitStack() as resources:
        trace(build_node_service(serve().node, trace_pool=pool), resources)
        return MOST_BYTES - pool.free_bytes


def test_a_pool_gives_no_more_than_it_has() -> None:
    pool = TracePool(10)
    first, second = TraceBudget(8, pool), TraceBudget(8, pool)
    first.spend(7)
    with pytest.raises(TraceTooLargeError, match=r"more than 10 bytes; retry .* --trace-memory"):
        second.spend(4)
    second.spend(3)
    with pytest.raises(TraceTooLargeError, match="trace too large: more than 8 bytes"):
        first.spend(2)
    assert pool.free_bytes == 0
    first.release()
    first.release()
    assert pool.free_bytes == 7
    second.release()
    assert pool.free_bytes == 10


def test_a_trace_is_counted_until_its_response_is_encoded(serve: Serve) -> None:
    size = measure_trace(serve)
    assert size > 1_000_000
    pool = TracePool(2 * size - 1)
    service = build_node_service(serve().node, trace_pool=pool)
    with ExitStack() as resources:
        trace(service, resources)
        with pytest.raises(RpcError, match=r"retry when other traces have ended") as caught:
            trace(service)
        assert caught.value.code == LIMIT_EXCEEDED
        assert pool.free_bytes == size - 1
    assert trace(service)
    assert pool.free_bytes == 2 * size - 1


def test_concurrent_traces_share_the_pool(serve: Serve) -> None:
    size, threads = measure_trace(serve), 6
    pool = TracePool(2 * size + size // 2)
    service = build_node_service(serve().node, trace_pool=pool)
    have_answers = threading.Barrier(threads)
    outcomes: list[object] = []

    def run() -> None:
        with ExitStack() as resources:
            outcome: object = None
            try:
                trace(service, resources)
            except RpcError as error:
                outcome = error.code
                resources.close()
            outcomes.append(outcome)
            have_answers.wait(HANG_SECONDS)
            assert pool.free_bytes >= 0

    running = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(HANG_SECONDS)
    assert len(outcomes) == threads
    assert outcomes.count(None) <= 2
    assert outcomes.count(LIMIT_EXCEEDED) == threads - outcomes.count(None)
    assert pool.free_bytes == 2 * size + size // 2
    assert trace(service)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("debug_traceCall", TRACE),
        ("debug_traceCall", [CALL, "latest", {"tracer": "callTracer", "stateOverrides": CODE}]),
        ("debug_traceCall", [CALL, "latest", {"blockOverrides": {"number": "no"}}]),
        ("trace_call", [CALL, ["trace", "vmTrace"], "latest", CODE]),
        ("trace_callMany", [[[CALL, ["trace"]], [CALL, ["vmTrace"]]]]),
        ("debug_traceBlockByNumber", ["0x1"]),
        ("trace_block", ["0x1"]),
        ("trace_filter", [{"fromBlock": "0x0", "toBlock": "latest"}]),
        ("trace_replayBlockTransactions", ["0x1", ["trace"]]),
        ("ots_searchTransactionsBefore", [to_hex(NOBODY), 0, 5]),
    ],
)
@pytest.mark.parametrize("most_bytes", [5_000, MOST_BYTES])
def test_a_response_returns_all_memory(
    serve: Serve, method: str, params: list[Any], most_bytes: int
) -> None:
    pool = TracePool(most_bytes)
    served = serve(codes=CODES)
    send(served, COUNTER)
    dispatcher = Dispatcher(build_node_service(served.node, trace_pool=pool))
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = dispatcher.handle(orjson.dumps(request), Session("http"))
    assert isinstance(answer, DeferredResponse)
    response = orjson.loads(answer() or b"")
    assert {"result", "error"} & response.keys()
    assert pool.free_bytes == most_bytes


def test_a_client_that_leaves_gives_its_memory_back(serve: Serve) -> None:
    pool = TracePool(MOST_BYTES)
    service = build_node_service(serve().node, trace_pool=pool)
    session = Session("http")
    session.close()
    with ExitStack() as resources, pytest.raises(RpcError, match="the client has left"):
        service.call("debug_traceCall", TRACE, session, resources=resources)
    assert pool.free_bytes == MOST_BYTES
