"""Warm prompt tokens, against a naive model that keeps the live prefixes as lists of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from eth.vm.transient_storage import TransientStorage
from hypothesis import example, given, settings
from hypothesis import strategies as st

from precompiles.warm_prefixes import WarmPrompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import StateAPI
    from eth.typing import JournalDBCheckpoint
    from eth_typing import Address

DIGEST = b"\x01" * 32
OTHER_DIGEST = b"\x02" * 32
EXECUTOR = bytes(19) + b"\x19"


class State:
    """As much of a py-evm state as warm marks need, with snapshots."""

    def __init__(self) -> None:
        self.storage = TransientStorage()
        self.checkpoints = 0
        self.touched: set[bytes] = set()

    def get_transient_storage(self, address: Address, slot: int) -> bytes:
        return self.storage.get_transient_storage(address, slot)

    def set_transient_storage(self, address: Address, slot: int, value: bytes) -> None:
        self.touched.add(address)
        self.storage.set_transient_storage(address, slot, value)

    def snapshot(self) -> JournalDBCheckpoint:
        self.checkpoints += 1
        checkpoint = cast("JournalDBCheckpoint", self.checkpoints)
        self.storage.record(checkpoint)
        return checkpoint

    def warm_tokens(self, tokens: Sequence[int], digest: bytes = DIGEST) -> int:
        return WarmPrompt(cast("StateAPI", self), digest, tokens).warm_tokens

    def pay(self, tokens: Sequence[int], digest: bytes = DIGEST) -> int:
        """Pay for a prompt; return how many of its tokens were warm."""
        prompt = WarmPrompt(cast("StateAPI", self), digest, tokens)
        warm_tokens = prompt.warm_tokens
        prompt.mark_paid()
        return warm_tokens


class NaiveWarmth:
    """The rule in its simplest form: four live prefixes; the least recently used one is evicted."""

    def __init__(self) -> None:
        self.live: list[tuple[bytes, tuple[int, ...]]] = []

    def warm_tokens(self, tokens: Sequence[int], digest: bytes = DIGEST) -> int:
        longest = 0
        for live_digest, prefix in self.live:
            for size in range(32, len(prefix) + 1, 32):
                if live_digest == digest and prefix[:size] == tuple(tokens[:size]):
                    longest = max(longest, size)
        return longest

    def pay(self, tokens: Sequence[int], digest: bytes = DIGEST) -> int:
        warm_tokens = self.warm_tokens(tokens, digest)
        prompt = tuple(tokens[: len(tokens) // 32 * 32])
        if prompt:
            self.live = [
                (live_digest, prefix)
                for live_digest, prefix in self.live
                if live_digest != digest or prompt[: len(prefix)] != prefix
            ]
            self.live = [*self.live, (digest, prompt)][-4:]
        return warm_tokens


def prompt_of(letters: str, rest: int = 0) -> list[int]:
    """Return a block of 32 tokens for each letter, and `rest` tokens more."""
    return [ord(letter) for letter in letters for _ in range(32)] + [0] * rest


prompts = st.builds(
    prompt_of, st.text("AB", max_size=5) | st.text("ABCDEFG", max_size=2), st.integers(0, 31)
)
digests = st.sampled_from([DIGEST, DIGEST, DIGEST, OTHER_DIGEST])


class TestAgainstTheNaiveModel:
    """Random payments in random order."""

    @given(st.lists(st.tuples(prompts, digests), max_size=25))
    @settings(max_examples=300, deadline=None)
    @example([(prompt_of(letters), DIGEST) for letters in ["AB", "A", "AC", "AB", "D", "E", "A"]])
    @example([(prompt_of(letters), DIGEST) for letters in ["AB", "ABC", "AB", "D", "E", "ABC"]])
    def test_any_sequence_of_prompts(self, calls: list[tuple[list[int], bytes]]) -> None:
        state, naive = State(), NaiveWarmth()
        for tokens, digest in calls:
            assert state.pay(tokens, digest) == naive.pay(tokens, digest)

    @given(st.data())
    @settings(max_examples=100, deadline=None)
    def test_any_sequence_with_reverts(self, data: st.DataObject) -> None:
        state, naive = State(), NaiveWarmth()
        snapshots: list[tuple[JournalDBCheckpoint, list[tuple[bytes, tuple[int, ...]]]]] = []
        for _ in range(data.draw(st.integers(1, 25))):
            action = data.draw(st.sampled_from(["pay", "pay", "snapshot", "revert"]))
            if action == "pay":
                tokens, digest = data.draw(prompts), data.draw(digests)
                assert state.pay(tokens, digest) == naive.pay(tokens, digest)
            elif action == "snapshot":
                snapshots.append((state.snapshot(), naive.live))
            elif snapshots:
                checkpoint, naive.live = snapshots.pop()
                state.storage.discard(checkpoint)


class TestBlocks:
    """Only full blocks of 32 tokens count."""

    @pytest.mark.parametrize(
        ("paid", "asked", "warm"),
        [
            (0, 64, 0),
            (31, 31, 0),
            (31, 64, 0),
            (32, 31, 0),
            (32, 32, 32),
            (32, 33, 32),
            (33, 33, 32),
            (63, 64, 32),
            (64, 63, 32),
            (64, 64, 64),
            (64, 96, 64),
            (95, 96, 64),
            (1_000, 1_000, 992),
        ],
    )
    def test_lengths(self, paid: int, asked: int, warm: int) -> None:
        state = State()
        assert state.pay(range(paid)) == 0
        assert state.warm_tokens(range(asked)) == warm

    def test_nothing_is_warm_at_first(self) -> None:
        assert State().warm_tokens(prompt_of("ABC")) == 0

    def test_asking_warms_nothing(self) -> None:
        state = State()
        state.warm_tokens(prompt_of("A"))
        assert state.warm_tokens(prompt_of("A")) == 0

    @pytest.mark.parametrize("changed", [0, 31, 32, 63, 64, 95])
    def test_a_changed_token_chills_its_block_and_what_follows(self, changed: int) -> None:
        state = State()
        tokens = prompt_of("ABC")
        state.pay(tokens)
        tokens[changed] += 1
        assert state.warm_tokens(tokens) == changed // 32 * 32

    @pytest.mark.parametrize(
        ("letters", "warm"),
        [("AB", 64), ("A", 32), ("BA", 0), ("B", 0), ("AA", 32), ("CAB", 0), ("ACB", 32)],
    )
    def test_order_and_place_count(self, letters: str, warm: int) -> None:
        state = State()
        state.pay(prompt_of("AB"))
        assert state.warm_tokens(prompt_of(letters)) == warm

    def test_tokens_are_told_apart_over_their_whole_range(self) -> None:
        state = State()
        state.pay([2**32 - 1] * 32)
        assert state.warm_tokens([2**32 - 1] * 32) == 32
        assert state.warm_tokens([2**24 - 1] * 32) == 0


class TestModels:
    """Another model's tokens are other tokens."""

    def test_another_model_is_cold(self) -> None:
        state = State()
        state.pay(prompt_of("AB"))
        assert state.warm_tokens(prompt_of("AB"), OTHER_DIGEST) == 0

    def test_all_models_share_the_four_places(self) -> None:
        state = State()
        state.pay(prompt_of("A"))
        for letter in "BCDE":
            state.pay(prompt_of(letter), OTHER_DIGEST)
        assert state.warm_tokens(prompt_of("A")) == 0

    def test_another_model_replaces_no_prefix(self) -> None:
        state = State()
        state.pay(prompt_of("A"))
        state.pay(prompt_of("AB"), OTHER_DIGEST)
        assert state.warm_tokens(prompt_of("A")) == 32
        assert state.warm_tokens(prompt_of("AB"), OTHER_DIGEST) == 64


