"""The feature map by which a text enters a numeric model: hashes of the first words.

The twin in Solidity is `contracts/libraries/TextFeatures.sol`; both compute the same integers.
"""

from __future__ import annotations

import re

from eth_utils import keccak

WORDS = 48
"""Values of a text: a post of 280 characters has about 45 words."""

BUCKETS = 4096
"""Values that a word is hashed to, in models that don't state another number."""

MAX_WORD_BYTES = 32
"""Bytes of a word that count: one word of the EVM."""

PADDING = 0
"""Value after the last word."""

_WORD = re.compile(rb"[0-9A-Za-z'$%#]+")


def text_to_words(text: str) -> list[str]:
    """Split a text into lower-case words.

    A word is a maximal run of ASCII letters, digits, `'`, `$`, `%` and `#`, cut after
    `MAX_WORD_BYTES`. All other bytes of the UTF-8 text separate words.
    """
    found = _WORD.findall(text.encode("utf-8", "surrogatepass"))
    return [word[:MAX_WORD_BYTES].lower().decode("ascii") for word in found]


def text_features(text: str, words: int = WORDS, buckets: int = BUCKETS) -> list[int]:
    """Compute the values of a text: `keccak256(word) % buckets + 1` of each of the first words.

    Output: `words` integers from 0 to `buckets`; zeros follow the last word.

    Raises:
        ValueError: `words` or `buckets` is not positive.
    """
    for name, value in (("words", words), ("buckets", buckets)):
        if value < 1:
            raise ValueError(f"{name} {value}: must be at least 1")
    hashes = [keccak(text=word) for word in text_to_words(text)[:words]]
    values = [int.from_bytes(value, "big") % buckets + 1 for value in hashes]
    return values + [PADDING] * (words - len(values))
