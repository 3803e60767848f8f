"""MODEXP: the precompile at 0x05.

py-evm returns 0 for an empty base, also to the power of zero, which is 1 modulo the modulus.

Source: EIP-198; EIP-2565 for the price; EIP-7823 and EIP-7883 from Osaka on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.exceptions import VMError
from eth.precompiles.modexp import extract_lengths
from eth.vm.forks.berlin.computation import _compute_modexp_gas_fee_eip_2565 as compute_gas
from eth_typing import Address

from precompiles.spec import WORD_BYTES

if TYPE_CHECKING:
    from eth.abc import ComputationAPI

LENGTHS_BYTES = 96
MAX_LENGTH_BYTES = 1_024
"""Upper bound of each length from Osaka on. Source: EIP-7823."""

MIN_OSAKA_GAS = 500
"""The least price from Osaka on. Source: EIP-7883."""


def modexp(computation: ComputationAPI) -> ComputationAPI:
    """Return a base to the power of an exponent, modulo a modulus; 0 modulo 0.

    Gas: by EIP-2565, at least 200.
    """
    return _compute(computation, compute_gas(computation.msg.data_as_bytes))


def osaka_modexp(computation: ComputationAPI) -> ComputationAPI:
    """Return a base to the power of an exponent, modulo a modulus; 0 modulo 0.

    Gas: by EIP-7883, at least 500.
    Raises: VMError: a length above 1,024 bytes (EIP-7823); the failure takes all gas.
    """
    data = computation.msg.data_as_bytes
    if max(extract_lengths(data)) > MAX_LENGTH_BYTES:
        raise VMError(f"MODEXP: a length above {MAX_LENGTH_BYTES} bytes")
    return _compute(computation, compute_osaka_gas(data))


def compute_osaka_gas(data: bytes) -> int:
    """Return the price of an input. Source: EIP-7883."""
    base_bytes, exponent_bytes, modulus_bytes = extract_lengths(data)
    head = _read(data, LENGTHS_BYTES + base_bytes, min(exponent_bytes, WORD_BYTES))
    longest = max(base_bytes, modulus_bytes)
    complexity = 2 * ((longest + 7) // 8) ** 2 if longest > WORD_BYTES else 16
    iterations = 16 * max(0, exponent_bytes - WORD_BYTES) + max(0, head.bit_length() - 1)
    return max(MIN_OSAKA_GAS, complexity * max(1, iterations))


def _compute(computation: ComputationAPI, gas: int) -> ComputationAPI:
    computation.consume_gas(gas, reason="MODEXP Precompile")
    data = computation.msg.data_as_bytes
    base_bytes, exponent_bytes, modulus_bytes = extract_lengths(data)
    if modulus_bytes == 0:  # The exponent may be of any length then, at no cost.
        computation.output = b""
        return computation
    exponent_at = LENGTHS_BYTES + base_bytes
    modulus_at = exponent_at + exponent_bytes
    modulus = _read(data, modulus_at, modulus_bytes)
    base = _read(data, LENGTHS_BYTES, base_bytes)
    exponent = _read(data, exponent_at, exponent_bytes)
    result = pow(base, exponent, modulus) if modulus else 0
    computation.output = result.to_bytes(modulus_bytes, "big")
    return computation


def _read(data: bytes, at: int, size: int) -> int:
    """Return the integer of `size` bytes at an offset; missing bytes are zero."""
    return int.from_bytes(data[at : at + size].ljust(size, b"\0"), "big")


ADDRESS = Address(bytes(19) + b"\x05")
PRECOMPILES: dict[Address, Any] = {ADDRESS: modexp}
"""The precompile by address."""

OSAKA_PRECOMPILES: dict[Address, Any] = {ADDRESS: osaka_modexp}
"""The precompile of Osaka by address."""
