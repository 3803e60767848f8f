"""Comparing only the last words gives the same result as comparing the whole text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pyevm_agents.models.decoding.canonical_tokens import CanonicalMatch, CanonicalTokenizer

if TYPE_CHECKING:
    from pyevm_agents.models.decoding.guided import GuidedDecoder

WORDS = [
    " the",
    " De",
    "ploy",
    " ",
    "  ",
    "\n",
    "1",
    ".",
    '"',
    "'s",
    "é",
    "量",
    " <|im_end|>",
    "\t",
]


@pytest.fixture(scope="module")
def whole(guide: GuidedDecoder) -> CanonicalTokenizer:
    """A canonical tokenizer that does not assume that words can be tokenized separately."""
    text = CanonicalTokenizer(guide.vocabulary, guide.cutter)
    text._can_split = False  # noqa: SLF001 - what a file with another `tokenizer.ggml.pre` gets
    return text


@settings(max_examples=60)
@given(
    text=st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=12).map("".join),
    token=st.integers(17, 49151),
    forced=st.sampled_from([b"", b"\n", b" the", b"s", "é".encode()]),
)
def test_the_last_words_decide_as_the_whole_text_does(
    guide: GuidedDecoder, whole: CanonicalTokenizer, text: str, token: int, forced: bytes
) -> None:
    tokens = guide.canonical.get_canonical_tokens(text)
    # What the vocabulary lacks is left out, and no text that a grammar admits is like the rest.
    assume(b"".join(map(guide.canonical.piece, tokens)) == text.encode())
    for count in range(1, len(tokens) + 1):
        # The rule compares at each token, so what comes before the last one begins like this.
        if guide.canonical.match_tokens(tokens[:count]) is CanonicalMatch.NO:
            break
        assert guide.canonical.match_tokens(tokens[:count]) is whole.match_tokens(tokens[:count])
        is_whole = whole.match_tokens(tokens[:count]) is CanonicalMatch.WHOLE
        longer = [*tokens[:count], token]
        assert guide.canonical.match_tokens(longer, 0, forced) is whole.match_tokens(
            longer, 0, forced
        )
        assert guide.canonical.match_tokens(
            longer, 0, forced, is_whole_before=is_whole
        ) is whole.match_tokens(longer, 0, forced)


@given(text=st.text(max_size=30))
def test_canonical_tokens_are_whole_and_others_are_not(guide: GuidedDecoder, text: str) -> None:
    tokens = guide.canonical.get_canonical_tokens(text)
    spelled = b"".join(map(guide.canonical.piece, tokens)) == text.encode()
    assert (guide.canonical.match_tokens(tokens) is CanonicalMatch.WHOLE) or not spelled


def test_fits(guide: GuidedDecoder) -> None:
    index, fit = guide.canonical.pieces.index, guide.canonical.match_tokens
    assert fit([index(b" "), index(b"De")]) is CanonicalMatch.NO
    assert fit([index(b" De")], 0, b"ploy") is CanonicalMatch.OPEN
    assert fit([index(b" D")], 0, b"eploy") is CanonicalMatch.NO
    assert fit([index(b" "), index(b"\n")]) is CanonicalMatch.OPEN
    assert fit([index("é".encode()[:1])]) is CanonicalMatch.OPEN
    assert fit([index(b" "), index(b"De")], 1) is CanonicalMatch.WHOLE
    assert fit([]) is CanonicalMatch.WHOLE


def test_what_a_run_shares_with_the_canonical_tokens(guide: GuidedDecoder) -> None:
    index, shared = guide.canonical.pieces.index, guide.canonical.count_shared_tokens
    said = [index(b" De")]
    assert shared(said, 0, b"ploy it", [index(b"ploy"), index(b" it")]) == 2
    assert shared(said, 0, b"ploy it", [index(b"ploy"), index(b" ")]) == 1
    assert shared([index(b" D")], 0, b"eploy", [index(b"e")]) == 0
    assert shared([index("é".encode()[:1])], 0, b"", [1]) == 0
