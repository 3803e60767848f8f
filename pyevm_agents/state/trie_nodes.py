"""Nodes of a Merkle Patricia trie as RLP.

A path is text of hexadecimal digits, a nibble each: cutting and comparing text is quick. A child is
what stands for it in its parent's encoding: 33 bytes with its hash, its own encoding where that is
shorter than a hash, or `NOTHING`; so a branch is read by cutting, and written by joining.

No key may begin with another one, so a branch has no value: true of hashes, and of list indices.

Source: the Ethereum Yellow Paper, appendices B and D.
"""

from __future__ import annotations

from dataclasses import dataclass

NOTHING = b"\x80"
"""The encoding of the empty string: no child."""

HASH_BYTES = 32
HASH_PREFIX = b"\xa0"
"""Begins the encoding of a string of 32 bytes."""

NO_VALUE = NOTHING
BRANCH_ITEMS = 17
MAX_SHORT_BYTES = 55
"""The longest content whose length is in the first byte of its encoding."""

SHORT_STRING, LONG_STRING, SHORT_LIST, LONG_LIST = 0x80, 0xB7, 0xC0, 0xF7
"""What is added to a length (or to the length of a length) in the first byte."""


@dataclass(slots=True, eq=False)
class Leaf:
    """The end of a path, with a value."""

    path: str
    value: bytes


@dataclass(slots=True, eq=False)
class Extension:
    """A path that all below share."""

    path: str
    child: Child


@dataclass(slots=True, eq=False)
class Branch:
    """A child for each nibble."""

    children: list[Child]


TrieNode = Leaf | Extension | Branch
Child = bytes | Leaf | Extension | Branch
"""A child as it is encoded, or, where it was made and not yet encoded, the node itself."""


def encode_string(content: bytes) -> bytes:
    """Return the RLP of a string."""
    length = len(content)
    if length == 1 and content[0] < SHORT_STRING:
        return content
    if length <= MAX_SHORT_BYTES:
        return bytes((SHORT_STRING + length,)) + content
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((LONG_STRING + len(size),)) + size + content


def encode_list(payload: bytes) -> bytes:
    """Return the RLP of a list whose items' encodings are joined in `payload`."""
    length = len(payload)
    if length <= MAX_SHORT_BYTES:
        return bytes((SHORT_LIST + length,)) + payload
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((LONG_LIST + len(size),)) + size + payload


def locate_content(encoded: bytes, start: int) -> tuple[int, int]:
    """Return where the content of the item at `start` begins, and where it ends."""
    first = encoded[start]
    if first < SHORT_STRING:
        return start, start + 1
    if first <= LONG_STRING:
        return start + 1, start + 1 + first - SHORT_STRING
    if first < SHORT_LIST:
        begin = start + 1 + first - LONG_STRING
    elif first <= LONG_LIST:
        return start + 1, start + 1 + first - SHORT_LIST
    else:
        begin = start + 1 + first - LONG_LIST
    return begin, begin + int.from_bytes(encoded[start + 1 : begin], "big")


def split_list(encoded: bytes) -> list[bytes]:
    """Return the encodings of a list's items."""
    at, end = locate_content(encoded, 0)
    items = []
    while at < end:
        _, after = locate_content(encoded, at)
        items.append(encoded[at:after])
        at = after
    return items


def decode_node(encoded: bytes) -> TrieNode:
    """Return the node that RLP holds."""
    parts = split_list(encoded)
    if len(parts) == BRANCH_ITEMS:
        return Branch([*parts[:-1]])
    path, is_leaf = _decode_hex_prefix(parts[0])
    if not is_leaf:
        return Extension(path, parts[1])
    begin, end = locate_content(parts[1], 0)
    return Leaf(path, parts[1][begin:end])


def encode_node(node: TrieNode) -> bytes:
    """Return a node as RLP; its children are encoded already."""
    if isinstance(node, Branch):
        return encode_list(b"".join(node.children) + NO_VALUE)  # type: ignore[arg-type]
    if isinstance(node, Leaf):
        return encode_list(_encode_hex_prefix(node.path, flag=2) + encode_string(node.value))
    return encode_list(_encode_hex_prefix(node.path, flag=0) + node.child)  # type: ignore[operator]


def _encode_hex_prefix(path: str, *, flag: int) -> bytes:
    """Return a path as a string's RLP: its first nibble says what it is of and if it is odd."""
    if len(path) % 2:
        return encode_string(bytes.fromhex(f"{flag + 1}{path}"))
    return encode_string(bytes.fromhex(f"{flag}0{path}"))


def _decode_hex_prefix(item: bytes) -> tuple[str, bool]:
    """Return a path, and whether it is a leaf's."""
    begin, end = locate_content(item, 0)
    text = item[begin:end].hex()
    return (text[1:] if text[0] in "13" else text[2:]), text[0] in "23"
