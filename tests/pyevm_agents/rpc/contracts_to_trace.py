"""Contracts of a few opcodes, and a node that has run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import to_hex

from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.tracing.assembler import asm, calling, creating, returning

if TYPE_CHECKING:
    from tests.pyevm_agents.rpc.served import Served

SENDER, OTHER = to_hex(ADDRESSES[0]), to_hex(ADDRESSES[1])
COUNTER_ADDRESS = Address(b"\xce" * 20)
CALLER_ADDRESS = Address(b"\xc0" * 20)
REVERTING_ADDRESS = Address(b"\xcc" * 20)
COUNTER, CALLER, REVERTING = map(to_hex, (COUNTER_ADDRESS, CALLER_ADDRESS, REVERTING_ADDRESS))
RUNTIME = asm("0x07 PUSH0 MSTORE 0x20 PUSH0 RETURN")
INITCODE = asm(returning(RUNTIME))

CODES = {
    COUNTER_ADDRESS: asm("PUSH0 SLOAD 0x01 ADD DUP1 PUSH0 SSTORE PUSH0 MSTORE 0x20 PUSH0 RETURN"),
    CALLER_ADDRESS: asm(
        calling("CALL", COUNTER_ADDRESS, value_wei=3)
        + " POP "
        + creating(INITCODE, value_wei=1)
        + " POP STOP"
    ),
    REVERTING_ADDRESS: asm("0x05 PUSH0 MSTORE 0x20 PUSH0 REVERT"),
}
"""A counter of its calls, a caller of it that also creates a contract, and a revert with 5."""


def send(served: Served, to: str | None, **told: str) -> str:
    """Send a transaction; return its hash."""
    form = {"from": SENDER, "gas": hex(300_000), **({} if to is None else {"to": to}), **told}
    return str(served.ask("eth_sendTransaction", form))
