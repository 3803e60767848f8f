"""Blob sidecars: blobs, commitments and proofs that are sent with a blob transaction.

Sidecars are verified against the transaction's versioned hashes, then dropped: blocks do not hold
sidecars, and a development node has no use for the blobs.

Source: EIP-4844, "Networking"; EIP-7594, "Networking" (with a version, and proofs by cell).
"""

from __future__ import annotations

import rlp

from pyevm_agents.chain.transactions import BLOB_TYPE
from pyevm_agents.errors import ConfigError
from pyevm_agents.vm.kzg import CELLS, has_valid_proofs, kzg_to_versioned_hash

BLOB_BYTES = 131_072
PARTS, PARTS_WITH_VERSION = 4, 5


def strip_blobs(raw: bytes) -> bytes:
    """Verify and remove the blob sidecar of a raw transaction; return others unchanged.

    Raises: ConfigError: blobs do not match the versioned hashes, or a proof is invalid.
    """
    if raw[:1] != bytes([BLOB_TYPE]):
        return raw
    try:
        parts = rlp.decode(raw[1:])
    except rlp.exceptions.RLPException:
        return raw  # Decoding it will raise the error.
    if not isinstance(parts, list) or len(parts) not in {PARTS, PARTS_WITH_VERSION}:
        return raw
    body, *_, blobs, commitments, proofs = parts
    if not all(isinstance(part, list) for part in (body, blobs, commitments, proofs)):
        return raw
    if not all(isinstance(item, bytes) for item in (*blobs, *commitments, *proofs)):
        return raw
    named = body[10] if len(body) > 10 else []  # noqa: PLR2004 - `blob_versioned_hashes`
    _require_matching_hashes(named, blobs, commitments)
    _require_valid_proofs(blobs, commitments, proofs, a_blob=1 if len(parts) == PARTS else CELLS)
    return raw[:1] + bytes(rlp.encode(body))


def _require_matching_hashes(named: object, blobs: list[bytes], commitments: list[bytes]) -> None:
    hashes = [kzg_to_versioned_hash(commitment) for commitment in commitments]
    if named != hashes or len(blobs) != len(hashes):
        raise ConfigError(
            f"blob transaction with {len(blobs)} blobs and {len(hashes)} commitments: they do not "
            "match its blobVersionedHashes"
        )
    if any(len(blob) != BLOB_BYTES for blob in blobs):
        sizes = sorted({len(blob) for blob in blobs})
        raise ConfigError(f"blobs of {sizes} bytes: each must have {BLOB_BYTES}")


def _require_valid_proofs(
    blobs: list[bytes], commitments: list[bytes], proofs: list[bytes], *, a_blob: int
) -> None:
    if len(proofs) != a_blob * len(blobs):
        raise ConfigError(
            f"blob transaction with {len(proofs)} proofs for {len(blobs)} blobs: "
            f"must have {a_blob * len(blobs)}"
        )
    if not has_valid_proofs(blobs, commitments, proofs):
        raise ConfigError("blob transaction with invalid proofs of its blobs")
