"""How a generation lies in a row of the store: its key, its compact fields, and their checksum."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from precompiles.language_model import Generation, Margin

if TYPE_CHECKING:
    from collections.abc import Sequence

Fields: TypeAlias = "tuple[bytes, bytes, bytes, int, int, bytes | None, bytes]"
"""Prompt, tokens, text, forced tokens, whether it is complete, margin, checksum."""

TOKEN_BYTES = 4
CHECKSUM_BYTES = 16
MAX_UNPACKED_BYTES = 1 << 24
"""4 million tokens, or 16 MiB of grammar: more than any model's context. What unpacks to more is
damaged."""

COMPRESSION_LEVEL = 3
"""29 µs for a wallet agent's 739 tokens, where zlib's default takes 53 to save 7 % more."""


class DamagedRowError(ValueError):
    """A row that is not as it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything a generation is a function of. The limit is no part of it."""

    digest: bytes
    """SHA-256 of the model's file."""

    fingerprint: str
    """The engine's profile, see `ProfileFacts`."""

    prompt_tokens: tuple[int, ...]
    grammar: str

    def key(self) -> bytes:
        """Return the 32 bytes under which its generation is found."""
        parts = (self.fingerprint.encode(), pack_tokens(self.prompt_tokens), self.grammar.encode())
        digests = (hashlib.sha256(part).digest() for part in parts)
        return hashlib.sha256(hashlib.sha256(self.digest).digest() + b"".join(digests)).digest()


def encode(key: bytes, prompt_tokens: Sequence[int], generation: Generation) -> Fields:
    """Return the fields of a row.

    Raises:
        ValueError: a token is no 32-bit number.
    """
    margin = generation.margin
    fields = (
        compress(pack_tokens(prompt_tokens)),
        compress(pack_tokens(generation.tokens)),
        generation.text.encode("utf-8", "surrogatepass"),
        generation.forced_tokens,
        int(generation.is_complete),
        None
        if margin is None
        else json.dumps(
            [float(margin.gap), margin.token_index, margin.chosen, margin.other]
        ).encode(),
    )
    return (*fields, _checksum(key, *fields))


def decode(key: bytes, fields: Sequence[object]) -> Generation:
    """Return the generation of a row.

    Raises:
        DamagedRowError: the row is not as it was written.
    """
    match fields:
        case [
            bytes(prompt),
            bytes(tokens),
            bytes(text),
            int(forced_tokens),
            int(is_complete),
            (bytes() | None) as margin,
            bytes(checksum),
        ]:
            parts = (prompt, tokens, text, forced_tokens, is_complete, margin)
        case _:
            raise DamagedRowError("a field is of another type")
    if _checksum(key, *parts) != checksum:
        raise DamagedRowError("its checksum is another")
    return Generation(
        text=text.decode("utf-8", "surrogatepass"),
        tokens=unpack_tokens(decompress(tokens)),
        forced_tokens=forced_tokens,
        is_complete=bool(is_complete),
        margin=None if margin is None else _margin(margin),
    )


def pack_tokens(tokens: Sequence[int]) -> bytes:
    """Return tokens as 32-bit little-endian numbers.

    Raises:
        ValueError: a token is no such number.
    """
    try:
        return struct.pack(f"<{len(tokens)}I", *tokens)
    except struct.error as error:
        raise ValueError(f"a token is not a whole number from 0 to 2**32 - 1: {error}") from error


def unpack_tokens(packed: bytes) -> tuple[int, ...]:
    """Return the tokens of `pack_tokens`.

    Raises:
        DamagedRowError: the length is no multiple of a token's.
    """
    if len(packed) % TOKEN_BYTES:
        raise DamagedRowError(f"{len(packed)} bytes are no whole number of tokens")
    return struct.unpack(f"<{len(packed) // TOKEN_BYTES}I", packed)


def compress(data: bytes) -> bytes:
    """Return data in zlib's format."""
    return zlib.compress(data, COMPRESSION_LEVEL)


def decompress(data: bytes) -> bytes:
    """Return what `compress` was given.

    Raises:
        DamagedRowError: it is not zlib's format, ends early, goes on, or unpacks to too much.
    """
    unpacker = zlib.decompressobj()
    try:
        unpacked = unpacker.decompress(data, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise DamagedRowError(str(error)) from error
    if not unpacker.eof or unpacker.unused_data:
        raise DamagedRowError("its compressed bytes end too early or too late")
    return unpacked


def _margin(packed: bytes) -> Margin:
    match json.loads(packed):
        case [float(gap), int(token_index), str(chosen), str(other)]:
            return Margin(gap=gap, token_index=token_index, chosen=chosen, other=other)
    raise DamagedRowError(f"{packed!r} is no margin")


def _checksum(*parts: bytes | int | None) -> bytes:
    """Hash parts; each one's kind and length come before it, so no two sequences look alike."""
    hashed = hashlib.blake2b(digest_size=CHECKSUM_BYTES)
    for part in parts:
        if isinstance(part, int):
            hashed.update(b"i" + part.to_bytes(9, "little", signed=True))
        elif part is None:
            hashed.update(b"n")
        else:
            hashed.update(b"b" + len(part).to_bytes(8, "little"))
            hashed.update(part)
    return hashed.digest()
