"""Sends whose transaction fails in its block: an error, where that was asked for.

The reasons and codes are those of the same call; Hardhat's network answers so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode

from pyevm_agents.local_node import NodeConfig, open_node
from pyevm_agents.rpc.errors import EXECUTION_REVERTED, SERVER_ERROR, RpcError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.local_node import OpenNode

FIRST = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
PLACE = "0x" + "aa" * 20
REASON = "08c379a0" + encode(["string"], ["no"]).hex()
CUSTOM = "556f1830" + encode(["uint256"], [5]).hex()


def _revert_with(data: str) -> str:
    """Return code that reverts with these data, at most 255 bytes."""
    size = len(data) // 2
    return f"0x60{size:02x}600c60003960{size:02x}6000fd{data}"


@pytest.fixture(scope="module")
def throwing() -> Iterator[OpenNode]:
    with open_node(NodeConfig(models=(), throws_on_failure=True), serve=False) as opened:
        yield opened


@pytest.mark.parametrize("gas", ["0x30d40", None])
@pytest.mark.parametrize(
    ("code", "error_code", "data"),
    [
        (_revert_with(REASON), EXECUTION_REVERTED, "0x" + REASON),
        (_revert_with(CUSTOM), EXECUTION_REVERTED, "0x" + CUSTOM),
        (_revert_with(""), EXECUTION_REVERTED, "0x"),
        ("0xfe", SERVER_ERROR, "0x"),
    ],
)
def test_the_error_has_the_reason_and_the_hash_and_the_transaction_is_mined(
    throwing: OpenNode, gas: str | None, code: str, error_code: int, data: str
) -> None:
    throwing.request("anvil_setCode", PLACE, code)
    form = {"from": FIRST, "to": PLACE, **({} if gas is None else {"gas": gas})}
    number = int(throwing.request("eth_blockNumber"), 16)
    with pytest.raises(RpcError) as of_call:
        throwing.request("eth_call", form)
    with pytest.raises(RpcError) as of_send:
        throwing.request("eth_sendTransaction", form)
    error = of_send.value
    assert (error.code, error.message) == (of_call.value.code, of_call.value.message)
    assert error.code == error_code
    assert isinstance(error.data, dict)
    assert (error.data["message"], error.data["data"]) == (error.message, data)
    receipt = throwing.request("eth_getTransactionReceipt", error.data["txHash"])
    assert (receipt["status"], int(receipt["blockNumber"], 16)) == ("0x0", number + 1)


def test_a_signed_transaction_and_a_creation_that_fail_are_errors(throwing: OpenNode) -> None:
    throwing.request("anvil_setCode", PLACE, _revert_with(REASON))
    form = {"from": FIRST, "to": PLACE, "gas": "0x30d40"}
    raw = throwing.request("eth_signTransaction", form)["raw"]
    for method, parameter in (
        ("eth_sendRawTransaction", raw),
        ("eth_sendTransaction", {"from": FIRST, "data": _revert_with(REASON), "gas": "0x30d40"}),
    ):
        with pytest.raises(RpcError) as raised:
            throwing.request(method, parameter)
        assert isinstance(raised.value.data, dict)
        assert raised.value.data["data"] == "0x" + REASON


def test_what_does_not_fail_in_the_block_of_the_send_returns_a_hash(throwing: OpenNode) -> None:
    throwing.request("anvil_setCode", PLACE, _revert_with(REASON))
    failing = {"from": FIRST, "to": PLACE, "gas": "0x30d40"}
    assert len(throwing.request("eth_sendTransaction", {"from": FIRST, "to": FIRST})) == 66
    throwing.request("evm_setAutomine", False)  # noqa: FBT003 - JSON-RPC has places
    sent = throwing.request("eth_sendTransaction", failing)
    throwing.request("evm_mine")
    assert throwing.request("eth_getTransactionReceipt", sent)["status"] == "0x0"
    throwing.request("evm_setAutomine", True)  # noqa: FBT003 - as above
    receipt = throwing.request(
        "eth_sendRawTransactionSync", throwing.request("eth_signTransaction", failing)["raw"]
    )
    assert receipt["status"] == "0x0"


def test_by_default_a_failed_transaction_has_a_hash() -> None:
    with open_node(NodeConfig(models=()), serve=False) as opened:
        opened.request("anvil_setCode", PLACE, "0xfe")
        sent = opened.request("eth_sendTransaction", {"from": FIRST, "to": PLACE, "gas": "0x30d40"})
        assert opened.request("eth_getTransactionReceipt", sent)["status"] == "0x0"
