"""RLP of headers, transactions and receipts: joined and cut, field by field.

rlp copies the fields of a record into nested lists, which it checks and encodes level by level.
Here each field of a class has a function that encodes its values. Whatever is not exactly of the
usual form is left to rlp, which accepts or refuses it.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import rlp
from rlp.sedes import BigEndianInt, Binary, CountableList

from pyevm_agents.state.account import encode_integer
from pyevm_agents.state.trie_nodes import encode_list, encode_string, locate_content, split_list

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import ReceiptAPI, SignedTransactionAPI

    Encode = Callable[[Any], bytes]


EMPTY_LIST = encode_list(b"")


class _OtherValueError(Exception):
    """A field has a value of another type or length."""


def encode_record(record: Any) -> bytes:  # noqa: ANN401 - an `rlp.Serializable`
    """Return the RLP of a record. The record keeps it, as if rlp had encoded it.

    Raises: rlp.SerializationError: a field has a value of another type or length.
    """
    encoded: bytes | None = record._cached_rlp  # noqa: SLF001 - rlp's
    if encoded is None:
        try:
            encoded = record._cached_rlp = _encode_fields(type(record), record)  # noqa: SLF001 - rlp's
        except _OtherValueError:
            encoded = rlp.encode(record)
    return encoded


def encode_typed(item: SignedTransactionAPI | ReceiptAPI) -> bytes:
    """Return a transaction or receipt as in a block's trie: RLP, after the type if any (EIP-2718).

    Raises: see `encode_record`.
    """
    inner, type_id = getattr(item, "_inner", None), getattr(item, "type_id", None)
    if inner is None or type_id is None:
        return encode_record(item)
    return bytes((type_id,)) + encode_record(inner)


def build_record(record_class: Any, *values: object) -> Any:  # noqa: ANN401 - see above
    """Return a record with these values of its fields, which are immutable."""
    record = object.__new__(record_class)
    vars(record).update(zip(record_class._meta.field_attrs, values, strict=True))  # noqa: SLF001 - where rlp says what the fields are
    return record


def decode_record(record_class: Any, encoded: bytes) -> Any:  # noqa: ANN401 - see above
    """Return the record of a class with this RLP; None if rlp has to decode or refuse it.

    That is so if a field is a list that is not empty, or if the record's RLP is another one.
    """
    try:
        items = split_list(encoded)
        record = _decode_fields(record_class, items)
        if record is not None and _encode_fields(record_class, record) == encoded:
            record._cached_rlp = encoded  # noqa: SLF001 - rlp's
            return record
    except (IndexError, _OtherValueError):
        pass
    return None


def _decode_fields(record_class: Any, items: Sequence[bytes]) -> Any:  # noqa: ANN401 - see above
    """Return the record of a class with these encoded fields; None for another number of fields."""
    fields = _list_fields(record_class)
    if len(items) != len(fields):
        return None
    record = object.__new__(record_class)
    values = vars(record)
    for item, (name, encode) in zip(items, fields, strict=True):
        begin, end = locate_content(item, 0)
        if encode is _encode_integer:
            values[name] = int.from_bytes(item[begin:end], "big")
        else:
            values[name] = () if item == EMPTY_LIST else item[begin:end]
    return record


# -- fields -- #


def _encode_fields(record_class: Any, record: Any) -> bytes:  # noqa: ANN401 - see `encode_record`
    """Return the RLP of a record of a class, or of a tuple of its fields."""
    fields = _list_fields(record_class)
    if type(record) is record_class:
        values = vars(record)
        return encode_list(b"".join([encode(values[name]) for name, encode in fields]))
    if type(record) is not tuple or len(record) != len(fields):
        raise _OtherValueError
    pairs = zip(record, fields, strict=True)
    return encode_list(b"".join([encode(value) for value, (_, encode) in pairs]))


@cache
def _list_fields(record_class: Any) -> tuple[tuple[str, Encode], ...]:  # noqa: ANN401 - see above
    """Return the attribute and the encoder of each field of a class."""
    meta = record_class._meta  # noqa: SLF001 - where rlp says what the fields are
    encoders = (_build_encoder(kind) for _, kind in meta.fields)
    return tuple(zip(meta.field_attrs, encoders, strict=True))


def _build_encoder(kind: Any) -> Encode:  # noqa: ANN401 - rlp's kinds of fields have no common class
    """Return the encoder of a field of a kind."""
    if isinstance(kind, BigEndianInt):
        return _encode_integer if kind.length is None else _build_word_encoder(kind.length)
    if isinstance(kind, Binary):
        return _build_bytes_encoder(kind)
    if isinstance(kind, CountableList) and kind.max_length is None:
        return partial(_encode_sequence, _build_encoder(kind.element_sedes))
    if isinstance(kind, type) and issubclass(kind, rlp.Serializable):
        return partial(_encode_fields, kind)
    return _leave_to_rlp


def _encode_integer(value: Any) -> bytes:  # noqa: ANN401 - anything that a field can have
    if type(value) is not int or value < 0:
        raise _OtherValueError
    return encode_integer(value)


def _build_word_encoder(length: int) -> Encode:
    """Return the encoder of integers of a fixed number of bytes."""
    prefix = encode_string(bytes(length))[:-length]

    def encode(value: Any) -> bytes:  # noqa: ANN401 - see above
        if type(value) is not int or value < 0 or value >> 8 * length:
            raise _OtherValueError
        return prefix + value.to_bytes(length, "big")

    return encode


def _build_bytes_encoder(kind: Binary) -> Encode:
    """Return the encoder of strings of bytes whose length is within bounds, or may be 0."""
    least, most, may_be_empty = kind.min_length, kind.max_length, kind.allow_empty
    prefix = encode_string(bytes(least))[:-least] if least else b""

    def encode(value: Any) -> bytes:  # noqa: ANN401 - see above
        if type(value) is not bytes:
            raise _OtherValueError
        if len(value) == least > 1:
            return prefix + value
        if not least <= len(value) <= most and (value or not may_be_empty):
            raise _OtherValueError
        return encode_string(value)

    return encode


def _encode_sequence(encode: Encode, value: Any) -> bytes:  # noqa: ANN401 - see above
    if type(value) is not tuple:
        raise _OtherValueError
    return encode_list(b"".join([encode(each) for each in value]))


def _leave_to_rlp(_: object) -> bytes:
    raise _OtherValueError
