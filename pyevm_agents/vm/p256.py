"""P256VERIFY: the precompile at 0x100, signatures on the curve secp256r1.

Source: EIP-7951.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_typing import Address

from precompiles.spec import WORD_BYTES

if TYPE_CHECKING:
    from eth.abc import ComputationAPI

GAS = 6_900
CURVE = "P-256"
INPUT_BYTES = 160
FIELD = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
GENERATOR = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
TRUE = (1).to_bytes(WORD_BYTES, "big")


def p256_verify(computation: ComputationAPI) -> ComputationAPI:
    """Return 1 as a word if a signature is valid, nothing otherwise.

    Input: hash, r, s, and the public key's x and y, of 32 bytes each.
    Gas: 6,900, also for an invalid input.
    """
    computation.consume_gas(GAS, reason="P256VERIFY Precompile")
    data = computation.msg.data_as_bytes
    computation.output = TRUE if len(data) == INPUT_BYTES and is_valid(data) else b""
    return computation


def is_valid(data: bytes) -> bool:
    """Whether 160 bytes are a valid signature; see `p256_verify`."""
    digest, r, s, x, y = (
        int.from_bytes(data[at : at + WORD_BYTES], "big")
        for at in range(0, INPUT_BYTES, WORD_BYTES)
    )
    if not (0 < r < ORDER and 0 < s < ORDER and x < FIELD and y < FIELD) or x == y == 0:
        return False
    from Crypto.PublicKey.ECC import EccPoint  # noqa: PLC0415 - slow to import

    try:
        key = EccPoint(x, y, CURVE)
    except ValueError:  # It is not on the curve.
        return False
    inverse = pow(s, -1, ORDER)
    point = EccPoint(*GENERATOR, CURVE) * (digest * inverse % ORDER) + key * (r * inverse % ORDER)
    return not point.is_point_at_infinity() and int(point.x) % ORDER == r


PRECOMPILES: dict[Address, Any] = {Address(b"\x01\x00".rjust(20, b"\0")): p256_verify}
"""The precompile by address."""
