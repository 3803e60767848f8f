"""debug_traceBlock on known and unknown blocks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import rlp
from eth_utils import to_hex

from pyevm_agents.chain.block_rlp import decode_block
from pyevm_agents.rpc import context
from pyevm_agents.rpc.errors import LIMIT_EXCEEDED
from pyevm_agents.tracing import TraceBudget
from tests.pyevm_agents.node.senders_of_tests import transaction
from tests.pyevm_agents.rpc.contracts_to_trace import CODES, COUNTER, send
from tests.pyevm_agents.rpc.served import RefusedError
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

WITH_LOGS = {"tracer": "callTracer", "tracerConfig": {"withLog": True}}
LOGGER_ADDRESS = bytes.fromhex("a3" * 20)
LOGGER = to_hex(LOGGER_ADDRESS)
LOGS = asm("PUSH0 PUSH0 LOG0 PUSH0 PUSH0 LOG0")


@pytest.mark.parametrize("options", [{}, WITH_LOGS, {"tracer": "flatCallTracer"}])
def test_a_block_of_the_chain_is_traced_as_by_its_number(
    serve: Serve, options: dict[str, object]
) -> None:
    served = serve(codes={**CODES, LOGGER_ADDRESS: LOGS}, is_automatic=False)
    for to in (LOGGER, COUNTER, LOGGER):
        send(served, to)
    served.ask("evm_mine")
    encoded = served.ask("debug_getRawBlock", "latest")
    told = served.ask("debug_traceBlock", encoded, options)
    assert told == served.ask("debug_traceBlockByNumber", "latest", options)
    if options == WITH_LOGS:
        logs = [log["index"] for one in told for log in one["result"].get("logs", [])]
        assert logs == ["0x0", "0x1", "0x2", "0x3"]


def test_a_block_that_was_undone_or_never_was_is_traced_too(serve: Serve) -> None:
    served = serve(codes=CODES)
    send(served, COUNTER)
    encoded = served.ask("debug_getRawBlock", "latest")
    before = served.ask("debug_traceBlock", encoded)
    served.ask("anvil_rollback", 1)
    assert served.ask("debug_traceBlock", encoded) == before
    elsewhere = serve(codes=CODES)
    assert elsewhere.ask("debug_traceBlock", encoded) == before
    block = decode_block(bytes.fromhex(encoded[2:]))
    other = block.copy(transactions=[transaction(value_wei=5)])
    (told,) = served.ask("debug_traceBlock", to_hex(rlp.encode(other)), {"tracer": "callTracer"})
    assert told["result"]["value"] == "0x5"


def test_a_sender_that_signed_nothing_is_known(serve: Serve) -> None:
    served = serve(codes=CODES)
    served.ask("anvil_impersonateAccount", COUNTER)
    served.ask("anvil_setBalance", COUNTER, hex(10**18))
    served.ask("eth_sendTransaction", {"from": COUNTER, "to": LOGGER, "value": "0x1"})
    encoded = served.ask("debug_getRawBlock", "latest")
    (told,) = served.ask("debug_traceBlock", encoded, {"tracer": "callTracer"})
    assert told["result"]["from"] == COUNTER


def test_what_is_no_block_is_refused(serve: Serve) -> None:
    served = serve(codes=CODES)
    send(served, COUNTER)
    encoded = served.ask("debug_getRawBlock", "latest")
    block = decode_block(bytes.fromhex(encoded[2:]))

    def refused(**fields: object) -> str:
        header = block.header.copy(**fields)
        with pytest.raises(RefusedError) as refusal:
            served.ask("debug_traceBlock", to_hex(rlp.encode(block.copy(header=header))))
        return refusal.value.message

    assert "unknown parent 0x1111" in refused(parent_hash=b"\x11" * 32)
    assert "block 7 cannot follow block 0" in refused(block_number=7)
    with pytest.raises(RefusedError, match="bytes: not the RLP of a block"):
        served.ask("debug_traceBlock", "0x1234")
    poor = block.copy(transactions=[transaction(value_wei=10**30)])
    with pytest.raises(RefusedError, match="err: "):
        served.ask("debug_traceBlock", to_hex(rlp.encode(poor)))


def test_a_trace_beyond_its_budget_is_an_error_with_advice(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "TraceBudget", partial(TraceBudget, 100_000))
    code = {LOGGER: {"code": to_hex(asm("PUSH0 0x4000 MSTORE JUMPDEST 0x05 JUMP"))}}
    options = {"enableMemory": True, "stateOverrides": code}
    with pytest.raises(RefusedError, match="enableMemory: false, or less gas") as refusal:
        serve().ask("debug_traceCall", {"to": LOGGER, "gas": "0xafc8"}, "latest", options)
    assert refusal.value.code == LIMIT_EXCEEDED
