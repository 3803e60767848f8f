"""Short sends and estimates are answered on the event loop; others without an effect there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest
from eth_utils import to_hex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyevm_agents.rpc.dispatcher import DeferredResponse
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, transaction
from tests.pyevm_agents.rpc.served import RefusedError
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

STORE, CALLER, FAILS = bytes([0xA0]) * 20, bytes([0xA1]) * 20, bytes([0xA2]) * 20
CODES = {
    STORE: asm("0x01 PUSH0 SSTORE"),
    CALLER: asm("PUSH0 PUSH0 PUSH0 PUSH0 0x" + STORE.hex() + " GAS STATICCALL"),
    FAILS: asm("PUSH0 PUSH0 REVERT"),
}


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve(codes=CODES)


def ask_on_loop(served: Served, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
    """Return the result of a request on the event loop; None if it is left to a thread."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = served.dispatcher.handle(orjson.dumps(request), served.session)
    if isinstance(answer, DeferredResponse):
        return None
    assert answer is not None
    return orjson.loads(answer)["result"]


def test_a_short_send_is_answered_with_its_block_made(served: Served) -> None:
    sent = transaction(to=STORE, gas=60_000)
    assert ask_on_loop(served, "eth_sendRawTransaction", to_hex(sent.encode())) == to_hex(sent.hash)
    receipt = served.ask("eth_getTransactionReceipt", to_hex(sent.hash))
    assert (receipt["status"], receipt["blockNumber"]) == ("0x1", "0x1")
    named = {"from": to_hex(ADDRESSES[0]), "to": to_hex(ADDRESSES[1]), "gas": hex(21_000)}
    assert ask_on_loop(served, "eth_sendTransaction", named) is not None
    assert served.ask("eth_blockNumber") == "0x2"


@pytest.mark.parametrize(
    "fields",
    [{"to": CALLER, "gas": 60_000}, {"to": STORE, "gas": 100_001}, {"to": STORE, "nonce": 1}],
)
def test_any_other_send_has_no_effect_there(served: Served, fields: dict[str, Any]) -> None:
    raw = to_hex(transaction(**({"gas": 60_000} | fields)).encode())
    assert ask_on_loop(served, "eth_sendRawTransaction", raw) is None
    assert (len(served.node.pool), served.ask("eth_blockNumber")) == (0, "0x0")
    served.ask("eth_sendRawTransaction", raw)
    is_mined = fields.get("nonce") is None
    assert served.ask("eth_blockNumber") == hex(is_mined)
    assert len(served.node.pool) == (not is_mined)


def test_a_send_without_gas_is_estimated_in_a_thread(served: Served) -> None:
    named = {"from": to_hex(ADDRESSES[0]), "to": to_hex(ADDRESSES[1])}
    assert ask_on_loop(served, "eth_sendTransaction", named) is None


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    to=st.sampled_from([*CODES, ADDRESSES[1], bytes(19) + b"\x02"]),
    data=st.binary(max_size=40),
    gas=st.none() | st.integers(21_000, 60_000),
    value=st.integers(0, 2),
)
def test_an_estimate_there_is_that_of_a_thread(
    served: Served, to: bytes, data: bytes, gas: int | None, value: int
) -> None:
    call = {"from": to_hex(ADDRESSES[0]), "to": to_hex(to), "data": to_hex(data)} | (
        {"value": hex(value)} if gas is None else {"value": hex(value), "gas": hex(gas)}
    )
    try:
        whole = served.service.call("eth_estimateGas", [call], served.session)
    except Exception:  # noqa: BLE001 - every refusal
        with pytest.raises(RefusedError):
            served.ask("eth_estimateGas", call)
        return
    short = ask_on_loop(served, "eth_estimateGas", call)
    assert short in {None, whole}
    if to == STORE and gas is None:
        assert short is not None
