"""KZG: the precompile that evaluates a blob's polynomial, and the proofs that come with blobs.

py-evm's precompile reads the trusted setup at each call, which costs 3 s; here it is read once.

Source: EIP-4844; EIP-7594 (proofs by cell).
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

import ckzg
from eth.exceptions import VMError
from eth.precompiles.point_evaluation import TRUSTED_SETUP_PATH
from eth.vm.forks.cancun.constants import (
    BLS_MODULUS,
    FIELD_ELEMENTS_PER_BLOB,
    POINT_EVALUATION_PRECOMPILE_ADDRESS,
    POINT_EVALUATION_PRECOMPILE_GAS,
    VERSIONED_HASH_VERSION_KZG,
)
from eth_typing import Address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import ComputationAPI

POINT_EVALUATION_ADDRESS = Address(POINT_EVALUATION_PRECOMPILE_ADDRESS.rjust(20, b"\0"))
INPUT_BYTES = 192
"""The hash, z and y of 32 bytes each, commitment and proof of 48. Source: EIP-4844."""

OUTPUT = FIELD_ELEMENTS_PER_BLOB.to_bytes(32, "big") + BLS_MODULUS.to_bytes(32, "big")
CELLS = 128
"""Cells of an extended blob. Source: EIP-7594."""


@cache
def get_trusted_setup() -> object:
    """Return Ethereum's trusted setup: a constant, read when it is first needed (3 s)."""
    return ckzg.load_trusted_setup(TRUSTED_SETUP_PATH, 0)


def kzg_to_versioned_hash(commitment: bytes) -> bytes:
    """Return the hash by which a transaction names a blob."""
    return VERSIONED_HASH_VERSION_KZG + sha256(commitment).digest()[1:]


def point_evaluation(computation: ComputationAPI) -> ComputationAPI:
    """Check that the polynomial of a commitment is y at z; the precompile at 0x0a.

    Gas:    50,000.
    Raises: VMError: the input has another length, another hash, or is not proved.
    """
    computation.consume_gas(POINT_EVALUATION_PRECOMPILE_GAS, reason="Point Evaluation Precompile")
    data = computation.msg.data_as_bytes
    if len(data) != INPUT_BYTES:
        raise VMError(f"Point evaluation of {len(data)} bytes, not {INPUT_BYTES}.")
    z, y, commitment, proof = data[32:64], data[64:96], data[96:144], data[144:]
    if kzg_to_versioned_hash(commitment) != data[:32]:
        raise VMError("Point evaluation commitment does not match versioned hash.")
    try:
        is_proved = ckzg.verify_kzg_proof(commitment, z, y, proof, get_trusted_setup())
    except RuntimeError as error:  # A number or a point that is none.
        raise VMError(f"Point evaluation KZG proof verification failed: {error}") from error
    if not is_proved:
        raise VMError("Point evaluation KZG proof verification failed.")
    computation.output = OUTPUT
    return computation


def has_valid_proofs(
    blobs: Sequence[bytes], commitments: Sequence[bytes], proofs: Sequence[bytes]
) -> bool:
    """Whether blobs are those of their commitments, by a proof a blob or by one a cell."""
    setup = get_trusted_setup()
    try:
        if len(proofs) == len(blobs):
            return bool(
                ckzg.verify_blob_kzg_proof_batch(
                    b"".join(blobs), b"".join(commitments), b"".join(proofs), setup
                )
            )
        cells = [cell for blob in blobs for cell in ckzg.compute_cells(blob, setup)]
        return bool(
            ckzg.verify_cell_kzg_proof_batch(
                [commitment for commitment in commitments for _ in range(CELLS)],
                [index for _ in blobs for index in range(CELLS)],
                cells,
                list(proofs),
                setup,
            )
        )
    except (RuntimeError, ValueError, TypeError):  # Bytes that are no number or point.
        return False
