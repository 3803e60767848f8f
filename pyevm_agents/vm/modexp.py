"""MODEXP: the precompile at 0x05.

py-evm returns 0 for an empty base, also to the power of zero, which is 1 modulo the modulus.

Source: EIP-198; EIP-2565 for the price.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.precompiles.modexp import extract_lengths
from eth.vm.forks.berlin.computation import _compute_modexp_gas_fee_eip_2565 as compute_gas
from eth_typing import Address

if TYPE_CHECKING:
    from eth.abc import ComputationAPI

LENGTHS_BYTES = 96


def modexp(computation: ComputationAPI) -> ComputationAPI:
    """Return a base to the power of an exponent, modulo a modulus; 0 modulo 0.

    Gas: by EIP-2565, at least 200.
    """
    data = computation.msg.data_as_bytes
    computation.consume_gas(compute_gas(data), reason="MODEXP Precompile")
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


PRECOMPILES: dict[Address, Any] = {Address(bytes(19) + b"\x05"): modexp}
"""The precompile by address."""
