"""Evaluated prefixes set aside: what a context knew of other prompts, within a bound of bytes.

An entry is some tokens and the bytes that bring their evaluation back. The least recently used one
goes first, and one that a newer one extends goes at once. Nothing here knows llama.cpp.
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
    """Evaluated tokens, and their state as an engine gave it."""

    tokens: Tokens
    state: State
    prompt_tokens: int
    """How many of them, from the start, it is held for: what follows is an output, which another
    one after the same prompt replaces."""

    @property
    def size_bytes(self) -> int:
        """Bytes that it takes of the bound."""
        return compute_entry_bytes(len(self.tokens), self.state.nbytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixMatch:
    """A prefix that helps with some tokens, and how many of them it knows."""

    prefix: CachedPrefix
    shared_tokens: int


class PrefixCache:
    """Prefixes, the least recently used one first. Not for several threads at once."""

    def __init__(self, max_bytes: int) -> None:
        """Hold at most `max_bytes` of states and tokens; 0 holds none."""
        self.max_bytes = max_bytes
        self.size_bytes = 0
        self._prefixes: list[CachedPrefix] = []

    def __len__(self) -> int:
        """Return how many prefixes are held."""
        return len(self._prefixes)

    def find_best(self, tokens: Tokens, *, is_whole: bool = False) -> PrefixMatch | None:
        """Return the prefix that knows most of `tokens` from their start; None if none knows any.

        Input:
            is_whole: only prefixes that `tokens` begin with as a whole, for an engine that can't
                drop the end of a state.
        """
        match: PrefixMatch | None = None
        for prefix in self._prefixes:
            shared = 0 if match is None else match.shared_tokens
            # Whoever knows more than the best one so far knows the next token as well.
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
        """Make a prefix the most recently used one, if it is still held."""
        held = [each for each in self._prefixes if each is not prefix]
        if len(held) < len(self._prefixes):
            self._prefixes = [*held, prefix]

    def make_room(self, tokens: Tokens, state_bytes: int) -> bool:
        """Drop the prefixes whose prompts `tokens` extend, then others until a state fits.

        To be asked before a state is copied, so that memory stays within the bound. The outputs
        after one prompt take the place of one: else they would evict other prompts, which the
        rules hold to be warm, at the price of a few tokens each.

        Output:
            False, and none is dropped, if none of this size ever fits.
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
        """Hold a prefix, in place of those that it extends; False if it is larger than the bound.

        One that is the beginning of a prefix already held adds nothing: that one counts as used.

        Input:
            prompt_tokens: what it is held for; None for all of it.
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
        """Hold a prefix no longer."""
        held = [each for each in self._prefixes if each is not prefix]
        if len(held) < len(self._prefixes):
            self._prefixes = held
            self.size_bytes -= prefix.size_bytes

    def clear(self) -> None:
        """Hold nothing."""
        self._prefixes = []
        self.size_bytes = 0


def to_token_array(tokens: Sequence[int]) -> Tokens:
    """Return tokens in the form in which they are compared: 4 bytes each."""
    return np.array(tokens, dtype=np.int32)


def compute_entry_bytes(tokens: int, state_bytes: int) -> int:
    """Return how much of the bound so many tokens with so large a state take."""
    return state_bytes + tokens * np.dtype(np.int32).itemsize


def count_shared_tokens(first: Tokens, second: Tokens) -> int:
    """Return the length of the longest common prefix."""
    length = min(len(first), len(second))
    differs = first[:length] != second[:length]
    position = int(differs.argmax()) if length else 0
    return position if length and differs[position] else length
