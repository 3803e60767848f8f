"""Tools made of as little code as there is: their metadata lies in the code behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_abi import encode

from precompiles.abi import DESCRIPTION_SELECTOR, INPUT_DESCRIPTION_SELECTOR, NAME_SELECTOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.abi import ParamDescription

SELECTORS = (NAME_SELECTOR, DESCRIPTION_SELECTOR, INPUT_DESCRIPTION_SELECTOR)

PUSH0, PUSH2, PUSH4 = b"\x5f", b"\x61", b"\x63"
TAKE_SELECTOR = bytes.fromhex("5f3560e01c")
"""PUSH0 CALLDATALOAD PUSH1 224 SHR."""

IF_EQUAL_JUMP = bytes.fromhex("14") + PUSH2
"""EQ PUSH2, the target, JUMPI."""

DUP1, JUMPI, JUMPDEST = b"\x80", b"\x57", b"\x5b"
STOP, CODECOPY, RETURN = b"\x00", b"\x39", b"\xf3"

BRANCH_BYTES = len(DUP1 + PUSH4 + bytes(4) + IF_EQUAL_JUMP + bytes(2) + JUMPI)
PART_BYTES = len(JUMPDEST + (PUSH2 + bytes(2)) * 2 + PUSH0 + CODECOPY + PUSH2 + bytes(2) + PUSH0)


def tool_code(name: str, description: str, parameters: Sequence[ParamDescription]) -> bytes:
    """Return the runtime code of a tool that says this of itself, and can do nothing."""
    listed = [(int(one.param_type), one.name, one.description) for one in parameters]
    answers = (
        encode(["string"], [name]),
        encode(["string"], [description]),
        encode(["((uint8,string,string)[])"], [(listed,)]),
    )
    part_bytes = PART_BYTES + len(RETURN)
    first_part = len(TAKE_SELECTOR) + len(SELECTORS) * BRANCH_BYTES + len(STOP)
    code, parts = TAKE_SELECTOR, b""
    answer_at = first_part + len(SELECTORS) * part_bytes
    for index, (selector, answer) in enumerate(zip(SELECTORS, answers, strict=True)):
        target = first_part + index * part_bytes
        code += DUP1 + PUSH4 + selector + IF_EQUAL_JUMP + _two(target) + JUMPI
        size = PUSH2 + _two(len(answer))
        parts += JUMPDEST + size + PUSH2 + _two(answer_at) + PUSH0 + CODECOPY
        parts += size + PUSH0 + RETURN
        answer_at += len(answer)
    return code + STOP + parts + b"".join(answers)


def _two(number: int) -> bytes:
    return number.to_bytes(2, "big")