class TestLivePrefixes:
    """Four at once; the least recently used goes."""

    def test_four_live_and_the_fifth_evicts_the_first(self) -> None:
        state = State()
        for letter in "ABCD":
            state.pay(prompt_of(letter))
        assert [state.warm_tokens(prompt_of(letter)) for letter in "ABCD"] == [32] * 4
        state.pay(prompt_of("E"))
        assert [state.warm_tokens(prompt_of(letter)) for letter in "ABCDE"] == [0, *[32] * 4]

    def test_use_keeps_a_prefix_alive(self) -> None:
        state = State()
        for letter in "ABCDAE":
            state.pay(prompt_of(letter))
        assert [state.warm_tokens(prompt_of(letter)) for letter in "ABCDE"] == [32, 0, 32, 32, 32]

    def test_a_growing_run_takes_one_place(self) -> None:
        state = State()
        for letter in "XYZ":
            state.pay(prompt_of(letter))
        for length in range(1, 40):
            assert state.pay(prompt_of("A" * length)) == 32 * (length - 1)
        assert [state.warm_tokens(prompt_of(letter)) for letter in "XYZ"] == [32] * 3

    def test_a_prefix_without_a_full_block_takes_no_place(self) -> None:
        state = State()
        for letter in "ABCD":
            state.pay(prompt_of(letter))
        for token in range(20):
            state.pay([token] * 31)
        assert [state.warm_tokens(prompt_of(letter)) for letter in "ABCD"] == [32] * 4

    def test_a_shorter_prompt_leaves_the_longer_one_warm(self) -> None:
        state = State()
        state.pay(prompt_of("ABC"))
        state.pay(prompt_of("A"))
        assert state.warm_tokens(prompt_of("ABC")) == 96

    def test_a_shared_beginning_outlives_the_prefix_that_paid_for_it_first(self) -> None:
        state = State()
        for letters in ("AB", "AC", "D", "E", "F"):
            state.pay(prompt_of(letters))
        assert state.warm_tokens(prompt_of("AB")) == 32
        assert state.warm_tokens(prompt_of("AC")) == 64

    def test_a_nested_run_in_each_of_three_levels_keeps_all_of_them_warm(self) -> None:
        state = State()
        for length in range(1, 6):
            for agent in "ABCD":
                assert state.pay(prompt_of(agent * length)) == 32 * (length - 1)


def test_marks_lie_in_the_account_of_the_executor() -> None:
    state = State()
    state.pay(prompt_of("AB"))
    assert state.touched == {EXECUTOR}


def test_a_revert_undoes_marks() -> None:
    state = State()
    state.pay(prompt_of("A"))
    checkpoint = state.snapshot()
    state.pay(prompt_of("AB"))
    state.storage.discard(checkpoint)
    assert state.warm_tokens(prompt_of("AB")) == 32


def test_a_new_transaction_is_cold() -> None:
    state = State()
    state.pay(prompt_of("A"))
    state.storage.clear()
    assert state.warm_tokens(prompt_of("A")) == 0
