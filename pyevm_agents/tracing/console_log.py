"""Output of `console.log` (Hardhat and forge, which use the same address).

A contract calls the console's address with the arguments as calldata. No code is there, so the
output is read from the calls of a computation, reverted ones included.

Source: signatures of Hardhat's and forge-std's `console.sol`; formatting as in Node.js'
`util.format`, which both use, and forge's `%e` and `%x`.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING

from eth_abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils import keccak, to_checksum_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eth.abc import ComputationAPI

    Piece = int | bool | str | bytes

CONSOLE_ADDRESS = bytes(9) + b"console.log"
"""0x000000000000000000636F6e736F6c652e6c6f67."""

MAX_PIECES = 4
KINDS = ("string", "bool", "address")
"""Argument types besides numbers, which older versions call `uint`, newer ones `uint256`."""

NUMBERS = ("uint256", "uint")

SPECIFIER = re.compile(r"%(?:(%)|([sdioOxX])|(\d*)e)")
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters that could manipulate a terminal. A contract's text is data."""


@functools.cache
def load_signatures() -> Mapping[bytes, tuple[str, ...]]:
    """Return the argument types of each `log` overload by selector."""
    known = [("bytes",), ("int256",), ("int",), ("string", "int256"), ("string", "int")]
    known += [(f"bytes{count}",) for count in range(1, 33)]
    for number in NUMBERS:
        for count in range(MAX_PIECES + 1):
            known += itertools.product((number, *KINDS), repeat=count)
    return {keccak(text=f"log({','.join(types)})")[:4]: types for types in known}


def iter_console_lines(computation: ComputationAPI) -> Iterator[str]:
    """Yield the lines that a transaction or a call printed, in order."""
    pending = [computation]
    while pending:
        call = pending.pop()
        if call.msg.code_address == CONSOLE_ADDRESS and not call.msg.is_create:
            line = decode_console_line(bytes(call.msg.data))
            if line is not None:
                yield line
        pending += reversed(call.children)


def decode_console_line(calldata: bytes) -> str | None:
    """Return the line that a call to the console prints; None if not a `log` overload."""
    types = load_signatures().get(calldata[:4])
    if types is None:
        return None
    # Strings are decoded as bytes, because they need not be valid UTF-8.
    abi_types = ["bytes" if kind == "string" else _canonicalize_type(kind) for kind in types]
    try:
        values = decode(abi_types, calldata[4:], strict=False)
    except (DecodingError, OverflowError):
        return None
    return _escape_unseen(
        _format_line([_convert_piece(*pair) for pair in zip(types, values, strict=True)])
    )


def _canonicalize_type(kind: str) -> str:
    return {"uint": "uint256", "int": "int256"}.get(kind, kind)


def _convert_piece(kind: str, value: Piece) -> Piece:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace") if kind == "string" else value
    return to_checksum_address(str(value)) if kind == "address" else value


def _format_line(pieces: list[Piece]) -> str:
    """Format values; a first text is the format string."""
    if not pieces or not isinstance(pieces[0], str):
        return " ".join(map(_format_text, pieces))
    rest = iter(pieces[1:])

    def fill_placeholder(match: re.Match[str]) -> str:
        percent, letter, digits = match.groups()
        if percent:
            return "%"
        try:
            piece = next(rest)
        except StopIteration:
            return match[0]
        if letter is None:
            return _format_exponential(piece, digits)
        return _format_number(piece, letter) if letter in "dixX" else _format_text(piece)

    line = SPECIFIER.sub(fill_placeholder, pieces[0]) if len(pieces) > 1 else pieces[0]
    return " ".join([line, *map(_format_text, rest)])


def _format_text(piece: Piece) -> str:
    if isinstance(piece, bool):
        return str(piece).lower()
    return "0x" + piece.hex() if isinstance(piece, bytes) else str(piece)


def _parse_number(piece: Piece) -> int | None:
    if isinstance(piece, int):
        return int(piece)
    if isinstance(piece, bytes):
        return int.from_bytes(piece, "big")
    is_address = re.fullmatch(r"0x[0-9a-fA-F]{40}", piece)
    return int(piece, 16) if is_address else None


def _format_number(piece: Piece, letter: str) -> str:
    number = _parse_number(piece)
    if number is None:
        return "NaN"
    return f"{number:#{letter}}".replace("0X", "0x") if letter in "xX" else str(number)


def _format_exponential(piece: Piece, digits: str) -> str:
    """Format a number with its own exponent, or with `digits` decimals."""
    number = _parse_number(piece)
    if number is None:
        return "NaN"
    sign, figures = ("-" if number < 0 else ""), str(abs(number))
    if digits:
        exponent = min(int(digits[:3]), 100)
        figures = figures.rjust(exponent + 1, "0")
        whole, part = figures[: len(figures) - exponent], figures[len(figures) - exponent :]
        suffix = ""
    else:
        whole, part, exponent = figures[0], figures[1:], len(figures) - 1
        suffix = f"e{exponent}"
    part = part.rstrip("0")
    return f"{sign}{whole}{'.' if part else ''}{part}{suffix}"


def _escape_unseen(line: str) -> str:
    return UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", line)
