"""A vocabulary of any size that tokenises text: a model's own, extended by pairs of tokens.

The default model's byte-level BPE has 49,152 tokens; models of the Qwen2 family have 151,936. That
vocabulary is not at hand, but the size matters: each token adds a row to the output matrix and a
bit to the grammar's mask. The added tokens are random pairs of tokens, each with a merge after all
the real merges. The vocabulary still tokenises every text, into nearly the same tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.gguf.header import read_arrays, read_header

if TYPE_CHECKING:
    from pathlib import Path

NORMAL = 1
"""Type of a token that is a piece of text. Source: llama.h, `llama_token_type`."""

MAX_PAIR_CHARACTERS = 12
"""Longest added token, about a long word: two long tokens are not joined."""

DRAWN_AT_ONCE = 65_536

SEED = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticVocabulary:
    """The vocabulary fields of a GGUF file with a byte-level BPE."""

    splitting: str
    """The pre-tokeniser: `tokenizer.ggml.pre`."""

    tokens: list[str]
    kinds: list[int]
    merges: list[str]
    beginning: int
    end: int


def build_synthetic_vocabulary(path: Path, size: int) -> SyntheticVocabulary:
    """Return the vocabulary of a model's file, extended to `size` tokens.

    Raises:
        ConfigError: the vocabulary is not a byte-level BPE, or is already larger.
    """
    front = read_header(path)
    if front.get_text("tokenizer.ggml.model") != "gpt2":
        raise ConfigError(
            f"vocabulary {front.get_text('tokenizer.ggml.model')!r} of {path}: must be byte-level "
            "BPE; name the default model's file"
        )
    keys = ("tokens", "token_type", "merges")
    arrays = read_arrays(path, [f"tokenizer.ggml.{key}" for key in keys])
    tokens, kinds, merges = (list(arrays[f"tokenizer.ggml.{key}"]) for key in keys)
    if len(tokens) > size:
        raise ConfigError(f"the vocabulary of {path} has {len(tokens)} tokens, more than {size}")
    words = [
        str(token)
        for token, kind in zip(tokens, kinds, strict=True)
        if kind == NORMAL and len(str(token)) < MAX_PAIR_CHARACTERS
    ]
    pairs = _draw_pairs(words, {str(token) for token in tokens}, size - len(tokens))
    ends = [front.entries[f"tokenizer.ggml.{name}_token_id"].value for name in ("bos", "eos")]
    return SyntheticVocabulary(
        splitting=front.get_text("tokenizer.ggml.pre"),
        tokens=[*map(str, tokens), *(first + second for first, second in pairs)],
        kinds=[*(int(kind) for kind in kinds), *[NORMAL] * len(pairs)],
        merges=[*map(str, merges), *(f"{first} {second}" for first, second in pairs)],
        beginning=int(ends[0] or 0),
        end=int(ends[1] or 0),
    )


def _draw_pairs(words: list[str], known: set[str], count: int) -> list[tuple[str, str]]:
    """Return random pairs of words whose joined text is new. Deterministic."""
    generator = np.random.default_rng(SEED)
    pairs: list[tuple[str, str]] = []
    while len(pairs) < count:
        drawn = generator.integers(0, len(words), (DRAWN_AT_ONCE, 2))
        for first, second in ((words[index], words[other]) for index, other in drawn):
            text = first + second
            if text not in known and len(text) <= MAX_PAIR_CHARACTERS and len(pairs) < count:
                known.add(text)
                pairs.append((first, second))
    return pairs
