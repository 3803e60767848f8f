"""Receipts and their bloom filters are those of py-evm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from eth_bloom.bloom import BloomFilter
from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.chain.transactions import TransactionFields, sign
from pyevm_agents.vm.receipts import build_receipt

if TYPE_CHECKING:
    from eth.abc import ComputationAPI

    Entry = tuple[bytes, tuple[int, ...], bytes]

WORDS = st.integers(0, 2**256 - 1)
ENTRIES = st.lists(
    st.tuples(
        st.binary(min_size=20, max_size=20),
        st.lists(WORDS, max_size=4).map(tuple),
        st.binary(max_size=70),
    ),
    max_size=4,
)
SENT = [
    sign(TransactionFields(kind=kind, nonce=0, gas=21_000, to=Address(b"\x11" * 20)), key, 1)
    for key in [PrivateKey(b"\x01" * 32)]
    for kind in (0, 1, 2)
]


@dataclass(frozen=True)
class _Ended:
    """The part of a computation that a receipt shows."""

    is_error: bool
    entries: tuple[Entry, ...]

    def get_log_entries(self) -> tuple[Entry, ...]:
        return self.entries


@given(transaction=st.sampled_from(SENT), entries=ENTRIES, fails=st.booleans())
def test_a_receipt_is_that_of_py_evm(transaction: Any, entries: list[Entry], fails: bool) -> None:  # noqa: ANN401
    ended = _Ended(fails, tuple(entries))
    receipt = build_receipt(transaction, cast("ComputationAPI", ended), 50_000)
    expected = transaction.make_receipt(b"" if fails else b"\x01", 50_000, ended.entries)
    assert receipt == expected
    assert type(receipt) is type(expected)
    assert receipt.encode() == expected.encode()
    values = [value for log in receipt.logs for value in log.bloomables]
    assert receipt.bloom == int(BloomFilter.from_iterable(values))
