"""Reference implementation of `token_walk.py` and `greedy.py`: slow, plain, sharing no code.

The reference evaluates once per token, samples every token under the grammar's whole mask,
tokenizes every text whole, and looks for dead ends among all admitted tokens. Tests compare the
generations of `guided.py` and of the reference, margins and forced tokens included.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from precompiles.language_model import Margin
from pyevm_agents.errors import EngineFault, GrammarError
from pyevm_agents.models.decoding.guided import GuidedOutput
from pyevm_agents.models.decoding.tokenizer import tokenize_data

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import llguidance
    from numpy.typing import NDArray

    from pyevm_agents.models.decoding.guided import Evaluator, GuidedDecoder, GuidedVocabulary
    from pyevm_agents.models.decoding.step_scores import StepScorer
    from pyevm_agents.models.decoding.tokenizer import SpecialTokenSplitter

CANDIDATES = 64
"""Candidates of a choice; see `token_walk.MAX_CANDIDATES`."""

PROBED_TOKENS = 256
"""Admitted tokens up to which a dead end is looked for; see `token_walk.MAX_PROBED_TOKENS`."""

CONTINUATIONS = {bytes([byte]) for byte in range(0x80, 0xC0)}
"""UTF-8 continuation bytes."""


def generate_by_reference(  # noqa: PLR0913 - the arguments of `GuidedDecoder.generate`
    guide: GuidedDecoder,
    evaluator: Evaluator,
    prompt: Sequence[int],
    grammar: str,
    max_tokens: int,
    *,
    scorer: StepScorer | None = None,
) -> GuidedOutput:
    """Continue a prompt greedily, token by token; return the result of `GuidedDecoder.generate`.

    Raises:
        GrammarError: the grammar is rejected, or admits no token.
        EngineFault: a logit that may be chosen is not finite.
    """
    text = _ReferenceText(guide.vocabulary, guide.cutter, guide.compile_grammar(grammar))
    tail_tokens = 0
    while not text.matcher.is_stopped() and (scorer is not None or len(text.tokens) < max_tokens):
        logits = evaluator.evaluate([*prompt, *text.tokens])
        before, forced = text.detokenize_bytes(text.tokens), text.forced_tokens
        text.generate_token(logits)
        if scorer is None:
            continue
        if text.forced_tokens > forced:
            tail_tokens += 1
        elif len(text.tokens) > max_tokens:
            break
        else:
            tail_tokens = 0
            scorer.add(before, logits, text.tokens[-1])
    if text.matcher.is_error():
        raise GrammarError(f"llguidance rejects the grammar: {text.matcher.get_error()}")
    is_complete = text.matcher.is_stopped() and len(text.tokens) - tail_tokens <= max_tokens
    tokens = text.tokens if is_complete else text.tokens[:max_tokens]
    return GuidedOutput(
        text=text.detokenize_bytes(t for t in tokens if t not in text.ends).decode(
            "utf-8", "ignore"
        ),
        tokens=tokens,
        forced_tokens=min(text.forced_tokens, len(tokens)),
        is_complete=is_complete,
        margin=text.margin,
        breaks=text.breaks,
        surprisal=None if scorer is None else scorer.surprisal,
        tail_tokens=tail_tokens if is_complete else 0,
    )


@dataclass(slots=True)
class _ReferenceText:
    """The text generated up to now."""

    vocabulary: GuidedVocabulary
    cutter: SpecialTokenSplitter
    matcher: llguidance.LLMatcher
    ends: list[int] = field(init=False)
    tokens: list[int] = field(default_factory=list)
    start: int = 0
    """Start of the part in canonical tokens: after the last break."""

    forced_tokens: int = 0
    breaks: int = 0
    margin: Margin | None = None

    def __post_init__(self) -> None:
        self.ends = self.vocabulary.end_tokens()

    def generate_token(self, logits: NDArray[np.float32]) -> None:
        """Generate the next token."""
        scores = logits.astype(np.float64)
        allowed = list_allowed_tokens(self.matcher, self.vocabulary.vocabulary_tokens)
        if not allowed:
            raise GrammarError("The grammar admits no token of this vocabulary here")
        if not np.isfinite(scores[allowed]).all():
            raise EngineFault("The model computed a logit that is not finite")
        allowed = self.merge_end_tokens(allowed, scores)
        best = [allowed[i] for i in np.argsort(-scores[allowed], kind="stable")[:CANDIDATES]]
        possible = []
        for token in best:
            if self.is_admissible(token):
                possible.append(token)
            if len(possible) > 1:
                break
        self.forced_tokens += self.is_forced(allowed, possible)
        ranked = possible or best
        self.take_token(ranked[0], ranked[1:2], scores)
        if not possible:
            self.start = len(self.tokens)
            self.breaks += 1

    def merge_end_tokens(self, allowed: list[int], scores: NDArray[np.float64]) -> list[int]:
        """Replace all end tokens by the first one, with the highest of their logits."""
        if self.ends[0] not in allowed:
            return allowed
        scores[self.ends[0]] = scores[self.ends].max()
        return [token for token in allowed if token not in self.ends[1:]]

    def take_token(self, token: int, others: list[int], scores: NDArray[np.float64]) -> None:
        """Consume a token, and record the margin."""
        for other in others:
            gap = float(scores[token] - scores[other])
            if self.margin is None or gap < self.margin.gap:
                self.margin = Margin(
                    gap=gap,
                    token_index=len(self.tokens),
                    chosen=self.detokenize_bytes([token]).decode("utf-8", "replace"),
                    other=self.detokenize_bytes([other]).decode("utf-8", "replace"),
                )
        self.matcher.consume_token(token)
        self.tokens.append(token)

    def is_admissible(self, token: int) -> bool:
        """Return whether a token admitted by the grammar is admissible by the rule."""
        if token in self.ends:
            return self.match_tokens(self.tokens, b"") == "whole"
        after = self.matcher.deep_copy()
        after.consume_token(token)
        tokens = [*self.tokens, token]
        if after.is_stopped():
            return self.match_tokens(tokens, b"") == "whole"
        forced = after.compute_ff_bytes()
        fit = self.match_tokens(tokens, forced)
        if fit == "no" or forced:
            return fit != "no"
        allowed = list_allowed_tokens(after, self.vocabulary.vocabulary_tokens)
        if self.ends[0] in allowed and fit == "whole":
            return True
        if len(allowed) > PROBED_TOKENS + len(self.ends):
            return True
        texts = [each for each in allowed if each not in self.ends]
        return len(texts) > PROBED_TOKENS or any(
            self.match_tokens([*tokens, each], b"") != "no" for each in texts
        )

    def is_forced(self, allowed: list[int], possible: list[int]) -> bool:
        """Return whether the next token is part of the only text that can follow."""
        forced = self.matcher.compute_ff_bytes()
        if not forced or len(possible) != 1:
            return False
        return all(len(self.detokenize_bytes([token])) <= len(forced) for token in allowed)

    def match_tokens(self, tokens: Sequence[int], forced: bytes) -> str:
        """Compare the tokens since the last break with the canonical tokens of their text."""
        own = list(tokens[self.start :])
        while own and self.detokenize_bytes(own[:1])[:1] in CONTINUATIONS:
            own = own[1:]
        text_bytes = self.detokenize_bytes(own)
        text = (text_bytes + forced).decode("utf-8", "ignore")
        following_bytes = len(text.encode()) - len(text_bytes)
        if following_bytes < 0:
            return "open"
        canonical = self.get_canonical_tokens(text)
        if canonical == own and not forced:
            return "whole"
        if canonical[: len(own)] == own:
            return "open"
        if following_bytes == 0 and text[-1:].isspace():
            return "open" if self.get_canonical_tokens(text + "a")[: len(own)] == own else "no"
        return "no"

    def get_canonical_tokens(self, text: str) -> list[int]:
        """Return the tokens of a text as part of a prompt."""
        return tokenize_data(self.vocabulary, self.cutter, text)

    def detokenize_bytes(self, tokens: Iterable[int]) -> bytes:
        """Return the bytes of tokens."""
        return b"".join(map(self.vocabulary.piece, tokens))


def list_allowed_tokens(matcher: llguidance.LLMatcher, vocabulary_tokens: int) -> list[int]:
    """Return the tokens that a grammar admits next, in ascending order."""
    mask = np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8)
    bits = np.unpackbits(mask, bitorder="little")[:vocabulary_tokens]
    tokens: list[int] = np.flatnonzero(bits).tolist()
    return tokens
