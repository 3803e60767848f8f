"""Sends without a gas limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import to_hex

from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.rpc.served import RefusedError
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

FAILING = {
    "revert": "PUSH0 PUSH0 REVERT",
    "invalid": "INVALID",
    "endless": "JUMPDEST PUSH0 JUMP",
}
ADDRESS_OF = {name: bytes([0xA0 + place]) * 20 for place, name in enumerate(FAILING)}


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve(codes={ADDRESS_OF[name]: asm(code) for name, code in FAILING.items()})


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_whatever_its_gas_is_mined_as_in_anvil(served: Served, name: str) -> None:
    """It gets the block gas limit and returns its hash, as in anvil."""
    served.ask("evm_setBlockGasLimit", hex(2_000_000))  # All of it is executed.
    wanted = {"from": to_hex(ADDRESSES[0]), "to": to_hex(ADDRESS_OF[name])}
    with pytest.raises(RefusedError):
        served.ask("eth_estimateGas", wanted)
    sent = served.ask("eth_sendTransaction", wanted)
    receipt = served.ask("eth_getTransactionReceipt", sent)
    assert (receipt["status"], receipt["blockNumber"]) == ("0x0", "0x1")
    limit = served.ask("eth_getBlockByNumber", "latest", False)["gasLimit"]  # noqa: FBT003 - JSON-RPC has places
    assert served.ask("eth_getTransactionByHash", sent)["gas"] == limit
    assert served.ask("eth_getTransactionCount", to_hex(ADDRESSES[0])) == "0x1"


def test_a_constructor_that_fails_is_mined_too(served: Served) -> None:
    wanted = {"from": to_hex(ADDRESSES[0]), "data": to_hex(asm(FAILING["revert"]))}
    receipt = served.ask("eth_getTransactionReceipt", served.ask("eth_sendTransaction", wanted))
    assert receipt["status"] == "0x0"


def test_what_no_block_can_hold_is_refused(served: Served) -> None:
    wanted = {"from": to_hex(ADDRESSES[0]), "to": to_hex(ADDRESSES[1]), "value": hex(10**30)}
    with pytest.raises(RefusedError, match="insufficient funds"):
        served.ask("eth_sendTransaction", wanted)
    assert served.ask("eth_blockNumber") == "0x0"


def test_who_can_not_pay_for_a_blocks_gas_is_told_why_it_fails(served: Served) -> None:
    poor = "0x" + "77" * 20
    served.ask("anvil_setBalance", poor, hex(10**16))
    served.ask("anvil_impersonateAccount", poor)
    with pytest.raises(RefusedError, match="execution reverted") as refused:
        served.ask("eth_sendTransaction", {"from": poor, "to": to_hex(ADDRESS_OF["revert"])})
    assert refused.value.code == 3


def test_what_is_put_into_other_blocks_needs_no_gas_limit_either(served: Served) -> None:
    served.ask("evm_mine")
    wanted = {"from": to_hex(ADDRESSES[0]), "to": to_hex(ADDRESS_OF["revert"])}
    served.ask("anvil_reorg", 1, [[wanted, 0]])
    (sent,) = served.ask("eth_getBlockByNumber", "latest", False)["transactions"]  # noqa: FBT003 - JSON-RPC has places
    assert served.ask("eth_getTransactionReceipt", sent)["status"] == "0x0"
