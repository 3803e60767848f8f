"""The prefix cache, compared with a simple model of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pyevm_agents.models.llama.prefix_cache import (
    PrefixCache,
    compute_entry_bytes,
    count_shared_tokens,
    to_token_array,
)

TOKENS = st.lists(st.integers(0, 2), max_size=8)
BOUND = 100
"""Limit in bytes. A token takes 4 bytes, its state as many as the test defines."""


def state(size_bytes: int, mark: int = 0) -> np.typing.NDArray[np.uint8]:
    return np.full(size_bytes, mark, dtype=np.uint8)


def common(first: list[int], second: list[int]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count


@given(TOKENS, TOKENS)
def test_the_longest_common_prefix(first: list[int], second: list[int]) -> None:
    assert count_shared_tokens(to_token_array(first), to_token_array(second)) == common(
        first, second
    )


class PrefixCacheMachine(RuleBasedStateMachine):
    """Compares with a list of tokens and sizes, the least recently used first."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = PrefixCache(BOUND)
        self.held: list[tuple[list[int], int]] = []

    def size(self) -> int:
        return sum(compute_entry_bytes(len(tokens), size) for tokens, size in self.held)

    @rule(tokens=TOKENS, size_bytes=st.integers(0, 120))
    def put(self, tokens: list[int], size_bytes: int) -> None:
        covering = [entry for entry in self.held if entry[0][: len(tokens)] == tokens]
        needed = compute_entry_bytes(len(tokens), size_bytes)
        is_held = self.cache.put(to_token_array(tokens), state(size_bytes))
        assert is_held == (bool(covering) or needed <= BOUND)
        if covering:
            self.held.remove(covering[0])
            self.held.append(covering[0])
        elif is_held:
            self.held = [each for each in self.held if tokens[: len(each[0])] != each[0]]
            while self.size() + needed > BOUND:
                self.held.pop(0)
            self.held.append((tokens, size_bytes))

    @rule(tokens=TOKENS, is_whole=st.booleans())
    def use_the_best(self, tokens: list[int], is_whole: bool) -> None:
        counts = [common(tokens, held) for held, _ in self.held]
        usable = [
            count
            for count, (held, _) in zip(counts, self.held, strict=True)
            if count == len(held) or not is_whole
        ]
        match = self.cache.find_best(to_token_array(tokens), is_whole=is_whole)
        if match is None:
            assert max(usable, default=0) == 0
            return
        assert match.shared_tokens == max(usable)
        found = match.prefix.tokens.tolist()
        assert found[: match.shared_tokens] == tokens[: match.shared_tokens]
        assert not is_whole or len(found) == match.shared_tokens
        self.cache.touch(match.prefix)
        [entry] = [each for each in self.held if each[0] == found]
        self.held.remove(entry)
        self.held.append(entry)

    @rule(tokens=TOKENS)
    def drop(self, tokens: list[int]) -> None:
        match = self.cache.find_best(to_token_array(tokens))
        if match is not None:
            self.cache.drop(match.prefix)
            self.cache.drop(match.prefix)
            self.cache.touch(match.prefix)
            self.held = [each for each in self.held if each[0] != match.prefix.tokens.tolist()]

    @rule(tokens=TOKENS, size_bytes=st.integers(0, 120))
    def make_room(self, tokens: list[int], size_bytes: int) -> None:
        needed = compute_entry_bytes(len(tokens), size_bytes)
        assert self.cache.make_room(to_token_array(tokens), size_bytes) == (needed <= BOUND)
        if needed <= BOUND:
            self.held = [each for each in self.held if tokens[: len(each[0])] != each[0]]
        while needed <= BOUND < self.size() + needed:
            self.held.pop(0)

    @rule()
    def clear(self) -> None:
        self.cache.clear()
        self.held = []

    @invariant()
    def holds_the_same_within_the_bound(self) -> None:
        assert len(self.cache) == len(self.held)
        assert self.cache.size_bytes == self.size() <= BOUND

    @invariant()
    def none_is_the_beginning_of_another(self) -> None:
        for tokens, _ in self.held:
            assert [each for each, _ in self.held if each[: len(tokens)] == tokens] == [tokens]


TestPrefixCache = PrefixCacheMachine.TestCase


@pytest.mark.parametrize(("size_bytes", "is_held"), [(88, True), (89, False)])
def test_the_bound_is_reached_and_not_passed(size_bytes: int, is_held: bool) -> None:
    cache = PrefixCache(BOUND)
    assert cache.put(to_token_array([1, 2, 3]), state(size_bytes)) == is_held
    assert cache.size_bytes == (100 if is_held else 0)


def test_what_does_not_fit_drops_nothing() -> None:
    cache = PrefixCache(BOUND)
    cache.put(to_token_array([1]), state(50))
    assert not cache.put(to_token_array([1, 2]), state(93))
    assert not cache.make_room(to_token_array([1, 2]), 93)
    assert len(cache) == 1


def test_what_is_extended_makes_room_before_what_is_used_least() -> None:
    cache = PrefixCache(BOUND)
    cache.put(to_token_array([1, 2]), state(40))
    cache.put(to_token_array([5]), state(36))
    assert cache.make_room(to_token_array([5, 6]), 44)
    assert cache.put(to_token_array([5, 6]), state(44))
    assert len(cache) == 2


def test_a_bound_of_nothing_holds_nothing() -> None:
    cache = PrefixCache(0)
    assert not cache.make_room(to_token_array([1]), 0)
    assert not cache.put(to_token_array([1]), state(0))
    assert cache.find_best(to_token_array([1])) is None


def test_the_state_that_comes_back_is_the_one_that_was_put() -> None:
    cache = PrefixCache(BOUND)
    cache.put(to_token_array([1, 2, 3]), state(10, mark=7))
    cache.put(to_token_array([1, 3, 3]), state(10, mark=8))
    match = cache.find_best(to_token_array([1, 3, 4]))
    assert match is not None
    assert (match.shared_tokens, match.prefix.state.tolist()) == (2, [8] * 10)


def test_outputs_after_one_prompt_take_the_place_of_one() -> None:
    cache = PrefixCache(BOUND)
    cache.put(to_token_array([7, 8, 9]), state(20))
    for said in range(9):
        cache.put(to_token_array([1, 2, said, said]), state(20), prompt_tokens=2)
        assert len(cache) == 2
    match = cache.find_best(to_token_array([7, 8, 9]))
    assert match is not None
    assert match.shared_tokens == 3


def test_a_longer_prompt_takes_the_place_of_the_one_that_it_extends_whatever_was_said() -> None:
    cache = PrefixCache(BOUND)
    cache.put(to_token_array([1, 2, 5]), state(20), prompt_tokens=2)
    cache.put(to_token_array([1, 2, 3, 4]), state(20), prompt_tokens=3)
    assert len(cache) == 1
    cache.put(to_token_array([1, 3]), state(20), prompt_tokens=2)
    assert len(cache) == 2
