"""JSON encoding and decoding of messages, within limits.

orjson does nearly everything: the parser stops at 1,024 levels, independently of Python's limit.
json's C code recurses up to `sys.setrecursionlimit`, which `vm` sets to 20,480: in a thread with
1 MiB of stack, nested brackets crash the process (CPython 3.11.7, 3.13.0). Therefore json parses
only messages that orjson has parsed and `Limits.depth` has allowed.

orjson lacks two things. It parses integers beyond 64 bits as floats, so json parses those; and
encodes neither such integers nor more than 254 levels (the trace of 1,024 calls has 2,048), so this
module encodes those.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import orjson

from pyevm_agents.rpc.errors import INVALID_REQUEST, PARSE_ERROR, RpcError

MAX_ANSWER_DEPTH = 20_000
"""Levels of a response; one with more contains itself."""

# An integer of 18 digits fits 64 bits, with any sign. Strings are matched to be skipped.
_MANY_DIGITS = re.compile(rb"[0-9]{19}")
_STRINGS_AND_INTEGERS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|([0-9]{19,}+)')


def decode(body: bytes, limits: Limits) -> object:
    """Decode a message.

    Raises:
        RpcError: not JSON, or above a limit.
    """
    if len(body) > limits.body_bytes:
        raise RpcError(
            INVALID_REQUEST,
            f"message too large: {len(body):,} bytes, at most {limits.body_bytes:,}",
        )
    brackets = body.count(b"[") + body.count(b"{")
    if brackets + body.count(b",") > limits.values:
        raise RpcError(
            INVALID_REQUEST,
            f"message too large: more than {limits.values:,} commas and brackets; split it",
        )
    try:
        message: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RpcError(PARSE_ERROR, f"invalid JSON: {error}") from error
    if brackets > limits.depth and _is_deeper(message, limits.depth):
        raise RpcError(
            INVALID_REQUEST,
            f"message too deep: more than {limits.depth} levels of lists and objects",
        )
    if _MANY_DIGITS.search(body) and _has_long_integer(body, limits.digits):
        message = json.loads(body)
    return message


def encode(value: object) -> bytes:
    """Encode a JSON-ready value.

    Raises:
        TypeError: a part is not JSON-ready. ValueError: the value contains itself.
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return b"".join(_encode_pieces(value))


def _is_deeper(message: object, depth: int) -> bool:
    """Return whether a message has more than `depth` levels of containers."""
    level = [message] if isinstance(message, dict | list) else []
    for _ in range(depth):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _has_long_integer(body: bytes, digits: int) -> bool:
    """Return whether digits outside strings may be an integer beyond 64 bits."""
    longest = max(
        (len(match[1]) for match in _STRINGS_AND_INTEGERS.finditer(body) if match[1]), default=0
    )
    if longest > digits:
        raise RpcError(
            INVALID_REQUEST,
            f"number too long: {longest:,} digits, at most {digits}",
        )
    return longest > 0


class _EncodedPart(bytes):
    """Encoded bytes, between values that are not encoded yet."""

    __slots__ = ()


def _encode_pieces(value: object) -> list[bytes]:
    """Encode a value piece by piece, without recursion."""
    pieces: list[bytes] = []
    # Values with their depth, the next one last.
    pending: list[tuple[object, int]] = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if isinstance(item, _EncodedPart):
            pieces.append(item)
        elif isinstance(item, int) and not isinstance(item, bool):
            pieces.append(b"%d" % item)
        elif isinstance(item, dict | list | tuple):
            if depth == MAX_ANSWER_DEPTH:
                raise ValueError(
                    f"the response has more than {MAX_ANSWER_DEPTH:,} levels of lists and objects: "
                    "it may contain itself"
                )
            inside = _split_object(item) if isinstance(item, dict) else _split_list(item)
            pending.extend((part, depth + 1) for part in reversed(inside))
        else:
            pieces.append(orjson.dumps(item))
    return pieces


def _split_object(value: dict[object, object]) -> list[object]:
    parts: list[object] = []
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeError(f"Dict key must be str, not {type(key).__name__}")
        parts += [_EncodedPart((b"," if parts else b"{") + orjson.dumps(key) + b":"), item]
    return [*parts, _EncodedPart(b"}" if parts else b"{}")]


def _split_list(value: list[object] | tuple[object, ...]) -> list[object]:
    parts: list[object] = []
    for item in value:
        parts += [_EncodedPart(b"," if parts else b"["), item]
    return [*parts, _EncodedPart(b"]" if parts else b"[]")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a message and of the response. A message over a limit is rejected with a reason.

    Parsing holds the GIL, so a message must not take long.
    """

    body_bytes: int = 16 * 2**20
    """A transaction with six blobs takes 1.6 MB as hex, a dumped state more."""

    values: int = 100_000
    """Commas and opening brackets: the parser's cost, at most 0.4 s a million, for empty lists. Hex
    data have neither."""

    depth: int = 64
    """Levels of lists and objects. The deepest parameter of a method has about ten."""

    digits: int = 100
    """Digits of an integer; 2**256 has 78."""

    batch: int = 1_000
    """Requests in a batch. Source: geth's `BatchRequestLimit`."""

    batch_answer_bytes: int = 32 * 2**20
    """Bytes of a batch's responses; the requests beyond are not executed."""
