"""Nodes of a Merkle Patricia trie as RLP.

A path is hexadecimal text, one digit per nibble: slices and comparisons of text are fast. A child
is the reference in the parent's encoding: 33 bytes with the child's hash, the child's encoding if
shorter than a hash, or `NOTHING`. A branch is thus decoded by slicing and encoded by joining.

No key is a prefix of another: a branch has no value. This holds for hashes and list indices.

Source: the Ethereum Yellow Paper, appendices B and D.
"""

from __future__ import annotations

from dataclasses import dataclass

NOTHING = b"\x80"
"""The encoding of the empty string: no child."""

HASH_PREFIX = b"\xa0"
"""First byte of the RLP of a string of 32 bytes."""

NO_VALUE = NOTHING
BRANCH_ITEMS = 17
MAX_SHORT_BYTES = 55
"""Upper bound of content whose length is in the first byte of its RLP."""

SHORT_STRING, LONG_STRING, SHORT_LIST, LONG_LIST = 0x80, 0xB7, 0xC0, 0xF7
"""Offsets of a length (or of the length of a length) in the first byte of RLP."""


@dataclass(slots=True, eq=False)
class Leaf:
    """The end of a path, with a value."""

    path: str
    value: bytes


@dataclass(slots=True, eq=False)
class Extension:
    """A path that all nodes below share."""

    path: str
    child: Child


@dataclass(slots=True, eq=False)
class Branch:
    """A child for each nibble."""

    children: list[Child]


TrieNode = Leaf | Extension | Branch
Child = bytes | Leaf | Extension | Branch
"""A child's encoded reference, or the node itself if it is not encoded yet."""


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
    """Return the RLP of a list, given the joined encodings of the items."""
    length = len(payload)
    if length <= MAX_SHORT_BYTES:
        return bytes((SHORT_LIST + length,)) + payload
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((LONG_LIST + len(size),)) + size + payload


def locate_content(encoded: bytes, start: int) -> tuple[int, int]:
    """Return the start and end of the content of the RLP item at `start`."""
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
    """Return the encodings of the items of an RLP list."""
    at, end = locate_content(encoded, 0)
    items = []
    while at < end:
        _, after = locate_content(encoded, at)
        items.append(encoded[at:after])
        at = after
    return items


def decode_node(encoded: bytes) -> TrieNode:
    """Decode a node from RLP."""
    parts = split_list(encoded)
    if len(parts) == BRANCH_ITEMS:
        return Branch([*parts[:-1]])
    path, is_leaf = _decode_hex_prefix(parts[0])
    if not is_leaf:
        return Extension(path, parts[1])
    begin, end = locate_content(parts[1], 0)
    return Leaf(path, parts[1][begin:end])


def encode_node(node: TrieNode) -> bytes:
    """Encode a node whose children are encoded."""
    if isinstance(node, Branch):
        return encode_list(b"".join(node.children) + NO_VALUE)  # type: ignore[arg-type]
    if isinstance(node, Leaf):
        return encode_list(_encode_hex_prefix(node.path, flag=2) + encode_string(node.value))
    return encode_list(_encode_hex_prefix(node.path, flag=0) + node.child)  # type: ignore[operator]


def _encode_hex_prefix(path: str, *, flag: int) -> bytes:
    """Return the hex-prefix encoding of a path; the first nibble has node type and parity."""
    if len(path) % 2:
        return encode_string(bytes.fromhex(f"{flag + 1}{path}"))
    return encode_string(bytes.fromhex(f"{flag}0{path}"))


def _decode_hex_prefix(item: bytes) -> tuple[str, bool]:
    """Decode a hex-prefix path; return the path, and whether a leaf has it."""
    begin, end = locate_content(item, 0)
    text = item[begin:end].hex()
    return (text[1:] if text[0] in "13" else text[2:]), text[0] in "23"
