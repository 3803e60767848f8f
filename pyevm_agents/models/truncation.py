"""Truncated generations: cut one to a token limit, and compare cut ones with whole ones."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from pyevm_agents.errors import EngineFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.language_model import Generation


def truncate(
    generation: Generation,
    max_tokens: int,
    spell: Callable[[tuple[int, ...]], str] | None = None,
) -> Generation:
    """Cut a generation to a lower token limit.

    The tokens are those that the model would have generated under that limit. The consensus rules
    do not depend on the other fields, since the executor halts out of gas when a generation exceeds
    the limit.

    Input:
        max_tokens: the lower limit.
        spell: detokenizes tokens; None leaves the text uncut.

    Output:
        The generation with `is_complete` false. `forced_tokens` is an upper bound, because the
        forced tokens are unknown. `margin` is the model's own, or None if the closest decision came
        after the cut. The generation itself if within the limit.
    """
    if len(generation.tokens) - generation.tail_tokens <= max_tokens:
        return generation
    tokens = generation.tokens[:max_tokens]
    text = generation.text
    if spell is not None:
        with suppress(EngineFault):
            text = _trim_to_prefix(spell(tokens), text)
    margin = generation.margin
    return replace(
        generation,
        text=text,
        tokens=tokens,
        forced_tokens=min(generation.forced_tokens, max_tokens),
        is_complete=False,
        margin=None if margin is None or margin.token_index >= max_tokens else margin,
        confidence=None,
        tail_tokens=0,
    )


def is_equivalent(left: Generation, right: Generation) -> bool:
    """Return whether complete generations are equal, or cut ones have the same tokens."""
    if left.is_complete and right.is_complete:
        return left == right
    return left.tokens == right.tokens and left.is_complete == right.is_complete


def is_prefix(shorter: Generation, longer: Generation) -> bool:
    """Return whether `shorter` is `longer`, or `longer` cut by a lower limit."""
    if shorter.is_complete:
        return is_equivalent(shorter, longer)
    return longer.tokens[: len(shorter.tokens)] == shorter.tokens


def _trim_to_prefix(cut_text: str, whole: str) -> str:
    """Drop the replacement for an incomplete last character, which the whole text does not have."""
    while not whole.startswith(cut_text):
        cut_text = cut_text[:-1]
    return cut_text
