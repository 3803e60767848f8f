"""BLS12-381: the precompiles at 0x0b to 0x11.

py-evm's use py_ecc, in Python: a pair of a pairing check takes 1 s for 32,600 gas. These use
arkworks. Prices and messages are py-evm's.

Source: EIP-2537.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import eth.precompiles.bls12_381.constants as gas
from eth.exceptions import VMError
from eth.vm.forks.prague import constants as addresses
from eth_typing import Address
from py_arkworks_bls12381 import GT, G1Point, G2Point, Scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import ComputationAPI

FIELD_BYTES = 48
PADDING = bytes(16)
"""Leading zeros of each field element."""

ELEMENT_BYTES = len(PADDING) + FIELD_BYTES
G1_BYTES, G2_BYTES, SCALAR_BYTES = 2 * ELEMENT_BYTES, 4 * ELEMENT_BYTES, 32
PAIRING_GAS, PAIR_GAS = 37_700, 32_600
TRUE, FALSE = (1).to_bytes(32, "big"), bytes(32)


# -- encoding -- #


def split(data: bytes, size: int) -> list[bytes]:
    """Return the consecutive parts of a size."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def unpad(data: bytes) -> bytes:
    """Return padded field elements without their padding.

    Raises: VMError: a padding is not zero.
    """
    elements = split(data, ELEMENT_BYTES)
    if any(not element.startswith(PADDING) for element in elements):
        raise VMError("field element >= field modulus")
    return b"".join(element[len(PADDING) :] for element in elements)


def pad(data: bytes) -> bytes:
    """Return field elements, each padded."""
    return b"".join(PADDING + element for element in split(data, FIELD_BYTES))


def read_g1(data: bytes) -> G1Point:
    """Return the point of the first curve with the given coordinates, of any order.

    Raises: VMError: a coordinate exceeds the field, or the point is not on the curve.
    """
    try:
        return G1Point.from_xy_bytes_unchecked_be(unpad(data))
    except ValueError as error:
        raise VMError(f"G1: {error}") from error


def read_g2(data: bytes) -> G2Point:
    """Return the point of the second curve with the given coordinates, of any order.

    Raises: VMError: a coordinate exceeds the field, or the point is not on the curve.
    """
    try:
        return G2Point.from_xy_bytes_unchecked_be(unpad(data))
    except ValueError as error:
        raise VMError(f"G2: {error}") from error


def require_subgroup(points: Sequence[G1Point] | Sequence[G2Point]) -> None:
    """Reject points outside of the subgroup of prime order.

    Raises: VMError: a point is outside.
    """
    if not all(point.is_in_subgroup() for point in points):
        raise VMError("Point failed sub-group check.")


# -- precompiles -- #


def _take_input(computation: ComputationAPI, size: int, cost: int, name: str) -> bytes:
    """Return an input of a fixed size; consume the gas.

    Raises: VMError: another size.
    """
    data = computation.msg.data_as_bytes
    if len(data) != size:
        raise VMError(f"Length of data must be {size} bytes for {name}, not {len(data)}")
    computation.consume_gas(cost, reason=f"{name} gas")
    return data


def _take_parts(computation: ComputationAPI, size: int, name: str) -> list[bytes]:
    """Return the parts of an input of one or more parts.

    Raises: VMError: no part, or an incomplete one.
    """
    data = computation.msg.data_as_bytes
    if not data or len(data) % size:
        raise VMError(f"Length of data must be a multiple of {size} bytes for {name}")
    return split(data, size)


def _compute_msm_gas(count: int, price: int, discounts: Sequence[int], most: int) -> int:
    """Return the gas of a multiplication of `count` points; `most` is the largest discount."""
    discount = discounts[count - 1] if count <= len(discounts) else most
    return count * price * discount // gas.MSM_MULTIPLIER


def _read_scalars(parts: list[bytes]) -> list[Scalar]:
    return [Scalar.from_be_bytes_mod_order(part[-SCALAR_BYTES:]) for part in parts]


def g1_add(computation: ComputationAPI) -> ComputationAPI:
    """Add two points of the first curve: the precompile at 0x0b.

    Gas:    375.
    Raises: VMError: wrong input length, or an invalid point.
    """
    data = _take_input(computation, 2 * G1_BYTES, gas.BLS12_G1_ADD_GAS, "BLS12_G1ADD")
    result = read_g1(data[:G1_BYTES]) + read_g1(data[G1_BYTES:])
    computation.output = pad(result.to_xy_bytes_be())
    return computation


def g1_msm(computation: ComputationAPI) -> ComputationAPI:
    """Add multiples of points of the first group: the precompile at 0x0c.

    Gas:    12,000 a point, with a discount for more than one.
    Raises: VMError: wrong input length, or an invalid point.
    """
    parts = _take_parts(computation, G1_BYTES + SCALAR_BYTES, "BLS12_G1MSM")
    cost = _compute_msm_gas(
        len(parts), gas.BLS12_G1_MSM_GAS, gas.G1_MSM_DISCOUNTS, gas.G1_MSM_MAX_DISCOUNT
    )
    computation.consume_gas(cost, reason="BLS12_G1MSM gas")
    points = [read_g1(part[:G1_BYTES]) for part in parts]
    require_subgroup(points)
    result = G1Point.multiexp_unchecked(points, _read_scalars(parts))
    computation.output = pad(result.to_xy_bytes_be())
    return computation


