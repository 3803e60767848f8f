"""Blob transactions as they are sent: with the blobs, which no block holds.

The blobs are held against the hashes that the transaction names, and then dropped: nobody asks a
development node for them. The proofs, which spare a network the reading of blobs, are not checked:
loading what that takes costs some five seconds of computing.

Source: EIP-4844, "Networking"; EIP-7594, "Networking" (with a version, and proofs by cell).
"""

from __future__ import annotations

from hashlib import sha256

import rlp

from pyevm_agents.errors import ConfigError
from pyevm_agents.transactions import BLOB_TYPE

BLOB_BYTES, COMMITMENT_BYTES = 131_072, 48
VERSION = b"\x01"
"""First byte of a blob's hash. Source: EIP-4844."""

PARTS, PARTS_WITH_VERSION = 4, 5


def without_blobs(raw: bytes) -> bytes:
    """Return a transaction as blocks hold it; all but blob transactions with blobs as they are.

    Raises: ConfigError: the blobs are not those that the transaction names.
    """
    if raw[:1] != bytes([BLOB_TYPE]):
        return raw
    try:
        parts = rlp.decode(raw[1:])
    except rlp.exceptions.RLPException:
        return raw  # Whoever decodes it says what is wrong.
    if not isinstance(parts, list) or len(parts) not in {PARTS, PARTS_WITH_VERSION}:
        return raw
    body, *_, blobs, commitments, _ = parts
    if not (isinstance(body, list) and isinstance(blobs, list) and isinstance(commitments, list)):
        return raw
    named = body[10] if len(body) > 10 else []  # noqa: PLR2004 - `blob_versioned_hashes`
    hashes = [VERSION + sha256(commitment).digest()[1:] for commitment in commitments]
    if named != hashes or len(blobs) != len(hashes):
        raise ConfigError(
            f"blob transaction with {len(blobs)} blobs and {len(hashes)} commitments: they are not "
            "those that its blobVersionedHashes name"
        )
    if any(len(blob) != BLOB_BYTES for blob in blobs):
        raise ConfigError(f"a blob has {BLOB_BYTES} bytes: {sorted({len(b) for b in blobs})}")
    return raw[:1] + bytes(rlp.encode(body))
