"""BN254, also called alt_bn128: the precompiles at 0x06 to 0x08.

py-evm's use py_ecc, in Python: a pair of a pairing check takes 0.4 s for 34,000 gas. Products and
pairings here are arkworks', by zksnake, whose constructors panic at a point outside of the group:
a point is checked before. Sums are computed in Python, where two points take as long to construct.

Source: EIP-196, EIP-197; EIP-1108 for the prices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.exceptions import VMError
from eth.vm.forks.istanbul.constants import (
    GAS_ECADD,
    GAS_ECMUL,
    GAS_ECPAIRING_BASE,
    GAS_ECPAIRING_PER_POINT,
)
from eth_typing import Address
from zksnake.ecc import EllipticCurve

from precompiles.spec import WORD_BYTES

if TYPE_CHECKING:
    from eth.abc import ComputationAPI

CURVE = EllipticCurve("BN254")
FIELD_MODULUS: int = CURVE.field_modulus
B = 3
"""The first curve is y² = x³ + 3. Source: EIP-196."""

INFINITY_G1, INFINITY_G2 = CURVE.G1() * 0, CURVE.G2() * 0
ONE = CURVE.multi_pairing([], [])
"""The product of no pairings."""

PAIR_BYTES = 6 * 32
TRUE, FALSE = (1).to_bytes(32, "big"), bytes(32)


def read_words(data: bytes, count: int) -> list[int]:
    """Return the first `count` words; missing bytes are zero."""
    return [
        int.from_bytes(data[at : at + WORD_BYTES].ljust(WORD_BYTES, b"\0"), "big")
        for at in range(0, count * WORD_BYTES, WORD_BYTES)
    ]


def encode_point(x: int, y: int) -> bytes:
    """Return the coordinates of a point of the first group; (0, 0) is the point at infinity."""
    return x.to_bytes(WORD_BYTES, "big") + y.to_bytes(WORD_BYTES, "big")


def require_g1(x: int, y: int) -> None:
    """Reject coordinates of no point of the first group, which is the whole curve.

    Raises: VMError: a coordinate exceeds the field, or the point is not on the curve.
    """
    if x >= FIELD_MODULUS or y >= FIELD_MODULUS:
        raise VMError("G1: coordinate >= field modulus")
    if (x or y) and (y * y - x * x * x - B) % FIELD_MODULUS:
        raise VMError("G1: point is not on the curve")


def read_g1(x: int, y: int) -> Any:  # noqa: ANN401 - zksnake has no types
    """Return the point of the first group with the given coordinates.

    Raises: VMError: see `require_g1`.
    """
    require_g1(x, y)
    return CURVE(x, y) if x or y else INFINITY_G1


def read_g2(x: tuple[int, int], y: tuple[int, int]) -> Any:  # noqa: ANN401 - zksnake has no types
    """Return the point of the second group with the given coordinates, real parts first.

    The compressed form of a point is x and a sign, here decompressed, and y compared.

    Raises: VMError: a coordinate exceeds the field, or the point is not on the curve or in the
            subgroup.
    """
    if max(*x, *y) >= FIELD_MODULUS:
        raise VMError("G2: coordinate >= field modulus")
    if not any((*x, *y)):
        return INFINITY_G2
    try:
        point = CURVE.from_hex(b"".join(part.to_bytes(WORD_BYTES, "little") for part in x).hex())
    except ValueError as error:
        raise VMError(f"G2: {error}") from error
    for each in (point, -point):
        if tuple(each.y) == y:
            return each
    raise VMError("G2: point is not on the curve")


def add(x1: int, y1: int, x2: int, y2: int) -> tuple[int, int]:
    """Return the sum of two points of the first group."""
    if not (x1 or y1):
        return x2, y2
    if not (x2 or y2):
        return x1, y1
    if x1 != x2:
        slope = (y2 - y1) * pow(x2 - x1, -1, FIELD_MODULUS)
    elif y1 == y2:  # No point has y = 0: the group's order is odd.
        slope = 3 * x1 * x1 * pow(2 * y1, -1, FIELD_MODULUS)
    else:
        return 0, 0
    x = (slope * slope - x1 - x2) % FIELD_MODULUS
    return x, (slope * (x1 - x) - y1) % FIELD_MODULUS


def ecadd(computation: ComputationAPI) -> ComputationAPI:
    """Add two points of the first group: the precompile at 0x06.

    Gas:    150.
    Raises: VMError: an invalid point.
    """
    computation.consume_gas(GAS_ECADD, reason="ECADD Precompile")
    x1, y1, x2, y2 = read_words(computation.msg.data_as_bytes, 4)
    require_g1(x1, y1)
    require_g1(x2, y2)
    computation.output = encode_point(*add(x1, y1, x2, y2))
    return computation


def ecmul(computation: ComputationAPI) -> ComputationAPI:
    """Multiply a point of the first group by a number: the precompile at 0x07.

    Gas:    6,000.
    Raises: VMError: an invalid point.
    """
    computation.consume_gas(GAS_ECMUL, reason="ECMUL Precompile")
    x, y, scalar = read_words(computation.msg.data_as_bytes, 3)
    product = read_g1(x, y) * scalar
    computation.output = encode_point(product.x, product.y)
    return computation


def ecpairing(computation: ComputationAPI) -> ComputationAPI:
    """Check that a product of pairings is 1: the precompile at 0x08.

    Gas:    45,000, and 34,000 a pair.
    Raises: VMError: wrong input length, or an invalid point.
    """
    data = computation.msg.data_as_bytes
    if len(data) % PAIR_BYTES:
        raise VMError(f"Length of data must be a multiple of {PAIR_BYTES} bytes for ECPAIRING")
    pairs = len(data) // PAIR_BYTES
    computation.consume_gas(
        GAS_ECPAIRING_BASE + pairs * GAS_ECPAIRING_PER_POINT, reason="ECPAIRING Precompile"
    )
    firsts, seconds = [], []
    for start in range(0, len(data), PAIR_BYTES):
        words = read_words(data[start : start + PAIR_BYTES], 6)
        firsts.append(read_g1(words[0], words[1]))
        # Imaginary parts come first. Source: EIP-197.
        seconds.append(read_g2((words[3], words[2]), (words[5], words[4])))
    computation.output = TRUE if CURVE.multi_pairing(firsts, seconds) == ONE else FALSE
    return computation


PRECOMPILES: dict[Address, Any] = {
    Address(number.to_bytes(20, "big")): precompile
    for number, precompile in ((6, ecadd), (7, ecmul), (8, ecpairing))
}
"""The precompiles by address."""
