"""Calls with a gas price: geth's error if the sender cannot pay."""

from __future__ import annotations

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.rpc.errors import RpcError
from tests.pyevm_agents.rpc.local_node import FIRST, SECOND, STRANGER, local_node

GWEI = 10**9


def test_a_call_at_a_price_needs_funds_and_one_without_does_not() -> None:
    call = {"from": STRANGER, "to": SECOND, "gas": hex(21_000)}
    with local_node() as node:
        assert node.ask("eth_call", call) == "0x"
        want = 21_000 * GWEI
        message = (
            "err: insufficient funds for gas * price + value: address "
            f"{to_checksum_address(STRANGER)} have 0 want {want} (supplied gas 21000)"
        )
        with pytest.raises(RpcError) as told:
            node.ask("eth_call", call | {"gasPrice": hex(GWEI)})
        assert (told.value.code, told.value.message) == (-32000, message)
        with pytest.raises(RpcError, match="have 0 want 1 "):
            node.ask("eth_call", call | {"value": "0x1"})
        poor = {STRANGER: {"balance": hex(want - 1)}}
        with pytest.raises(RpcError, match=f"have {want - 1} want {want}"):
            node.ask("eth_call", call | {"maxFeePerGas": hex(GWEI)}, "latest", poor)
        rich = {STRANGER: {"balance": hex(want)}}
        assert node.ask("eth_call", call | {"maxFeePerGas": hex(GWEI)}, "latest", rich) == "0x"
        assert node.ask("eth_call", call | {"from": FIRST, "gasPrice": hex(GWEI)}) == "0x"


def test_an_estimate_at_a_price_has_no_more_gas_than_is_paid_for() -> None:
    call = {"from": STRANGER, "to": SECOND, "gasPrice": hex(GWEI)}
    with local_node() as node:
        with pytest.raises(RpcError, match=r"^gas required exceeds allowance \(0\)$"):
            node.ask("eth_estimateGas", call)
        with pytest.raises(RpcError, match=r"^insufficient funds for transfer$"):
            node.ask("eth_estimateGas", call | {"value": "0x1"})
        node.ask("anvil_setBalance", STRANGER, hex(21_000 * GWEI))
        assert node.number("eth_estimateGas", call) == 21_000
        with pytest.raises(RpcError, match=r"^gas required exceeds allowance \(20999\)$"):
            node.ask("eth_estimateGas", call | {"value": hex(GWEI)})


def test_an_estimate_needs_what_it_sends() -> None:
    call = {"from": STRANGER, "to": SECOND, "value": "0x1"}
    with local_node() as node:
        with pytest.raises(RpcError, match=r"^insufficient funds for transfer$"):
            node.ask("eth_estimateGas", call)
        node.ask("anvil_setBalance", STRANGER, "0x1")
        assert node.number("eth_estimateGas", call) == 21_000


def test_initcode_that_is_too_long_is_refused_in_calls_too() -> None:
    call = {"from": FIRST, "data": "0x" + "00" * 49_153}
    with local_node() as node:
        for method in ("eth_call", "eth_estimateGas", "eth_createAccessList", "debug_traceCall"):
            with pytest.raises(RpcError, match="max initcode size exceeded: code size 49153"):
                node.ask(method, call, "latest")
