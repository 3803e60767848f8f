"""eth_createAccessList: the list is complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_hex

from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, NOBODY
from tests.pyevm_agents.tracing.assembler import asm, calling

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_typing import Address

    from tests.pyevm_agents.rpc.served import Served

CALLEE: Address = NOBODY
CALLER: Address = NOBODY[:-1] + b"\x00"  # type: ignore[assignment]
CODES = {
    CALLEE: asm("0x07 SLOAD POP PUSH0 PUSH0 REVERT"),
    CALLER: asm("0x05 SLOAD POP " + calling("CALL", CALLEE) + " POP STOP"),
}


def test_lists_what_is_touched_and_what_it_costs(serve: Callable[..., Served]) -> None:
    served = serve(codes=CODES)
    call = {"from": to_hex(ADDRESSES[0]), "to": to_hex(CALLER)}
    made = served.ask("eth_createAccessList", call)
    assert made["accessList"] == [
        {"address": to_hex(CALLER), "storageKeys": [f"0x{5:064x}"]},
        {"address": to_hex(CALLEE), "storageKeys": [f"0x{7:064x}"]},
    ]
    assert "error" not in made
    with_list = call | {"accessList": made["accessList"]}
    assert served.ask("eth_createAccessList", with_list) == made
    receipt = served.ask(
        "eth_getTransactionReceipt",
        served.ask("eth_sendTransaction", with_list | {"gas": "0x186a0"}),
    )
    assert receipt["gasUsed"] == made["gasUsed"]


def test_what_fails_is_listed_too(serve: Callable[..., Served]) -> None:
    made = serve(codes=CODES).ask("eth_createAccessList", {"to": to_hex(CALLEE)})
    assert made["error"] == "execution reverted"
    assert made["accessList"] == [{"address": to_hex(CALLEE), "storageKeys": [f"0x{7:064x}"]}]
