"""BLS12-381: the vectors of EIP-2537, and py-evm's results.

The vectors are those of ethereum/EIPs at f767a1e8 (CC0-1.0), `assets/eip-2537`; of `msm_G1` those
of at most four points, and that of 129.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from eth.vm.forks.prague.computation import PragueComputation
from py_ecc.optimized_bls12_381 import optimized_curve as curve

from pyevm_agents.bench.evm import precompile_inputs as inputs
from pyevm_agents.vm import bls12_381
from pyevm_agents.vm.computation import AgentComputation, PragueAgentComputation
from tests.pyevm_agents.vm.precompile_calls import run_precompile

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_typing import Address

    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

FILES = sorted((Path(__file__).parent / "eip_2537").glob("*.json"))
G1_ADD, G1_MSM, G2_ADD, G2_MSM, PAIRING, MAP_TO_G1, MAP_TO_G2 = bls12_381.PRECOMPILES
ADDRESSES = {
    "add_G1": G1_ADD,
    "mul_G1": G1_MSM,
    "msm_G1": G1_MSM,
    "add_G2": G2_ADD,
    "mul_G2": G2_MSM,
    "msm_G2": G2_MSM,
    "pairing_check": PAIRING,
    "map_fp_to_G1": MAP_TO_G1,
    "map_fp2_to_G2": MAP_TO_G2,
}
P = curve.field_modulus
ORDER = curve.curve_order


def elements(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(64, "big") for number in numbers)


G1, G2 = inputs.bls_g1(), inputs.bls_g2()
NO_G1, NO_G2 = elements(0, 0), elements(0, 0, 0, 0)
OUTSIDE_G1 = elements(0, 2)
"""A point of order 3: 2² = 0³ + 4."""

OUTSIDE_G2 = elements(
    2,
    0,
    0x18C6B864AE17DC9DA64203FFEFB966306425A7BC6AEB7C75247438372716284A4173830420CD476BA1A365B95BFCEC38,
    0x172E93DB764A8400A7D5071B6B6F5DE0DA2F0F4A063119ABCA014006B7C40A2CFE291A1924E65DB0D6D0FCFBF3BF3D5C,
)
"""The point with x = 2 on the second curve. Its order is not that of the group."""

ONE = inputs.encode_word(1)


def run(address: Address, data: bytes) -> tuple[int, str] | None:
    """Run our precompile; require py-evm's result."""
    ours = run_precompile(PragueAgentComputation.get_precompiles()[address], data)
    assert ours == run_precompile(PragueComputation.get_precompiles()[address], data)
    return ours


def test_vectors_are_there() -> None:
    assert len(FILES) == 17


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem.removesuffix("_bls"))
def test_vectors_of_the_eip(bench: MakeBench, file: Path) -> None:
    chain = bench()
    address = ADDRESSES[file.stem.removeprefix("fail-").removesuffix("_bls")]
    for vector in json.loads(file.read_text()):
        computation = chain.call(address, bytes.fromhex(vector["Input"]))
        if "ExpectedError" in vector:
            assert computation.is_error, vector["Name"]
            assert computation.get_gas_remaining() == 0, vector["Name"]
        else:
            assert computation.output.hex() == vector["Expected"], vector["Name"]
            used = computation.msg.gas - computation.get_gas_remaining()
            assert used == vector["Gas"], vector["Name"]


def test_cancun_has_none_of_them() -> None:
    assert AgentComputation.get_precompiles().keys().isdisjoint(bls12_381.PRECOMPILES)


@pytest.mark.parametrize("factor", [0, 1, 2, ORDER - 1, 12_345])
def test_sums_are_py_evms(factor: int) -> None:
    g1 = inputs.bls_g1(factor) if factor else NO_G1
    g2 = inputs.bls_g2(factor) if factor else NO_G2
    for other in (NO_G1, G1, inputs.bls_g1(ORDER - 1), OUTSIDE_G1):
        assert run(G1_ADD, g1 + other) is not None
    for other in (NO_G2, G2, inputs.bls_g2(ORDER - 1), OUTSIDE_G2):
        assert run(G2_ADD, g2 + other) is not None


