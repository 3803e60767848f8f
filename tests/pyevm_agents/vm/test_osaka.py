"""Osaka: CLZ, P256VERIFY, MODEXP's price and bounds, blobs, a transaction's gas."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyevm_agents.vm import p256
from pyevm_agents.vm.blobs import BPO1_BLOBS, BPO2_BLOBS, PRAGUE_BLOBS, BlobSchedule
from pyevm_agents.vm.modexp import osaka_modexp
from tests.pyevm_agents.vm.precompile_calls import run_precompile

VALID = bytes.fromhex(
    "bb5a52f42f9c9261ed4361f59422a1e30036e7c32b270c8807a419feca605023"
    "2ba3a8be6b94d5ec80a6d9d1190a436effe50d85a1eee859b8cc6af9bd5c2e18"
    "4cd60b855d442f5b3c7b11eb6c4e0ae7525fe710fab9aa7c77a67f79e6fadd76"
    "2927b10512bae3eddcfe467828128bad2903269919f7086069c8c4df6c732838"
    "c7787964eaac00e5921fb1498a60f4606766b3d9685001558d1a974e7341513e"
)
"""The first vector of EIP-7951."""

ORDER = p256.ORDER.to_bytes(32, "big")
ZERO, ONE = bytes(32), (1).to_bytes(32, "big")


def put(word: int, value: bytes) -> bytes:
    """Return `VALID` with one of its words replaced."""
    return VALID[: 32 * word] + value + VALID[32 * word + 32 :]


def test_a_valid_signature_returns_one() -> None:
    assert run_precompile(p256.p256_verify, VALID) == (6_900, ONE.hex())
    r, s = (int.from_bytes(VALID[at : at + 32], "big") for at in (32, 64))
    malleable = put(2, (p256.ORDER - s).to_bytes(32, "big"))
    assert run_precompile(p256.p256_verify, malleable) == (6_900, ONE.hex())
    assert r < p256.ORDER


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(VALID[:-1], id="159 bytes"),
        pytest.param(VALID + b"\0", id="161 bytes"),
        pytest.param(put(0, ZERO), id="another hash"),
        pytest.param(put(1, ZERO), id="r is 0"),
        pytest.param(put(2, ZERO), id="s is 0"),
        pytest.param(put(1, ORDER), id="r is the order"),
        pytest.param(put(2, ORDER), id="s is the order"),
        pytest.param(
            put(
                1, bytes.fromhex("d45c5740946b2a147f59262ee6f5bc90bd01ed280528b62b3aed5fc93f06f739")
            ),
            id="r negated",
        ),
        pytest.param(put(3, p256.FIELD.to_bytes(32, "big")), id="x is the field's modulus"),
        pytest.param(put(4, p256.FIELD.to_bytes(32, "big")), id="y is the field's modulus"),
        pytest.param(put(3, ONE), id="no point of the curve"),
        pytest.param(VALID[:96] + bytes(64), id="the point at infinity"),
    ],
)
def test_anything_else_returns_nothing(data: bytes) -> None:
    assert run_precompile(p256.p256_verify, data) == (6_900, "")


def modexp_input(base: int, exponent: bytes, modulus: int) -> bytes:
    """Return an input with a base and a modulus of so many bytes."""
    lengths = b"".join(size.to_bytes(32, "big") for size in (base, len(exponent), modulus))
    return lengths + b"\xff" * base + exponent + b"\xfe" * modulus


@pytest.mark.parametrize(
    ("size", "exponent", "gas"),
    [
        # The vectors of EIP-7883 by their sizes.
        (64, "02", 500),
        (64, "010001", 2_048),
        (128, "02", 512),
        (128, "03", 512),
        (128, "010001", 8_192),
        (256, "02", 2_048),
        (256, "010001", 32_768),
        (512, "02", 8_192),
        (512, "010001", 131_072),
        (1_024, "02", 32_768),
        (1_024, "010001", 524_288),
        # Bounds: up to 32 bytes the complexity is 16; exponents beyond 32 bytes count 16 a byte.
        (32, "ff" * 32, 16 * 255),
        (33, "ff" * 32, 50 * 255),
        (32, "01" + "00" * 32, 16 * (16 + 248)),
        (32, "00" * 33, 500),
        (0, "", 500),
    ],
)
def test_modexp_has_its_price(size: int, exponent: str, gas: int) -> None:
    result = run_precompile(osaka_modexp, modexp_input(size, bytes.fromhex(exponent), size))
    assert result is not None
    assert result[0] == gas


def test_modexp_takes_1024_bytes_each() -> None:
    most = modexp_input(1_024, b"\1" * 1_024, 1_024)
    assert run_precompile(osaka_modexp, most) is not None
    for sizes in ((1_025, 1, 1), (1, 1_025, 1), (1, 1, 1_025), (1_025, 0, 0)):
        more = modexp_input(sizes[0], b"\1" * sizes[1], sizes[2])
        assert run_precompile(osaka_modexp, more) is None


def parent(excess: int, used: int, base_fee_wei: int) -> Any:  # noqa: ANN401 - a header's fields
    fields = {"excess_blob_gas": excess, "blob_gas_used": used}
    return cast("Any", SimpleNamespace(as_dict=lambda: fields, base_fee_per_gas=base_fee_wei))


BLOB = 1 << 17


@pytest.mark.parametrize("blobs", [PRAGUE_BLOBS, BPO1_BLOBS, BPO2_BLOBS])
def test_the_excess_does_not_fall_while_blobs_are_cheaper_than_execution(
    blobs: BlobSchedule,
) -> None:
    target = blobs.target * BLOB
    assert blobs.compute_excess(parent(0, target - 1, 10**9)) == 0
    # 1 wei a blob gas: 2^17 wei a blob, 2^13 gas of execution; equal at 16 wei per gas.
    assert blobs.compute_excess(parent(0, target + BLOB, 16)) == BLOB
    kept = (target + BLOB) * (blobs.maximum - blobs.target) // blobs.maximum
    assert blobs.compute_excess(parent(0, target + BLOB, 17)) == kept
    assert blobs.compute_excess(parent(5 * target, 0, 17)) in {4 * target, 5 * target}
    high = 10 * blobs.base_fee_fraction
    assert blobs.compute_excess(parent(high, 0, 17)) == high - target
    assert blobs.compute_excess(parent(high, 0, 10**9)) == high
