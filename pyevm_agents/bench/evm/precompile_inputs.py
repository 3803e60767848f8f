"""Valid inputs of Ethereum's precompiles: points, signatures, proofs, numbers.

Scalars and exponents have full length and all bits set: nothing takes longer for their gas.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from eth_keys.datatypes import PrivateKey
from py_ecc.fields.field_properties import field_properties
from py_ecc.optimized_bls12_381 import optimized_curve as bls
from py_ecc.optimized_bn128 import optimized_curve as bn128

from precompiles.spec import FIRST_V

ECRECOVER, SHA256, RIPEMD160, IDENTITY, MODEXP = 1, 2, 3, 4, 5
BN128_ADD, BN128_MUL, BN128_PAIRING, BLAKE2F, POINT_EVALUATION = 6, 7, 8, 9, 10
BLS_G1_ADD, BLS_G1_MSM, BLS_G2_ADD, BLS_G2_MSM, BLS_PAIRING = 11, 12, 13, 14, 15
BLS_MAP_TO_G1, BLS_MAP_TO_G2 = 16, 17

MAX_WORD = 2**256 - 1
BLS_FIELD_MODULUS = field_properties["bls12_381"]["field_modulus"]
KEY = PrivateKey(bytes(31) + b"\x13")

COMMITMENT_TO_X = bytes.fromhex(
    "ad3eb50121139aa34db1d545093ac9374ab7bca2c0f3bf28e27c8dcd8fc7cb42d25926fc0c97b336e9f0fb35e5a04c81"
)
"""The commitment to the polynomial x: the first power of the secret of Ethereum's trusted setup, in
compressed form. Source: EIP-4844, `trusted_setup_4096.json`, `g1_monomial`.
"""

ONE_IN_G1 = bytes.fromhex(
    "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
)
"""The commitment to the polynomial 1: BLS12-381's first generator, in compressed form."""

BLAKE2B_IV = (
    0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
    0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
)  # fmt: skip
"""Source: RFC 7693, 2.6."""

BLAKE2B_512_PARAMETERS = 0x01010040
"""No key, 64 bytes. Source: RFC 7693, 2.5."""


def encode_word(value: int) -> bytes:
    """Return a number as a 32-byte word."""
    return value.to_bytes(32, "big")


def ecrecover(text: bytes = b"bench") -> bytes:
    """Return a text's hash, and the signature by `KEY`. Source: yellow paper, appendix E."""
    digest = sha256(text).digest()
    v, r, s = KEY.sign_msg_hash(digest).vrs
    return digest + encode_word(v + FIRST_V) + encode_word(r) + encode_word(s)


def modexp(base_bytes: int, exponent: bytes, modulus_bytes: int) -> bytes:
    """Return a power of a base, modulo the greatest number of a length. Source: EIP-198."""
    lengths = encode_word(base_bytes) + encode_word(len(exponent)) + encode_word(modulus_bytes)
    return lengths + b"\xaa" * base_bytes + exponent + b"\xff" * modulus_bytes


def blake2f(rounds: int, text: bytes = b"abc") -> bytes:
    """Return the last and only block of a text, hashed in 12 rounds. Source: EIP-152."""
    state = [BLAKE2B_IV[0] ^ BLAKE2B_512_PARAMETERS, *BLAKE2B_IV[1:]]
    return (
        rounds.to_bytes(4, "big")
        + b"".join(each.to_bytes(8, "little") for each in state)
        + text.ljust(128, b"\0")
        + len(text).to_bytes(16, "little")
        + b"\x01"
    )


def point_evaluation(at: int = MAX_WORD >> 8) -> bytes:
    """Return the proof that the polynomial x is z at z; the quotient is 1. Source: EIP-4844."""
    versioned_hash = b"\x01" + sha256(COMMITMENT_TO_X).digest()[1:]
    return versioned_hash + encode_word(at) * 2 + COMMITMENT_TO_X + ONE_IN_G1


@cache
def bn128_g1(factor: int = 1) -> bytes:
    """Return a multiple of the first generator. Source: EIP-196."""
    x, y = bn128.normalize(bn128.multiply(bn128.G1, factor % bn128.curve_order))
    return encode_word(x.n) + encode_word(y.n)


@cache
def bn128_g2() -> bytes:
    """Return the second generator. Source: EIP-197."""
    x, y = bn128.normalize(bn128.G2)
    return b"".join(encode_word(int(each)) for each in (*reversed(x.coeffs), *reversed(y.coeffs)))


def bn128_pairs(count: int) -> bytes:
    """Return pairs whose pairings' product is 1 if `count` is even. Source: EIP-197."""
    return b"".join(bn128_g1((-1) ** index) + bn128_g2() for index in range(count))


@cache
def bls_g1(factor: int = 1) -> bytes:
    """Return a multiple of the first generator. Source: EIP-2537."""
    x, y = bls.normalize(bls.multiply(bls.G1, factor % bls.curve_order))
    return int(x).to_bytes(64, "big") + int(y).to_bytes(64, "big")


@cache
def bls_g2(factor: int = 1) -> bytes:
    """Return a multiple of the second generator. Source: EIP-2537."""
    x, y = bls.normalize(bls.multiply(bls.G2, factor % bls.curve_order))
    return b"".join(int(each).to_bytes(64, "big") for each in (*x.coeffs, *y.coeffs))


def bls_pairs(count: int) -> bytes:
    """Return pairs whose pairings' product is 1 if `count` is even. Source: EIP-2537."""
    return b"".join(bls_g1((-1) ** index) + bls_g2() for index in range(count))


def bls_g1_terms(count: int, scalar: int = MAX_WORD) -> bytes:
    """Return points of the first group, each with a scalar. Source: EIP-2537."""
    return (bls_g1() + encode_word(scalar)) * count


def bls_g2_terms(count: int, scalar: int = MAX_WORD) -> bytes:
    """Return points of the second group, each with a scalar. Source: EIP-2537."""
    return (bls_g2() + encode_word(scalar)) * count


def bls_field(*coordinates: int) -> bytes:
    """Return an element of the field, or of the quadratic extension. Source: EIP-2537."""
    return b"".join((BLS_FIELD_MODULUS - each).to_bytes(64, "big") for each in coordinates)
