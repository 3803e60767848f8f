"""Errors of executions: geth's words, and data wherever clients look for them.

Hardhat's matchers take an error without data for one of the network. Source of the words: geth,
core/vm/errors.go; of those of reverts: anvil.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from eth_utils import to_hex

from pyevm_agents.rpc.errors import EXECUTION_REVERTED, SERVER_ERROR
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, NOBODY
from tests.pyevm_agents.rpc.served import RefusedError
from tests.pyevm_agents.tracing.assembler import asm, reverting

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

REASON = bytes.fromhex("08c379a0") + encode(["string"], ["closed"])
PANIC = bytes.fromhex("4e487b71") + encode(["uint256"], [0x11])
UNKNOWN = bytes.fromhex("220266b6") + encode(["uint256"], [7])

REVERTS: dict[str, tuple[bytes, str]] = {
    "without a reason": (b"", "execution reverted"),
    "a reason": (REASON, "execution reverted: closed"),
    "a panic": (PANIC, "execution reverted: panic: arithmetic underflow or overflow (0x11)"),
    "an unknown error": (UNKNOWN, f"execution reverted: custom error 0x220266b6: {7:064x}"),
}
HALTS: dict[str, tuple[bytes, str]] = {
    "INVALID": (asm("INVALID"), "invalid opcode: INVALID"),
    "no opcode": (b"\x0c", "invalid opcode: opcode 0xc not defined"),
    "an empty stack": (asm("ADD"), "stack underflow"),
    "a full stack": (asm("JUMPDEST PUSH0 PUSH0 JUMP"), "stack limit reached"),
    "a jump": (asm("PUSH0 JUMP"), "invalid jump destination"),
    "a read beyond the output": (
        asm("0x01 PUSH0 PUSH0 RETURNDATACOPY"),
        "return data out of bounds",
    ),
}
METHODS = ("eth_call", "eth_estimateGas", "agent_estimate")
SENDER = {"from": to_hex(ADDRESSES[0]), "gas": "0x30d40"}


def refusals(serve: Serve, code: bytes) -> list[RefusedError]:
    """Return the errors of a call of code, and of a creation with it, by each method."""
    served, found = serve(codes={NOBODY: code}), []
    for method in METHODS:
        for form in ({"to": to_hex(NOBODY)}, {"data": to_hex(code)}):
            with pytest.raises(RefusedError) as refused:
                served.ask(method, SENDER | form)
            found.append(refused.value)
    return found


@pytest.mark.parametrize("name", REVERTS)
def test_a_revert_has_its_reason_and_its_data(serve: Serve, name: str) -> None:
    data, message = REVERTS[name]
    for error in refusals(serve, asm(reverting(data))):
        assert (error.code, error.message, error.data) == (
            *(EXECUTION_REVERTED, message),
            to_hex(data),
        )


@pytest.mark.parametrize("name", HALTS)
def test_another_end_has_geths_words_and_empty_data(serve: Serve, name: str) -> None:
    code, message = HALTS[name]
    for error in refusals(serve, code):
        assert (error.code, error.message, error.data) == (SERVER_ERROR, message, "0x")


def test_gas_that_ends_is_told_with_what_lacked(serve: Serve) -> None:
    errors: list[Any] = refusals(serve, asm("JUMPDEST PUSH0 JUMP"))
    assert {(error.code, error.data) for error in errors} == {(SERVER_ERROR, "0x")}
    for error in errors[:2]:
        assert error.message.startswith("out of gas: Needed ")
    for error in errors[2:]:
        assert error.message == "gas required exceeds allowance (200000)"
