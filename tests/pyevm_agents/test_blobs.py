"""Blob transactions with their blobs, in both forms that clients send."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
import rlp

from pyevm_agents.blobs import BLOB_BYTES, without_blobs
from pyevm_agents.errors import ConfigError
from pyevm_agents.transactions import BLOB_TYPE
from tests.pyevm_agents.node.senders_of_tests import transaction

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMITMENT = b"\x0c" * 48
HASH = b"\x01" + sha256(COMMITMENT).digest()[1:]


def sent(commitments: Sequence[bytes], blobs: Sequence[bytes], *, version: bool) -> bytes:
    one = transaction(kind=BLOB_TYPE, max_blob_fee_wei=1, blob_hashes=(HASH,))
    parts = [rlp.decode(one.encode()[1:]), *([b"\x01"] if version else []), blobs, commitments]
    return b"\x03" + bytes(rlp.encode([*parts, [b"\x0f" * 48]]))


@pytest.mark.parametrize("version", [False, True])
def test_blobs_are_held_against_their_hashes_and_dropped(version: bool) -> None:
    one = transaction(kind=BLOB_TYPE, max_blob_fee_wei=1, blob_hashes=(HASH,))
    assert without_blobs(sent([COMMITMENT], [bytes(BLOB_BYTES)], version=version)) == one.encode()
    with pytest.raises(ConfigError, match="not those that its blobVersionedHashes name"):
        without_blobs(sent([b"\x0d" * 48], [bytes(BLOB_BYTES)], version=version))
    with pytest.raises(ConfigError, match="with 0 blobs and 1 commitments"):
        without_blobs(sent([COMMITMENT], [], version=version))
    with pytest.raises(ConfigError, match="a blob has 131072 bytes"):
        without_blobs(sent([COMMITMENT], [bytes(5)], version=version))


@pytest.mark.parametrize(
    "raw", [b"", b"\x03", b"\x03\xff", b"\x03\xc0", b"\x03\x84abcd", b"\x03\xc4abcd", b"\x02\xc0"]
)
def test_what_is_none_is_left_to_whoever_decodes_it(raw: bytes) -> None:
    assert without_blobs(raw) == raw


def test_a_transaction_without_its_blobs_is_left_as_it_is() -> None:
    one = transaction(kind=BLOB_TYPE, max_blob_fee_wei=1, blob_hashes=(HASH,))
    assert without_blobs(one.encode()) == one.encode()