def g2_add(computation: ComputationAPI) -> ComputationAPI:
    """Add two points of the second curve: the precompile at 0x0d.

    Gas:    600.
    Raises: VMError: wrong input length, or an invalid point.
    """
    data = _take_input(computation, 2 * G2_BYTES, gas.BLS12_G2_ADD_GAS, "BLS12_G2ADD")
    result = read_g2(data[:G2_BYTES]) + read_g2(data[G2_BYTES:])
    computation.output = pad(result.to_xy_bytes_be())
    return computation


def g2_msm(computation: ComputationAPI) -> ComputationAPI:
    """Add multiples of points of the second group: the precompile at 0x0e.

    Gas:    22,500 a point, with a discount for more than one.
    Raises: VMError: wrong input length, or an invalid point.
    """
    parts = _take_parts(computation, G2_BYTES + SCALAR_BYTES, "BLS12_G2MSM")
    cost = _compute_msm_gas(
        len(parts), gas.BLS12_G2_MSM_GAS, gas.G2_MSM_DISCOUNTS, gas.G2_MSM_MAX_DISCOUNT
    )
    computation.consume_gas(cost, reason="BLS12_G2MSM gas")
    points = [read_g2(part[:G2_BYTES]) for part in parts]
    require_subgroup(points)
    result = G2Point.multiexp_unchecked(points, _read_scalars(parts))
    computation.output = pad(result.to_xy_bytes_be())
    return computation


def pairing_check(computation: ComputationAPI) -> ComputationAPI:
    """Check that a product of pairings is 1: the precompile at 0x0f.

    Gas:    37,700, and 32,600 a pair.
    Raises: VMError: wrong input length, or an invalid point.
    """
    parts = _take_parts(computation, G1_BYTES + G2_BYTES, "BLS12_PAIRING_CHECK")
    computation.consume_gas(PAIRING_GAS + len(parts) * PAIR_GAS, reason="BLS12_PAIRING_CHECK gas")
    firsts = [read_g1(part[:G1_BYTES]) for part in parts]
    require_subgroup(firsts)
    seconds = [read_g2(part[G1_BYTES:]) for part in parts]
    require_subgroup(seconds)
    computation.output = TRUE if GT.pairing_check(firsts, seconds) else FALSE
    return computation


def map_fp_to_g1(computation: ComputationAPI) -> ComputationAPI:
    """Map a field element to a point of the first group: the precompile at 0x10.

    Gas:    5,500.
    Raises: VMError: wrong input length, or no field element.
    """
    data = _take_input(computation, ELEMENT_BYTES, gas.BLS12_MAP_FP_G1_GAS, "BLS12_MAP_FP_TO_G1")
    try:
        result = G1Point.map_from_fp_be(unpad(data))
    except ValueError as error:
        raise VMError(f"BLS12_MAP_FP_TO_G1: {error}") from error
    computation.output = pad(result.to_xy_bytes_be())
    return computation


def map_fp2_to_g2(computation: ComputationAPI) -> ComputationAPI:
    """Map an element of the quadratic extension to a point of the second group: 0x11.

    Gas:    23,800.
    Raises: VMError: wrong input length, or no element of the extension.
    """
    data = _take_input(
        computation, 2 * ELEMENT_BYTES, gas.BLS12_MAP_FP2_G2_GAS, "BLS12_MAP_FP2_TO_G2"
    )
    try:
        result = G2Point.map_from_fp2_be(unpad(data))
    except ValueError as error:
        raise VMError(f"BLS12_MAP_FP2_TO_G2: {error}") from error
    computation.output = pad(result.to_xy_bytes_be())
    return computation


PRECOMPILES: dict[Address, Any] = {
    Address(address.rjust(20, b"\0")): precompile
    for address, precompile in (
        (addresses.BLS12_G1ADD_PRECOMPILE_ADDRESS, g1_add),
        (addresses.BLS12_G1MSM_PRECOMPILE_ADDRESS, g1_msm),
        (addresses.BLS12_G2ADD_PRECOMPILE_ADDRESS, g2_add),
        (addresses.BLS12_G2MSM_PRECOMPILE_ADDRESS, g2_msm),
        (addresses.BLS12_PAIRING_CHECK_PRECOMPILE_ADDRESS, pairing_check),
        (addresses.BLS12_MAP_FP_TO_G1_PRECOMPILE_ADDRESS, map_fp_to_g1),
        (addresses.BLS12_MAP_FP2_TO_G2_PRECOMPILE_ADDRESS, map_fp2_to_g2),
    )
}
"""The precompiles by address."""
