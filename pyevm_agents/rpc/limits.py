"""What one message may ask for."""

from __future__ import annotations

from dataclasses import dataclass


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
