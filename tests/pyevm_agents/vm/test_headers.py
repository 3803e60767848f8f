"""Blocks and headers are py-evm's, but for how they are copied."""

from __future__ import annotations

from typing import Any

import pytest
import rlp
from eth.vm.forks.cancun import blocks as of_cancun
from eth.vm.forks.cancun.headers import create_cancun_header_from_parent
from eth.vm.forks.prague import blocks as of_prague
from eth.vm.forks.prague.headers import create_prague_header_from_parent
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.vm.headers import (
    CancunBlock,
    CancunHeader,
    PragueBlock,
    PragueHeader,
    build_cancun_header,
    build_prague_header,
)

GAS_LIMIT = 30_000_000
FIRST: dict[str, Any] = {
    "difficulty": 0, "block_number": 1, "gas_limit": GAS_LIMIT, "timestamp": 1,
}  # fmt: skip


def parents() -> st.SearchStrategy[dict[str, object]]:
    """Return fields of headers that can be parents."""
    return st.fixed_dictionaries(
        {
            "difficulty": st.just(0),
            "block_number": st.integers(0, 10**6),
            "gas_limit": st.integers(5_000, 2**40),
            "gas_used": st.integers(0, 5_000),
            "timestamp": st.integers(0, 2**40),
            "base_fee_per_gas": st.integers(0, 10**12),
            "blob_gas_used": st.integers(0, 9).map(lambda blobs: blobs * 2**17),
            "excess_blob_gas": st.integers(0, 10**8),
            "state_root": st.binary(min_size=32, max_size=32),
            "extra_data": st.binary(max_size=32),
            "coinbase": st.binary(min_size=20, max_size=20),
            "bloom": st.integers(0, 2**256),
        }
    )


AFTER: dict[Any, tuple[Any, Any]] = {
    CancunHeader: (build_cancun_header, create_cancun_header_from_parent),
    PragueHeader: (build_prague_header, create_prague_header_from_parent),
}
"""What makes the next header of a kind, ours and py-evm's."""

PLAIN: dict[Any, Any] = {
    CancunHeader: of_cancun.CancunBlockHeader,
    PragueHeader: of_prague.PragueBlockHeader,
    CancunBlock: of_cancun.CancunBlock,
    PragueBlock: of_prague.PragueBlock,
}
"""Ours, and py-evm's."""


OWN_DEFAULTS = ("mix_hash", "parent_beacon_block_root")
"""The fields whose defaults are not py-evm's."""


@given(parents(), st.sampled_from([*AFTER]), st.booleans())
def test_the_next_header_is_py_evms(
    fields: dict[str, object],
    kind: Any,  # noqa: ANN401 - a class of headers
    is_ours: bool,
) -> None:
    parent = (kind if is_ours else PLAIN[kind])(**fields)
    ours, theirs = (after(parent) for after in AFTER[kind])
    assert ours.mix_hash == keccak(parent.hash)
    assert ours.parent_beacon_block_root == bytes(32)
    # Where its parent's time has passed, it is now.
    own = {"timestamp": 0, **dict.fromkeys(OWN_DEFAULTS, bytes(32))}
    assert ours.copy(**own).as_dict() == theirs.copy(**own).as_dict()
    assert parent.timestamp < ours.timestamp <= theirs.timestamp
    assert isinstance(ours, kind)


@pytest.mark.parametrize("kind", AFTER)
def test_what_a_header_is_told_to_be_goes_py_evms_way(kind: Any) -> None:  # noqa: ANN401 - see above
    told = {"gas_limit": GAS_LIMIT, "difficulty": 0, "timestamp": 5, "extra_data": b"x"}
    told |= dict.fromkeys(OWN_DEFAULTS, b"\x07" * 32)
    ours, theirs = (after(None, **told) for after in AFTER[kind])
    assert isinstance(ours, kind)
    assert ours.as_dict() == theirs.as_dict()
    assert rlp.encode(ours) == rlp.encode(theirs)


@pytest.mark.parametrize("kind", AFTER)
def test_a_copy_is_another_header(kind: Any) -> None:  # noqa: ANN401 - see above
    header = kind(**FIRST)
    plain = PLAIN[kind](**FIRST)
    before = header.hash
    rlp.encode(header)
    changed = header.copy(gas_used=7)
    assert changed.hash == plain.copy(gas_used=7).hash
    assert (header.hash, header.gas_used) == (before, 0)
    assert hash(changed) != hash(header)
    with pytest.raises(TypeError, match="has no field gas_usd"):
        header.copy(gas_usd=7)


@pytest.mark.parametrize(
    ("kind", "header_kind"), [(CancunBlock, CancunHeader), (PragueBlock, PragueHeader)]
)
def test_a_copied_block_keeps_its_transactions_themselves(
    kind: Any,  # noqa: ANN401 - a class of blocks
    header_kind: Any,  # noqa: ANN401 - see above
) -> None:
    header = header_kind(**FIRST)
    builder = kind.get_transaction_builder()
    transaction = builder.new_transaction(0, 1, 21_000, b"\x01" * 20, 0, b"", 27, 1, 1)
    block = kind(header=header, transactions=[transaction])
    block.block_requests.append(b"\x00")
    block.receipts = ()
    copied = block.copy(header=header.copy(bloom=5))
    assert copied.transactions[0] is transaction
    assert copied.block_requests == []
    assert copied.bloom_filter is not None
    assert int(copied.bloom_filter) == 5
    assert copied.get_receipts(None) == ()
    plain = PLAIN[kind](header=header, transactions=[transaction])
    assert rlp.encode(block) == rlp.encode(plain)
    assert rlp.decode(rlp.encode(block), kind).header == header
