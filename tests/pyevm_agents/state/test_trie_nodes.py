"""Nodes are written and read as RLP has them."""

from __future__ import annotations

import rlp
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.state.trie_nodes import (
    HASH_PREFIX,
    NOTHING,
    Branch,
    Extension,
    Leaf,
    decode_node,
    encode_list,
    encode_node,
    encode_string,
    locate_content,
    split_list,
)

contents = st.binary(max_size=300) | st.binary(min_size=55, max_size=57)
paths = st.text("0123456789abcdef", max_size=64)


@given(contents)
def test_strings_are_rlp(content: bytes) -> None:
    encoded = encode_string(content)
    assert encoded == rlp.encode(content)
    begin, end = locate_content(encoded, 0)
    assert encoded[begin:end] == content


@given(st.lists(contents, max_size=20))
def test_lists_are_rlp(content: list[bytes]) -> None:
    parts = [encode_string(one) for one in content]
    encoded = encode_list(b"".join(parts))
    assert encoded == rlp.encode(content)
    assert split_list(encoded) == parts


@given(paths, contents)
def test_leaves_return(path: str, value: bytes) -> None:
    read = decode_node(encode_node(Leaf(path, value)))
    assert isinstance(read, Leaf)
    assert (read.path, read.value) == (path, value)


@given(paths, st.binary(min_size=32, max_size=32))
def test_extensions_return(path: str, node_hash: bytes) -> None:
    read = decode_node(encode_node(Extension(path, HASH_PREFIX + node_hash)))
    assert isinstance(read, Extension)
    assert (read.path, read.child) == (path, HASH_PREFIX + node_hash)


@given(
    st.lists(
        st.sampled_from([NOTHING, HASH_PREFIX + b"\x01" * 32, b"\xc2\x20\x05"]),
        min_size=16,
        max_size=16,
    )
)
def test_branches_return(children: list[bytes]) -> None:
    read = decode_node(encode_node(Branch([*children])))
    assert isinstance(read, Branch)
    assert read.children == children
