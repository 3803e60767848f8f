"""Generations and their beginnings: what a lower limit leaves of one, and when two agree."""

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
    """Return a generation as a lower limit leaves it.

    The tokens are those that the model itself would have said under that limit, and so is the text
    where `spell` gives that of tokens; else it stays whole. `forced_tokens` is an upper bound,
    since which of them were forced is not known. `margin` is the model's own or, where the closest
    decision came after the cut, None. No rule depends on these: a caller whose limit cuts a
    generation halts.
    """
    if len(generation.tokens) <= max_tokens:
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
    )


def is_equivalent(left: Generation, right: Generation) -> bool:
    """Return whether two generations agree: whole ones in everything, cut ones in their tokens."""
    if left.is_complete and right.is_complete:
        return left == right
    return left.tokens == right.tokens and left.is_complete == right.is_complete


def is_prefix(shorter: Generation, longer: Generation) -> bool:
    """Return whether a generation can be what a lower limit left of another one, or is that one."""
    if shorter.is_complete:
        return is_equivalent(shorter, longer)
    return longer.tokens[: len(shorter.tokens)] == shorter.tokens


def _trim_to_prefix(cut_text: str, whole: str) -> str:
    """Return what a cut has of a text: half a character at its end, spelled as another, goes."""
    while not whole.startswith(cut_text):
        cut_text = cut_text[:-1]
    return cut_text