@pytest.mark.parametrize("scalar", [0, 1, ORDER - 1, ORDER, ORDER + 1, 2**256 - 1])
def test_multiples_are_py_evms(scalar: int) -> None:
    word = inputs.encode_word(scalar)
    assert run(G1_MSM, G1 + word + NO_G1 + word + inputs.bls_g1(7) + ONE) is not None
    assert run(G2_MSM, G2 + word + NO_G2 + word + inputs.bls_g2(7) + ONE) is not None


@pytest.mark.parametrize(
    ("count", "g1_gas", "g2_gas"),
    [
        (1, 12_000, 22_500),
        (2, 2 * 12_000 * 949 // 1_000, 2 * 22_500),
        (3, 3 * 12_000 * 848 // 1_000, 3 * 22_500 * 923 // 1_000),
        (128, 128 * 12_000 * 519 // 1_000, 128 * 22_500 * 524 // 1_000),
        (129, 129 * 12_000 * 519 // 1_000, 129 * 22_500 * 524 // 1_000),
    ],
)
def test_many_points_are_cheaper(count: int, g1_gas: int, g2_gas: int) -> None:
    ours = PragueAgentComputation.get_precompiles()
    assert run_precompile(ours[G1_MSM], (NO_G1 + ONE) * count) == (g1_gas, NO_G1.hex())
    assert run_precompile(ours[G2_MSM], (NO_G2 + ONE) * count) == (g2_gas, NO_G2.hex())


def test_a_point_outside_of_the_subgroup_is_added_only() -> None:
    assert run(G1_ADD, OUTSIDE_G1 * 2) is not None
    assert run(G2_ADD, OUTSIDE_G2 * 2) is not None
    assert run(G1_MSM, G1 + ONE + OUTSIDE_G1 + ONE) is None
    assert run(G2_MSM, G2 + ONE + OUTSIDE_G2 + ONE) is None
    assert run(PAIRING, OUTSIDE_G1 + NO_G2) is None
    assert run(PAIRING, NO_G1 + OUTSIDE_G2) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "pairs",
    [
        NO_G1 + NO_G2,
        NO_G1 + G2,
        G1 + NO_G2,
        G1 + G2,
        inputs.bls_g1(3) + G2 + inputs.bls_g1(-1) + inputs.bls_g2(3),
        inputs.bls_g1(3) + G2 + inputs.bls_g1(-1) + inputs.bls_g2(2),
    ],
)
def test_pairings_are_py_evms(pairs: bytes) -> None:
    assert run(PAIRING, pairs) is not None


@pytest.mark.parametrize("number", [P, P + 1, 2**381, 2**382, 2**383, 2**384 - 1, 2**384, 2**511])
def test_a_number_beyond_the_field_is_refused(number: int) -> None:
    for at in range(4):
        coordinates = [0, 0, 0, 0]
        coordinates[at] = number
        assert run(G2_ADD, elements(*coordinates) + G2) is None
        assert run(G1_ADD, elements(*coordinates)) is None
    assert run(MAP_TO_G1, elements(number)) is None
    assert run(MAP_TO_G2, elements(number, 0)) is None
    assert run(MAP_TO_G2, elements(0, number)) is None


@pytest.mark.parametrize("number", [0, 1, P - 1, P // 2, 2**380])
def test_maps_are_py_evms(number: int) -> None:
    assert run(MAP_TO_G1, elements(number)) is not None
    assert run(MAP_TO_G2, elements(number, P - 1 - number)) is not None


@pytest.mark.parametrize("address", bls12_381.PRECOMPILES, ids=lambda address: address[-1:].hex())
def test_other_lengths_are_refused(address: Address) -> None:
    sizes = {G1_ADD: 256, G1_MSM: 160, G2_ADD: 512, G2_MSM: 288, PAIRING: 384}
    size = sizes.get(address, 64 if address == MAP_TO_G1 else 128)
    ours = partial(run, address)
    assert ours(bytes(size)) is not None
    assert [ours(bytes(length)) for length in (0, 1, size - 1, size + 1)] == [None] * 4
