"""Ritual's encoding of model calls, answered by models in integers."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from eth_abi import decode, encode
from eth_utils import to_canonical_address
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contracts.plain_evm import STRANGER, Contract, Evm, plain_evm, reverts

PLACE = "0x" + "0800".rjust(40, "0")
MODEL_ID = b"hf/owner/repo/model.onnx@" + b"0123456789" * 4
DIGEST = b"\x01" * 32
FIXED, IEEE = 1, 2
FLOAT32, INT32, INT64 = 1, 6, 7
HALF_EVEN, TRUNCATE, FLOOR, CEIL = 1, 2, 3, 4
ROUNDINGS = (HALF_EVEN, TRUNCATE, FLOOR, CEIL)
CALL = ["bytes", "bytes", "uint8", "uint8", "uint8", "uint8", "uint8"]
TENSOR = ["uint8", "uint16[]", "int32[]"]
ANSWER = ["bytes", "uint8", "uint8", "uint8"]


@pytest.fixture
def adapter(evm: Evm) -> Contract:
    """The adapter's code at 0x0800, over a model that doubles its first input of two."""
    models = evm.deploy("ScriptedNumericModels")
    double = (DIGEST, [4, 4], [4], -(10**9), 10**9, [2, 0], [0], 1, 2**62)
    models("set", "double", double)
    return put(evm, models, 10)


def put(evm: Evm, models: Contract, base: int) -> Contract:
    """Put the adapter's code at 0x0800, as `anvil_setCode` and a genesis do."""
    names = evm.deploy("ModelNames", [(MODEL_ID, "double")])
    made = evm.deploy("RitualModelAdapter", models.address, names.address, base)
    code = evm.vm.state.get_code(to_canonical_address(made.address))
    evm.vm.state.set_code(to_canonical_address(PLACE), code)
    return evm.at("RitualModelAdapter", PLACE)


def bits(value: float) -> int:
    return int(struct.unpack(">i", struct.pack(">f", value))[0])


def from_bits(value: int) -> float:
    return float(struct.unpack(">f", struct.pack(">i", value))[0])


def call(
    adapter: Contract, values: list[int], *, dtype: int = FLOAT32, shape: list[int] | None = None,
    model: bytes = MODEL_ID, modes: tuple[int, ...] = (IEEE, 0, IEEE, 0), rounding: int = HALF_EVEN,
) -> tuple[int, ...]:  # fmt: skip
    """Call with their encoding and no selector; return the values of the output tensor."""
    tensor = encode(TENSOR, [dtype, [len(values)] if shape is None else shape, values])
    data = encode(CALL, [model, tensor, *modes, rounding])
    output, arithmetic, scale, rounded = decode(ANSWER, adapter.evm.send(PLACE, data))
    assert (arithmetic, scale, rounded) == (*modes[2:], rounding)
    out_type, out_shape, out_values = decode(TENSOR, output)
    assert out_type == (FLOAT32 if arithmetic == IEEE else INT32)
    assert out_shape == (len(out_values),)
    return tuple(out_values)


def test_floats_go_in_and_come_out(adapter: Contract) -> None:
    for value in (0.0, 1.5, -0.25, 1234.5678, -3e-5, 5e-5):
        (output,) = call(adapter, [bits(value), bits(0)])
        doubled = 2 * round(Fraction(from_bits(bits(value))) * 10**4)
        assert from_bits(output) == float(np.float32(doubled / 10**4))


def test_fixed_point_goes_in_and_comes_out(adapter: Contract) -> None:
    fixed = (FIXED, 2, FIXED, 3)
    assert call(adapter, [125, 0], dtype=INT32, modes=fixed) == (2_500,)
    assert call(adapter, [-125, 0], dtype=INT32, modes=fixed, shape=[1, 2]) == (-2_500,)
    assert from_bits(call(adapter, [125, 0], dtype=INT32, modes=(FIXED, 2, IEEE, 0))[0]) == 2.5
    assert call(adapter, [bits(1.25), 0], modes=(IEEE, 0, FIXED, 1)) == (25,)


@pytest.mark.parametrize(
    ("rounding", "outputs"),
    [(HALF_EVEN, (2, -2)), (TRUNCATE, (2, -2)), (FLOOR, (2, -3)), (CEIL, (3, -2))],
)
def test_roundings_of_outputs(adapter: Contract, rounding: int, outputs: tuple[int, int]) -> None:
    modes = (FIXED, 4, FIXED, 0)
    found = [
        call(adapter, [sign * 12_500, 0], dtype=INT32, modes=modes, rounding=rounding)[0]
        for sign in (1, -1)
    ]
    assert tuple(found) == outputs  # 2 * 1.25


