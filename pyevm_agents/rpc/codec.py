"""JSON encoding and decoding of messages, within limits.

orjson does nearly all of it: its reader stops at 1,024 levels, whatever Python's own limit is.
json's C code recurses as deep as `sys.setrecursionlimit` says, and py-evm says 12,288: in a thread
with 1 MiB of stack, brackets alone end the process (CPython 3.11.7, 3.13.0). So json sees nothing
that orjson has not read and `Limits.depth` has not allowed.

Two things orjson does not do. It reads integers beyond 64 bits as floats, so these are read by
json; and it writes neither them nor more than 254 levels (the trace of 1,024 calls has 2,048), so
these are written here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import orjson

from pyevm_agents.rpc.errors import INVALID_REQUEST, PARSE_ERROR, RpcError

MAX_ANSWER_DEPTH = 20_000
"""Levels of an answer; one with more contains itself."""

# An integer of 18 digits fits 64 bits, with any sign. Strings are matched to be skipped.
_MANY_DIGITS = re.compile(rb"[0-9]{19}")
_STRINGS_AND_INTEGERS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|([0-9]{19,}+)')


def decode(body: bytes, limits: Limits) -> object:
    """Read a message.

    Raises:
        RpcError: it is no JSON, or over a limit.
    """
    if len(body) > limits.body_bytes:
        raise RpcError(
            INVALID_REQUEST,
            f"the message has {len(body):,} bytes; at most {limits.body_bytes:,} are taken",
        )
    brackets = body.count(b"[") + body.count(b"{")
    if brackets + body.count(b",") > limits.values:
        raise RpcError(
            INVALID_REQUEST,
            f"the message has more than {limits.values:,} commas and brackets: send it in parts",
        )
    try:
        message: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise RpcError(PARSE_ERROR, f"the message is no JSON: {error}") from error
    if brackets > limits.depth and _is_deeper(message, limits.depth):
        raise RpcError(
            INVALID_REQUEST,
            f"the message is nested deeper than {limits.depth} levels of lists and objects",
        )
    if _MANY_DIGITS.search(body) and _has_long_integer(body, limits.digits):
        message = json.loads(body)
    return message


def encode(value: object) -> bytes:
    """Write a JSON-ready value.

    Raises:
        TypeError: something in it is no JSON. ValueError: it contains itself.
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return b"".join(_encode_pieces(value))


def _is_deeper(message: object, depth: int) -> bool:
    """Say whether a message has more than `depth` levels of containers."""
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
    """Say whether digits outside strings may be an integer beyond 64 bits."""
    longest = max(
        (len(match[1]) for match in _STRINGS_AND_INTEGERS.finditer(body) if match[1]), default=0
    )
    if longest > digits:
        raise RpcError(
            INVALID_REQUEST,
            f"a number in the message has {longest:,} digits; at most {digits} are taken",
        )
    return longest > 0


class _EncodedPart(bytes):
    """Bytes of the answer itself, between values that are still to be written."""

    __slots__ = ()


def _encode_pieces(value: object) -> list[bytes]:
    """Write a value piece by piece, without recursion."""
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
                    f"an answer has more than {MAX_ANSWER_DEPTH:,} levels of lists and objects: "
                    "does it contain itself?"
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
    """Bounds on a message and on its answer; one that is over them is refused with a reason.

    No message may hold the interpreter for long: parsing keeps every other thread waiting.
    """

    body_bytes: int = 16 * 2**20
    """A transaction with six blobs takes 1.6 MB as hex, a dumped state more."""

    values: int = 100_000
    """Commas and opening brackets: they cost the parser most, 0.4 s a million where all are empty
    lists. Hex data has none."""

    depth: int = 64
    """Levels of lists and objects. The deepest that a method takes has about ten."""

    digits: int = 100
    """Digits of an integer; 2**256 has 78."""

    batch: int = 1_000
    """Requests in a batch. Source: geth's `BatchRequestLimit`."""

    batch_answer_bytes: int = 32 * 2**20
    """Bytes of a batch's answers; the requests after that are not executed."""
