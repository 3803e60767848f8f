"""Prefix cache: saved states of evaluated prompts, with a limit in bytes.

An entry consists of tokens and the bytes that restore their evaluation. The least recently used
entry is evicted first; an entry that a newer one extends is dropped. Independent of llama.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Tokens = NDArray[np.int32]
    State = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CachedPrefix:
    """Evaluated tokens, and their state as returned by an engine."""

    tokens: Tokens
    state: State
    prompt_tokens: int
    """Number of tokens, from the start, that are a prompt. The rest is output, which the output of
    another generation for the same prompt replaces."""

    @property
    def size_bytes(self) -> int:
        """Bytes that count towards the limit."""
        return compute_entry_bytes(len(self.tokens), self.state.nbytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixMatch:
    """A cached prefix, and the number of tokens shared with a given sequence."""

    prefix: CachedPrefix
    shared_tokens: int


class PrefixCache:
    """Cached prefixes, the least recently used first. Not thread-safe."""

    def __init__(self, max_bytes: int) -> None:
        """Create a cache of at most `max_bytes` of states and tokens; 0 disables it."""
        self.max_bytes = max_bytes
        self.size_bytes = 0
        self._prefixes: list[CachedPrefix] = []

    def __len__(self) -> int:
        """Return the number of prefixes."""
        return len(self._prefixes)

    def find_best(self, tokens: Tokens, *, is_whole: bool = False) -> PrefixMatch | None:
        """Return the prefix that shares most tokens from the start; None if no token is shared.

        Input:
            is_whole: return only prefixes that are shared completely, for an engine that can't
                truncate a state.
        """
        match: PrefixMatch | None = None
        for prefix in self._prefixes:
            shared = 0 if match is None else match.shared_tokens
            # A prefix that shares more than the best one so far shares the next token too.
            if (
                min(len(prefix.tokens), len(tokens)) <= shared
                or prefix.tokens[shared] != tokens[shared]
            ):
                continue
            count = count_shared_tokens(prefix.tokens, tokens)
            if count > shared and (count == len(prefix.tokens) or not is_whole):
                match = PrefixMatch(prefix=prefix, shared_tokens=count)
        return match

    def touch(self, prefix: CachedPrefix) -> None:
        """Mark a prefix as the most recently used, if still cached."""
        held = [each for each in self._prefixes if each is not prefix]
        if len(held) < len(self._prefixes):
            self._prefixes = [*held, prefix]

    def make_room(self, tokens: Tokens, state_bytes: int) -> bool:
        """Drop the prefixes whose prompts `tokens` extend, then evict others until a state fits.

        To be called before a state is copied: memory then stays within the limit. Of the outputs
        after
        one prompt, only one is cached: otherwise the outputs would evict other prompts, which are
        warm by the gas rules, at the price of a few tokens each.

        Output:
            False, without dropping any, if the state exceeds the limit.
        """
        needed = compute_entry_bytes(len(tokens), state_bytes)
        if needed > self.max_bytes:
            return False
        for prefix in list(self._prefixes):
            if count_shared_tokens(prefix.tokens, tokens) >= prefix.prompt_tokens:
                self.drop(prefix)
        while self.size_bytes + needed > self.max_bytes:
            self.drop(self._prefixes[0])
        return True

    def put(self, tokens: Tokens, state: State, *, prompt_tokens: int | None = None) -> bool:
        """Cache a prefix in place of those that the prefix extends; return False above the limit.

        A prefix of an entry that is already cached only marks that entry as used.

        Input:
            prompt_tokens: number of tokens that are a prompt; None for all.
        """
        for prefix in self._prefixes:
            if count_shared_tokens(prefix.tokens, tokens) == len(tokens):
                self.touch(prefix)
                return True
        if not self.make_room(tokens, state.nbytes):
            return False
        held_for = len(tokens) if prompt_tokens is None else min(prompt_tokens, len(tokens))
        added = CachedPrefix(tokens=tokens, state=state, prompt_tokens=held_for)
        self._prefixes.append(added)
        self.size_bytes += added.size_bytes
        return True

    def drop(self, prefix: CachedPrefix) -> None:
        """Remove a prefix."""
        held = [each for each in self._prefixes if each is not prefix]
        if len(held) < len(self._prefixes):
            self._prefixes = held
            self.size_bytes -= prefix.size_bytes

    def clear(self) -> None:
        """Remove all prefixes."""
        self._prefixes = []
        self.size_bytes = 0


def to_token_array(tokens: Sequence[int]) -> Tokens:
    """Return tokens as an array of 4 bytes each, for comparisons."""
    return np.array(tokens, dtype=np.int32)


def compute_entry_bytes(tokens: int, state_bytes: int) -> int:
    """Return the size of an entry in bytes."""
    return state_bytes + tokens * np.dtype(np.int32).itemsize


def count_shared_tokens(first: Tokens, second: Tokens) -> int:
    """Return the length of the longest common prefix."""
    length = min(len(first), len(second))
    differs = first[:length] != second[:length]
    position = int(differs.argmax()) if length else 0
    return position if length and differs[position] else length
