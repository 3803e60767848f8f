"""KZG: the point evaluation precompile, and verification of blob proofs.

py-evm's precompile loads the trusted setup in each call, which takes 3 s. Here the setup is cached.

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
"""Versioned hash, z and y of 32 bytes each, commitment and proof of 48. Source: EIP-4844."""

OUTPUT = FIELD_ELEMENTS_PER_BLOB.to_bytes(32, "big") + BLS_MODULUS.to_bytes(32, "big")
CELLS = 128
"""Cells of an extended blob. Source: EIP-7594."""


@cache
def get_trusted_setup() -> object:
    """Return Ethereum's trusted setup, loaded on first use (3 s)."""
    return ckzg.load_trusted_setup(TRUSTED_SETUP_PATH, 0)


def kzg_to_versioned_hash(commitment: bytes) -> bytes:
    """Return the versioned hash of a commitment."""
    return VERSIONED_HASH_VERSION_KZG + sha256(commitment).digest()[1:]


def point_evaluation(computation: ComputationAPI) -> ComputationAPI:
    """Verify that the polynomial of a commitment is y at z: the precompile at 0x0a.

    Gas:    50,000.
    Raises: VMError: wrong input length, wrong versioned hash, or invalid proof.
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
    except RuntimeError as error:  # An invalid field element or point.
        raise VMError(f"Point evaluation KZG proof verification failed: {error}") from error
    if not is_proved:
        raise VMError("Point evaluation KZG proof verification failed.")
    computation.output = OUTPUT
    return computation


def has_valid_proofs(
    blobs: Sequence[bytes], commitments: Sequence[bytes], proofs: Sequence[bytes]
) -> bool:
    """Whether the proofs of blobs are valid: one per blob, or one per cell (EIP-7594)."""
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
    except (RuntimeError, ValueError, TypeError):  # An invalid field element or point.
        return False
