"""Blob transactions with their blobs, in both forms that clients send."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ckzg
import pytest
import rlp

from pyevm_agents.chain.blob_sidecar import BLOB_BYTES, strip_blobs
from pyevm_agents.chain.transactions import BLOB_TYPE
from pyevm_agents.errors import ConfigError
from pyevm_agents.vm.kzg import CELLS, get_trusted_setup, kzg_to_versioned_hash
from tests.pyevm_agents.node.senders_of_tests import transaction

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOB = bytes(BLOB_BYTES)
POINT_AT_INFINITY = b"\xc0" + bytes(47)
"""Commitment and proofs of a blob of zeros."""

BODY = transaction(
    kind=BLOB_TYPE, max_blob_fee_wei=1, blob_hashes=(kzg_to_versioned_hash(POINT_AT_INFINITY),)
)


def sent(
    commitments: Sequence[bytes],
    blobs: Sequence[bytes],
    *,
    version: bool,
    proofs: Sequence[bytes] | None = None,
) -> bytes:
    proved = [POINT_AT_INFINITY] * (CELLS if version else 1) if proofs is None else proofs
    parts = [rlp.decode(BODY.encode()[1:]), *([b"\x01"] if version else []), blobs, commitments]
    return b"\x03" + bytes(rlp.encode([*parts, proved]))


@pytest.mark.parametrize("version", [False, True])
def test_blobs_are_held_against_their_hashes_and_dropped(version: bool) -> None:
    assert strip_blobs(sent([POINT_AT_INFINITY], [BLOB], version=version)) == BODY.encode()
    with pytest.raises(ConfigError, match="do not match its blobVersionedHashes"):
        strip_blobs(sent([b"\x0d" * 48], [BLOB], version=version))
    with pytest.raises(ConfigError, match="with 0 blobs and 1 commitments"):
        strip_blobs(sent([POINT_AT_INFINITY], [], version=version))
    with pytest.raises(ConfigError, match="each must have 131072"):
        strip_blobs(sent([POINT_AT_INFINITY], [bytes(5)], version=version))


@pytest.mark.parametrize("version", [False, True])
def test_blobs_are_held_against_their_proofs(version: bool) -> None:
    commitment = bytes(
        ckzg.blob_to_kzg_commitment(bytes(31) + b"\x01" + BLOB[32:], get_trusted_setup())
    )
    assert commitment != POINT_AT_INFINITY
    other = bytes(31) + b"\x01" + BLOB[32:]
    with pytest.raises(ConfigError, match="invalid proofs"):
        strip_blobs(sent([POINT_AT_INFINITY], [other], version=version))
    with pytest.raises(
        ConfigError, match=rf"2 proofs for 1 blobs: must have {CELLS if version else 1}"
    ):
        strip_blobs(sent([POINT_AT_INFINITY], [BLOB], version=version, proofs=[b"", b""]))


@pytest.mark.parametrize(
    "raw", [b"", b"\x03", b"\x03\xff", b"\x03\xc0", b"\x03\x84abcd", b"\x03\xc4abcd", b"\x02\xc0"]
)
def test_what_is_none_is_left_to_whoever_decodes_it(raw: bytes) -> None:
    assert strip_blobs(raw) == raw


def test_a_list_where_a_blob_should_be_is_left_to_whoever_decodes_it() -> None:
    raw = b"\x03" + bytes(rlp.encode([rlp.decode(BODY.encode()[1:]), [[]], [b""], [b""]]))
    assert strip_blobs(raw) == raw


def test_a_transaction_without_its_blobs_is_left_as_it_is() -> None:
    assert strip_blobs(BODY.encode()) == BODY.encode()
