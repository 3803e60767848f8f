"""Records have the RLP of rlp, and whatever rlp refuses is refused by rlp."""

from __future__ import annotations

from typing import Any

import pytest
import rlp
from eth.rlp.logs import Log
from eth.rlp.receipts import Receipt
from eth.vm.forks.berlin.transactions import AccessListTransaction
from eth.vm.forks.london.transactions import DynamicFeeTransaction
from eth.vm.forks.prague.receipts import PragueTypedReceipt
from eth.vm.forks.prague.transactions import (
    Authorization,
    PragueLegacyTransaction,
    SetCodeTransaction,
)
from hypothesis import example, given
from hypothesis import strategies as st

from pyevm_agents.vm.headers import CancunHeader, PragueHeader
from pyevm_agents.vm.rlp_codec import build_record, decode_record, encode_record, encode_typed

RECORDS: tuple[Any, ...] = (
    *(CancunHeader, PragueHeader, Receipt, Log, PragueLegacyTransaction, AccessListTransaction),
    *(DynamicFeeTransaction, SetCodeTransaction),
)
NUMBERS = st.one_of(
    st.sampled_from([0, 1, 127, 128, 255, 256, 2**64, 2**256 - 1, 2**256, 2**2048 - 1, 2**2048]),
    st.integers(-1, 2**300),
)
SIZES = st.sampled_from([0, 1, 8, 19, 20, 31, 32, 33, 55, 56, 256, 70_000])
STRINGS = st.builds(lambda size, byte: bytes([byte]) * size, SIZES, st.integers(0, 255))
SLOTS = st.lists(st.integers(0, 2**256 - 1), max_size=3).map(tuple)
LISTS = st.one_of(
    st.just(()),
    st.lists(st.tuples(st.binary(min_size=20, max_size=20), SLOTS), max_size=3).map(tuple),
    st.lists(
        st.builds(Log, st.binary(min_size=20, max_size=20), SLOTS, st.binary(max_size=64)),
        max_size=3,
    ).map(tuple),
    st.lists(
        st.builds(Authorization, *[NUMBERS, st.binary(min_size=20, max_size=20), *[NUMBERS] * 4]),
        max_size=2,
    ).map(tuple),
    SLOTS,
)
OTHERS = st.sampled_from([True, None, bytearray(20)])
VALUES = st.one_of(NUMBERS, STRINGS, LISTS, OTHERS)


def _draw_fitting(data: st.DataObject, kind: object) -> object:
    """Return a value that a field of a kind mostly accepts."""
    if isinstance(kind, rlp.sedes.BigEndianInt):
        return data.draw(st.integers(0, 2**256 - 1))
    if isinstance(kind, rlp.sedes.Binary):
        least, most = kind.min_length, min(kind.max_length, 100)
        return data.draw(st.binary(min_size=least, max_size=int(most)))
    return data.draw(LISTS)


@given(data=st.data(), record_class=st.sampled_from(RECORDS), others=st.integers(0, 2))
def test_the_encoding_is_that_of_rlp(data: st.DataObject, record_class: Any, others: int) -> None:  # noqa: ANN401
    """`others` fields have values of any type."""
    kinds = [kind for _, kind in record_class._meta.fields]  # noqa: SLF001 - rlp's
    values = [_draw_fitting(data, kind) for kind in kinds]
    for _ in range(others):
        values[data.draw(st.integers(0, len(values) - 1))] = data.draw(VALUES)
    record, same = build_record(record_class, *values), build_record(record_class, *values)
    try:
        expected = rlp.encode(same)
    except (rlp.exceptions.RLPException, TypeError, AttributeError) as error:
        with pytest.raises(type(error)):
            encode_record(record)
        return
    assert encode_record(record) == expected
    assert encode_record(record) == expected  # The record has kept it.


def test_a_typed_receipt_begins_with_its_type() -> None:
    inner = Receipt(b"\x01", 21_000, [Log(b"\x11" * 20, (5,), b"x")])
    typed = PragueTypedReceipt(2, inner)
    assert encode_typed(typed) == typed.encode()
    assert encode_typed(inner) == inner.encode()


NORMAL = DynamicFeeTransaction(1, 5, 2, 3, 21_000, b"\x22" * 20, 7, b"data", (), 1, 8, 9)
WITH_LIST = DynamicFeeTransaction(1, 5, 2, 3, 21_000, b"", 7, b"", ((b"\x22" * 20, (1,)),), 1, 8, 9)


@given(
    at=st.integers(0, 80),
    byte=st.integers(0, 255),
    cut=st.integers(0, 3),
    record=st.sampled_from([NORMAL, WITH_LIST]),
)
@example(at=0, byte=0xC0, cut=0, record=NORMAL)
@example(at=0, byte=0xFF, cut=0, record=NORMAL)
@example(at=1, byte=0, cut=0, record=NORMAL)
def test_what_is_decoded_is_what_rlp_decodes(at: int, byte: int, cut: int, record: Any) -> None:  # noqa: ANN401
    """One byte is another, and the last ones are missing."""
    encoded = bytearray(rlp.encode(record))
    encoded[at % len(encoded)] = byte
    payload = bytes(encoded[: len(encoded) - cut])
    decoded = decode_record(DynamicFeeTransaction, payload)
    if decoded is not None:
        assert decoded == rlp.decode(payload, sedes=DynamicFeeTransaction)
        assert [*map(type, decoded)] == [*map(type, rlp.decode(payload, DynamicFeeTransaction))]


def test_the_usual_form_is_decoded_and_a_list_is_left_to_rlp() -> None:
    assert decode_record(DynamicFeeTransaction, rlp.encode(NORMAL)) == NORMAL
    assert decode_record(DynamicFeeTransaction, rlp.encode(WITH_LIST)) is None
    assert decode_record(DynamicFeeTransaction, b"") is None
