"""KZG: the precompile at 0x0a as EIP-4844 has it, and the proofs of blobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ckzg
import pytest
from eth.exceptions import VMError
from eth.vm.forks.prague.computation import PragueComputation
from eth_typing import Address

from pyevm_agents.vm.kzg import (
    CELLS,
    POINT_EVALUATION_ADDRESS,
    get_trusted_setup,
    has_valid_proofs,
    kzg_to_versioned_hash,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

BLOB = b"".join((index % 251).to_bytes(32, "big") for index in range(4_096))
POINT = (5).to_bytes(32, "big")


@pytest.fixture(scope="module")
def commitment() -> bytes:
    return bytes(ckzg.blob_to_kzg_commitment(BLOB, get_trusted_setup()))


@pytest.fixture(scope="module")
def evaluation(commitment: bytes) -> bytes:
    proof, y = ckzg.compute_kzg_proof(BLOB, POINT, get_trusted_setup())
    return kzg_to_versioned_hash(commitment) + POINT + bytes(y) + commitment + bytes(proof)


def intrinsic(data: bytes) -> int:
    """Return the intrinsic gas of a transaction with this calldata."""
    return 21_000 + sum(16 if byte else 4 for byte in data)


@pytest.mark.slow
def test_the_setup_is_read_once() -> None:
    assert get_trusted_setup() is get_trusted_setup()


def test_a_point_of_a_blob(bench: MakeBench, evaluation: bytes) -> None:
    gas = intrinsic(evaluation) + 50_000
    computation = bench().call(POINT_EVALUATION_ADDRESS, evaluation, gas=gas)
    assert computation.is_success
    # FIELD_ELEMENTS_PER_BLOB and BLS_MODULUS, as EIP-4844 writes them.
    assert computation.output.hex() == (
        f"{4_096:064x}73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"
    )


def test_one_unit_of_gas_less_is_too_little(bench: MakeBench, evaluation: bytes) -> None:
    gas = intrinsic(evaluation) + 49_999
    assert bench().call(POINT_EVALUATION_ADDRESS, evaluation, gas=gas).is_error


@pytest.mark.parametrize(
    ("at", "message"),
    [
        (0, "versioned hash"),
        (63, "verification failed"),  # z
        (95, "verification failed"),  # y
        (32, "verification failed"),  # z is no number of the field
        (191, "verification failed"),  # the proof is no point
    ],
)
def test_an_altered_byte_is_refused(
    bench: MakeBench, evaluation: bytes, at: int, message: str
) -> None:
    altered = bytearray(evaluation)
    altered[at] ^= 0xFF if at == 32 else 1
    computation = bench().call(POINT_EVALUATION_ADDRESS, bytes(altered))
    assert isinstance(computation.error, VMError)
    assert message in str(computation.error)
    assert computation.get_gas_remaining() == 0


@pytest.mark.parametrize("length", [0, 191, 193])
def test_another_length_is_refused(bench: MakeBench, evaluation: bytes, length: int) -> None:
    data = (evaluation + b"\0")[:length]
    computation = bench().call(POINT_EVALUATION_ADDRESS, data)
    assert f"of {length} bytes" in str(computation.error)


def test_py_evm_has_it_at_the_same_address() -> None:
    assert POINT_EVALUATION_ADDRESS in PragueComputation.get_precompiles()
    assert Address(bytes(19) + b"\x0a") == POINT_EVALUATION_ADDRESS


def test_blobs_are_proved_by_blob(commitment: bytes) -> None:
    proof = bytes(ckzg.compute_blob_kzg_proof(BLOB, commitment, get_trusted_setup()))
    assert has_valid_proofs([BLOB], [commitment], [proof])
    assert has_valid_proofs([BLOB, BLOB], [commitment] * 2, [proof] * 2)
    assert not has_valid_proofs([bytes(32) + BLOB[32:-1] + b"\x09"], [commitment], [proof])
    assert not has_valid_proofs([BLOB], [commitment], [b"\x0f" * 48])
    assert not has_valid_proofs([b"\xff" * len(BLOB)], [commitment], [proof])


def test_blobs_are_proved_by_cell(commitment: bytes) -> None:
    _, proofs = ckzg.compute_cells_and_kzg_proofs(BLOB, get_trusted_setup())
    assert len(proofs) == CELLS
    assert has_valid_proofs([BLOB], [commitment], proofs)
    assert not has_valid_proofs([BLOB], [commitment], [*proofs[1:], proofs[0]])