def test_scales_can_be_binary(evm: Evm, adapter: Contract) -> None:
    binary = put(evm, evm.at("ScriptedNumericModels", adapter("models")), 2)
    modes = (FIXED, 8, FIXED, 4)
    assert call(binary, [320, 0], dtype=INT32, modes=modes) == (40,)  # 1.25 and 2.5
    with reverts("UnsupportedBase", 3):
        put(evm, evm.at("ScriptedNumericModels", adapter("models")), 3)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"modes": (0, 0, IEEE, 0)}, ("UnsupportedArithmetic", 0)),
        ({"modes": (IEEE, 0, 3, 0)}, ("UnsupportedArithmetic", 3)),
        ({"rounding": 0}, ("UnsupportedRounding", 0)),
        ({"rounding": 5}, ("UnsupportedRounding", 5)),
        ({"dtype": INT64}, ("UnsupportedDataType", INT64, IEEE)),
        ({"dtype": INT32}, ("UnsupportedDataType", INT32, IEEE)),
        ({"modes": (FIXED, 38, IEEE, 0), "dtype": INT32}, ("UnsupportedScale", 38, 37)),
        ({"shape": [3]}, ("ShapeMismatch", 3, 2)),
        ({"model": b"hf/other"}, ("ModelNotServed", b"hf/other")),
        ({"values": [bits(math.inf), 0]}, ("NotFinite", 0x7F800000)),
        ({"values": [bits(-math.inf), 0]}, ("NotFinite", 0xFF800000)),
        ({"values": [0x7FC00000, 0]}, ("NotFinite", 0x7FC00000)),
        ({"values": [0]}, ("InputLengthMismatch", 1, 2)),
        ({"values": [bits(1e30), 0]}, None),
        ({"values": [bits(90_000.0), 0], "modes": (IEEE, 0, FIXED, 8)},
         ("OutputTooLarge", 0, 1_800_000_000)),
    ],
)  # fmt: skip
def test_what_is_not_served_is_refused_by_name(
    adapter: Contract, changes: dict[str, object], error: tuple[object, ...] | None
) -> None:
    fields: dict[str, object] = {"values": [0, 0]} | changes
    if error is None:  # The model's own error, as it says it.
        size = int(from_bits(bits(1e30))) * 10**4
        error = ("InputOutOfRange", 0, size, -(10**9), 10**9)
    with reverts(*error):
        call(adapter, **fields)  # type: ignore[arg-type]


def test_data_that_are_no_call_are_refused(adapter: Contract) -> None:
    whole = encode(CALL, [MODEL_ID, b"\x01", IEEE, 0, IEEE, 0, HALF_EVEN])
    for data in (b"", b"\x01", whole[:100], whole):
        with reverts("MalformedCall"):
            adapter.evm.send(PLACE, data, sender=STRANGER)


def test_names_are_of_one_model_each(evm: Evm) -> None:
    for entries in ([(b"a", "x"), (b"a", "y")], [(b"a", "")]):
        with reverts("InvalidEntry", b"a"):
            evm.deploy("ModelNames", entries)


@pytest.fixture(scope="module")
def library() -> Contract:
    return plain_evm().deploy("LibraryCalls")


PATTERNS = st.integers(0, 2**32 - 1).filter(lambda value: (value >> 23) & 0xFF != 0xFF)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(pattern=PATTERNS, decimals=st.integers(0, 37), rounding=st.sampled_from(ROUNDINGS))
def test_floats_are_read_exactly(
    library: Contract, pattern: int, decimals: int, rounding: int
) -> None:
    value = Fraction(struct.unpack(">f", struct.pack(">I", pattern))[0]) * 10**decimals
    expected = rounded(value, rounding)
    assert library("fromFloat", pattern, 10**decimals, rounding) == expected


def rounded(value: Fraction, rounding: int) -> int:
    """Round a fraction to an integer."""
    if rounding == HALF_EVEN:
        return round(value)
    if rounding == TRUNCATE:
        return math.trunc(value)
    return math.floor(value) if rounding == FLOOR else math.ceil(value)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    value=st.one_of(st.integers(-(2**63), 2**63), st.integers(-(2**127), 2**127)),
    decimals=st.integers(0, 37),
    rounding=st.sampled_from(ROUNDINGS),
)
def test_floats_are_written_exactly(
    library: Contract, value: int, decimals: int, rounding: int
) -> None:
    pattern = library("toFloat", value, 10**decimals, rounding)
    assert pattern == float_of(Fraction(value, 10**decimals), rounding)


def float_of(value: Fraction, rounding: int) -> int:
    """Return the bits of the single-precision number that a fraction is rounded to."""
    if value == 0:
        return 0
    shift = -150
    while abs(value) >= Fraction(2) ** (shift + 24):
        shift += 1
    digits = abs(rounded(value / Fraction(2) ** shift, rounding))
    number = Fraction(digits) * Fraction(2) ** shift * (-1 if value < 0 else 1)
    return int(struct.unpack(">I", struct.pack(">f", float(number)))[0])
