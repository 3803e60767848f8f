"""Random Solidity types with values, and a reference of their typed texts in Python."""

from __future__ import annotations

from typing import Any

from eth_abi.grammar import TupleType, parse
from eth_utils import to_checksum_address
from hypothesis import strategies as st

_ESCAPES = str.maketrans({"'": r"\'", "\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"})

integers = st.sampled_from(range(8, 257, 8))
elementary = st.one_of(
    st.builds("uint{}".format, integers),
    st.builds("int{}".format, integers),
    st.builds("bytes{}".format, st.integers(1, 32)),
    st.sampled_from(("bool", "address", "bytes", "string")),
)
abi_types = st.recursive(
    elementary,
    lambda inner: st.one_of(
        st.builds("{}[]".format, inner),
        st.builds("{}[{}]".format, inner, st.integers(1, 3)),
        st.builds("({})".format, st.lists(inner, min_size=1, max_size=4).map(",".join)),
    ),
    max_leaves=6,
)
texts = st.text(
    st.one_of(
        st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), st.sampled_from("'\\\n\r\t,)]")
    ),
    max_size=12,
)


def values(abi_type: str) -> st.SearchStrategy[Any]:
    """Return values of a type, as eth_abi encodes them."""
    return _values(parse(abi_type))


def _values(kind: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - a parsed type
    if kind.is_array:
        size = kind.arrlist[-1]
        least, most = (size[0], size[0]) if size else (0, 3)
        return st.lists(_values(kind.item_type), min_size=least, max_size=most).map(tuple)
    if isinstance(kind, TupleType):
        return st.tuples(*map(_values, kind.components))
    if kind.base in {"uint", "int"}:
        span = 2**kind.sub
        least, most = (0, span - 1) if kind.base == "uint" else (-span // 2, span // 2 - 1)
        return st.one_of(st.integers(least, most), st.sampled_from((least, most)))
    if kind.base == "bytes":
        return st.binary(max_size=40) if kind.sub is None else _binary(kind.sub)
    if kind.base == "address":
        return _binary(20).map(to_checksum_address)
    return st.booleans() if kind.base == "bool" else texts


def _binary(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


def format_text(abi_type: str, value: Any) -> str:  # noqa: ANN401 - any ABI value
    """Return the typed text of a value."""
    return _format(parse(abi_type), value)


def _format(kind: Any, value: Any) -> str:  # noqa: ANN401 - any ABI value
    if kind.is_array:
        return f"[{', '.join(_format(kind.item_type, item) for item in value)}]"
    if isinstance(kind, TupleType):
        pairs = zip(kind.components, value, strict=True)
        return f"({', '.join(_format(part, member) for part, member in pairs)})"
    if kind.base == "string":
        return f"'{value.translate(_ESCAPES)}'"
    if kind.base == "bytes":
        return str(value.hex())
    if kind.base == "bool":
        return str(value).lower()
    return str(value)


def has_text(abi_type: str, value: Any) -> bool:  # noqa: ANN401 - any ABI value
    """Return whether a value has a text of its own: a list of one empty `bytes` has none."""
    return _has_text(parse(abi_type), value)


def _has_text(kind: Any, value: Any) -> bool:  # noqa: ANN401 - any ABI value
    if kind.is_array:
        is_open = not kind.arrlist[-1]
        is_one_nothing = is_open and len(value) == 1 and _format(kind.item_type, value[0]) == ""
        return not is_one_nothing and all(_has_text(kind.item_type, item) for item in value)
    if isinstance(kind, TupleType):
        pairs = zip(kind.components, value, strict=True)
        return all(_has_text(part, member) for part, member in pairs)
    return True
