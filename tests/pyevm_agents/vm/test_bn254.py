"""BN254: results, prices and failures are py-evm's."""

from __future__ import annotations

import pytest
from eth.vm.forks.prague.computation import PragueComputation
from hypothesis import given, settings
from hypothesis import strategies as st
from py_ecc.optimized_bn128 import optimized_curve as curve

from pyevm_agents.bench.evm import precompile_inputs as inputs
from pyevm_agents.vm import bn254
from pyevm_agents.vm.computation import AgentComputation, PragueAgentComputation
from tests.pyevm_agents.vm.precompile_calls import run_precompile

ADD, MUL, PAIRING = bn254.PRECOMPILES
P = curve.field_modulus
ORDER = curve.curve_order


def words(*numbers: int) -> bytes:
    return b"".join(map(inputs.encode_word, numbers))


def g2(factor: int) -> bytes:
    """Return a multiple of the second generator, imaginary parts first."""
    x, y = curve.normalize(curve.multiply(curve.G2, factor % ORDER))
    return words(*(int(each) for each in (*reversed(x.coeffs), *reversed(y.coeffs))))


def g1(factor: int) -> bytes:
    return inputs.bn128_g1(factor) if factor % ORDER else NO_G1


NO_G1, NO_G2 = bytes(64), bytes(128)
G1, G2 = g1(1), g2(1)
OUTSIDE_G2 = words(
    0,
    1,
    0xD1271953ED9EA0836846E70A1934187998C7F790CB4D7511B7F8DA82DE048A4,
    0x2869111D5381F072F8E2728FDB825A51AADD70E52C9830E9AB4B871C0531F1BB,
)
"""The point with x = 1 on the second curve. Its order is not that of the group."""

TRUE, FALSE = f"{1:064x}", f"{0:064x}"


def run(address: bytes, data: bytes) -> tuple[int, str] | None:
    """Run our precompile; require py-evm's result."""
    ours = run_precompile(PragueAgentComputation.get_precompiles()[address], data)  # type: ignore[index]
    assert ours == run_precompile(PragueComputation.get_precompiles()[address], data)  # type: ignore[index]
    return ours


def test_both_forks_have_them() -> None:
    for computation_class in (AgentComputation, PragueAgentComputation):
        assert bn254.PRECOMPILES.items() <= computation_class.get_precompiles().items()


FACTORS = st.sampled_from([0, 1, 2, ORDER - 2, ORDER - 1]) | st.integers(0, ORDER - 1)
COORDINATES = st.sampled_from([0, 1, 2, 3, P - 2, P - 1, P, P + 1, P + 2, 2**256 - 1])
POINTS = st.builds(g1, FACTORS) | st.builds(words, COORDINATES, COORDINATES)


@given(first=POINTS, second=POINTS, length=st.just(128) | st.integers(0, 130))
@settings(max_examples=150, deadline=None)
def test_sums_are_py_evms(first: bytes, second: bytes, length: int) -> None:
    run(ADD, (first + second + bytes(2))[:length])


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 5), (5, 0), (5, 5), (5, -5), (5, 7)])
def test_a_sum_of_multiples_is_the_multiple_by_the_sum(first: int, second: int) -> None:
    assert run(ADD, g1(first) + g1(second)) == (150, g1(first + second).hex())


@given(point=POINTS, scalar=FACTORS | st.integers(0, 2**256 - 1), length=st.integers(0, 98))
@settings(max_examples=20, deadline=None)
def test_multiples_are_py_evms(point: bytes, scalar: int, length: int) -> None:
    run(MUL, point + words(scalar))
    run(MUL, (point + words(scalar) + bytes(2))[:length])


@pytest.mark.parametrize("scalar", [0, 1, ORDER - 1, ORDER, ORDER + 1, P, 2**256 - 1])
def test_a_multiple_of_the_generator(scalar: int) -> None:
    assert run(MUL, G1 + words(scalar)) == (6_000, g1(scalar).hex())
    assert run(MUL, NO_G1 + words(scalar)) == (6_000, NO_G1.hex())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pairs", "output"),
    [
        (b"", TRUE),
        (NO_G1 + NO_G2, TRUE),
        (NO_G1 + G2, TRUE),
        (G1 + NO_G2, TRUE),
        (G1 + G2, FALSE),
        (G1 + G2 + g1(-1) + G2, TRUE),
        (g1(6) + G2 + g1(-2) + g2(3), TRUE),
        (g1(6) + G2 + g1(-2) + g2(2), FALSE),
        (G1 + g2(-1) + NO_G1 + G2 + G1 + G2, TRUE),
    ],
)
def test_a_pairing_check(pairs: bytes, output: str) -> None:
    assert run(PAIRING, pairs) == (45_000 + 34_000 * (len(pairs) // 192), output)


def change(data: bytes, at: int, number: int) -> bytes:
    """Return data with another word."""
    return data[: at * 32] + words(number) + data[at * 32 + 32 :]


@pytest.mark.parametrize(
    "pair",
    [
        NO_G1 + OUTSIDE_G2,
        *(change(G1 + G2, at, number) for at in range(6) for number in (P, 2**256 - 1)),
        *(change(NO_G1 + NO_G2, at, 1) for at in range(6)),
        *(change(G1 + G2, at, 3) for at in range(6)),
        G1 + G2[32:64] + G2[:32] + G2[64:],
        G1 + G2[:-1],
        G1 + G2 + b"\0",
        bytes(1),
    ],
)
def test_an_invalid_pair_is_refused(pair: bytes) -> None:
    assert run(PAIRING, pair) is None


def test_a_pair_is_checked_though_the_other_point_is_at_infinity() -> None:
    assert run(PAIRING, G1 + NO_G2 + words(1, 1) + NO_G2) is None
