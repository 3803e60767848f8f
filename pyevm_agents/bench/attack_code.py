"""Contracts of an attacker, in bytecode: they spend their gas on the executor alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_typing import Address

from precompiles.abi import (
    DESCRIPTION_SELECTOR,
    INPUT_DESCRIPTION_SELECTOR,
    NAME_SELECTOR,
    RUN_NEXT_ITERATION_SELECTOR,
)
from precompiles.spec import EXECUTOR_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.abi import ParamType

MAX_CODE_BYTES = 24_576
"""Code of a contract that anybody may deploy. Source: EIP-170."""

STOP, EQ, SHR, CALLDATALOAD, CODECOPY, EXTCODECOPY, POP, JUMPI, JUMPDEST, GAS, CALL, RETURN = (
    bytes([code])
    for code in (0x00, 0x14, 0x1C, 0x35, 0x39, 0x3C, 0x50, 0x57, 0x5B, 0x5A, 0xF1, 0xF3)
)
DUP1, PUSH0, PUSH1, PUSH2 = b"\x80", b"\x5f", 0x60, 0x61


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorCall:
    """A call of the executor, and the gas that it is given; None for all there is."""

    data: bytes
    gas: int | None = None


def calldata(  # noqa: PLR0913 - what `runNextIteration` takes
    *,
    model_id: str = "default",
    base_prompt: str = "",
    tools: Sequence[Address] = (),
    reasoning: Sequence[str] = (),
    results: Sequence[str] = (),
    prompt: str = "",
) -> bytes:
    """Return calldata of `runNextIteration`."""
    return RUN_NEXT_ITERATION_SELECTOR + encode(
        ("string", "string", "address[]", "string[]", "string[]", "string"),
        (model_id, base_prompt, list(tools), list(reasoning), list(results), prompt),
    )


def tool_code(
    name: str, description: str, parameters: Sequence[tuple[ParamType, str, str]] = ()
) -> bytes:
    """Return the code of a tool that answers from its own code, as cheaply as it can."""
    return answering_code(
        {
            NAME_SELECTOR: encode(["string"], [name]),
            DESCRIPTION_SELECTOR: encode(["string"], [description]),
            INPUT_DESCRIPTION_SELECTOR: encode(["((uint8,string,string)[])"], [(parameters,)]),
        }
    )


def answering_code(answers: dict[bytes, bytes]) -> bytes:
    """Return code that answers each selector with fixed bytes."""
    head_bytes = len(PUSH0 + CALLDATALOAD + SHR) + 2 + 11 * len(answers) + 1
    part_bytes = 14
    at = head_bytes + part_bytes * len(answers)
    head, parts = PUSH0 + CALLDATALOAD + push(0xE0, 1) + SHR, b""
    for index, (selector, answer) in enumerate(answers.items()):
        head += DUP1 + b"\x63" + selector + EQ + push(head_bytes + part_bytes * index) + JUMPI
        size = push(len(answer))
        parts += JUMPDEST + size + push(at) + PUSH0 + CODECOPY + size + PUSH0 + RETURN
        at += len(answer)
    return head + STOP + parts + b"".join(answers.values())


def attacker_code(
    calls: Sequence[ExecutorCall], *, is_reverting: bool = False
) -> tuple[bytes, dict[Address, bytes]]:
    """Return code that makes calls of the executor, whatever becomes of them.

    Output: the code, and by address that of the accounts where it finds its calldata.
    """
    code, loaded = b"", None
    stored: dict[Address, bytes] = {}
    addresses: dict[bytes, Address] = {}
    for call in calls:
        if call.data != loaded:
            for start in range(0, len(call.data), MAX_CODE_BYTES):
                piece = call.data[start : start + MAX_CODE_BYTES]
                if piece not in addresses:
                    addresses[piece] = Address(b"\xda\x7a" + len(addresses).to_bytes(18, "big"))
                    stored[addresses[piece]] = piece
                code += push(len(piece)) + PUSH0 + push(start, 3)
                code += b"\x73" + addresses[piece] + EXTCODECOPY
            loaded = call.data
        gas = GAS if call.gas is None else push(call.gas, 8)
        code += PUSH0 * 2 + push(len(call.data), 3) + PUSH0 * 2
        code += push(int.from_bytes(EXECUTOR_ADDRESS, "big"), 1) + gas + CALL + POP
    return code + (PUSH0 * 2 + b"\xfd" if is_reverting else STOP), stored


def push(number: int, size_bytes: int = 2) -> bytes:
    """Return the instruction that pushes a number of so many bytes."""
    return bytes([PUSH1 - 1 + size_bytes]) + number.to_bytes(size_bytes, "big")
