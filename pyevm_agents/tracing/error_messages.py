"""Messages for failed calls, verbatim as in geth, because clients compare messages.

Source: geth, `core/vm/errors.go`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eth.exceptions import (
    ContractCreationCollision,
    FullStack,
    InsufficientFunds,
    InsufficientStack,
    InvalidInstruction,
    InvalidJumpDestination,
    OutOfBoundsRead,
    OutOfGas,
    ReservedBytesInCode,
    Revert,
    StackDepthLimit,
    WriteProtection,
)
from eth_abi import decode
from eth_abi.exceptions import DecodingError

from pyevm_agents.tracing.opcodes import get_opcode
from pyevm_agents.vm import BalanceOverflowError, CodeTooLargeError

if TYPE_CHECKING:
    from eth.exceptions import VMError

REVERTED = "execution reverted"
OUT_OF_GAS = "out of gas"
GAS_OVERFLOW = "gas uint64 overflow"
NO_GAS_FOR_SSTORE = f"{OUT_OF_GAS}: not enough gas for reentrancy sentry"
NO_GAS_FOR_MEMORY = f"{OUT_OF_GAS}: {GAS_OVERFLOW}"
NO_GAS_FOR_CODE = "contract creation code storage out of gas"
CODE_TOO_LARGE = "max code size exceeded"
TOO_DEEP = "max call depth exceeded"
INSUFFICIENT_BALANCE = "insufficient balance for transfer"
COLLISION = "contract address collision"
PRECOMPILE_FAILED = "precompiled failed"
NONCE_OVERFLOW = "nonce uint64 overflow"

_ERROR_MESSAGES: dict[type[VMError], str] = {
    Revert: REVERTED,
    OutOfGas: OUT_OF_GAS,
    InvalidJumpDestination: "invalid jump destination",
    WriteProtection: "write protection",
    OutOfBoundsRead: "return data out of bounds",
    ReservedBytesInCode: "invalid code: must not begin with 0xef",
    ContractCreationCollision: COLLISION,
    InsufficientFunds: INSUFFICIENT_BALANCE,
    BalanceOverflowError: "balance overflow",
    StackDepthLimit: TOO_DEEP,
    InsufficientStack: "stack underflow",
    FullStack: "stack limit reached",
}

PRECOMPILE_ERRORS = {
    "Blake2b input parameter validation failure: input length": "invalid input length",
    "Blake2b input parameter validation failure: incorrect final": "invalid final flag",
    "Length of data must be a multiple of 192 bytes for ECPAIRING": (
        "bad elliptic curve pairing size"
    ),
    "Length of data must be": "invalid input length",
    "field element >= field modulus": "invalid field element top bytes",
    "G1: point is not on the curve": "point is not on curve",
    "G2: point is not on the curve": "point is not on curve",
    "MODEXP: a length above": ("one or more of base/exponent/modulus length exceeded 1024 bytes"),
    "Point evaluation of": "invalid input length",
    "Point evaluation commitment": "mismatched versioned hash",
    "Point evaluation KZG proof": "error verifying kzg proof",
}
"""Beginnings of the messages of precompiles, and geth's. Source: geth, `core/vm/contracts.go`."""

INVALID_OPCODE = re.compile(r"Invalid opcode (0x[0-9a-f]+) @")
"""Source: py-evm, `eth.vm.logic.invalid.InvalidOpcode`."""

ERROR_SELECTOR = bytes.fromhex("08c379a0")
PANIC_SELECTOR = bytes.fromhex("4e487b71")

PANICS = {
    0x00: "generic panic",
    0x01: "assert(false)",
    0x11: "arithmetic underflow or overflow",
    0x12: "division or modulo by zero",
    0x21: "enum overflow",
    0x22: "invalid encoded storage byte array accessed",
    0x31: "out-of-bounds array access; popping on an empty array",
    0x32: "out-of-bounds access of an array or bytesN",
    0x41: "out of memory",
    0x51: "uninitialized function",
}
"""Solidity's panics, as described by geth. Source: geth, `accounts/abi/abi.go`."""


def describe_error(error: VMError, op: int | None) -> str:
    """Return geth's message for a failed call; `op` is the opcode that failed, or None."""
    if isinstance(error, InvalidInstruction) and op is not None:
        return f"invalid opcode: {get_opcode(op).name}"
    return _ERROR_MESSAGES.get(type(error)) or _describe_precompile_error(str(error))


def describe_halt(error: VMError) -> str:
    """Return geth's message for a failed transaction or call, of which only the error is known.

    py-evm's text follows geth's words where it tells more: gas that lacks, a precompile's reason.
    """
    text = read_text(error)
    opcode = INVALID_OPCODE.match(text)
    if opcode is not None:
        return describe_error(error, int(opcode[1], 16))
    words = describe_error(error, None)
    if words not in {OUT_OF_GAS, PRECOMPILE_FAILED}:
        return words
    detail = text.removeprefix("Out of gas").removeprefix(": ")
    return f"{words}: {detail}" if detail else words


def read_text(error: Exception) -> str:
    """Return the message of a py-evm error: the first text argument, without the numbers."""
    texts = [argument for argument in error.args if isinstance(argument, str)]
    return texts[0] if texts else str(error)


def _describe_precompile_error(text: str) -> str:
    known = (message for start, message in PRECOMPILE_ERRORS.items() if text.startswith(start))
    return next(known, PRECOMPILE_FAILED)


def describe_initcode_error(size_bytes: int, limit_bytes: int) -> str:
    """Return geth's message for a CREATE of initcode above the limit (EIP-3860)."""
    return f"{OUT_OF_GAS}: max initcode size exceeded: code size {size_bytes} limit {limit_bytes}"


def describe_deposit_error(error: VMError) -> str:
    """Return geth's message for a creation whose code could not be deposited."""
    if isinstance(error, CodeTooLargeError):
        return CODE_TOO_LARGE
    return NO_GAS_FOR_CODE if isinstance(error, OutOfGas) else describe_error(error, None)


def decode_revert_reason(output: bytes) -> str | None:
    """Return the message of Solidity's `Error` or `Panic`; None for other revert data."""
    selector, arguments = output[:4], output[4:]
    try:
        if selector == ERROR_SELECTOR:
            return str(decode(["string"], arguments)[0])
        if selector == PANIC_SELECTOR:
            code = int(decode(["uint256"], arguments)[0])
            return PANICS.get(code, f"unknown panic code: {code:#x}")
    except (DecodingError, UnicodeDecodeError, OverflowError):
        return None
    return None
