"""Truncation and comparison of generations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from precompiles.language_model import Generation, Margin
from pyevm_agents.errors import EngineFault
from pyevm_agents.models.truncation import is_equivalent, is_prefix, truncate

MARGIN = Margin(gap=0.5, token_index=0, chosen="t", other="T")
WHOLE = Generation(text="two€", tokens=(1, 2, 3), forced_tokens=2, is_complete=True, margin=MARGIN)


def test_whole_generations_agree_in_everything_and_cut_ones_in_their_tokens() -> None:
    assert is_equivalent(WHOLE, WHOLE)
    assert not is_equivalent(WHOLE, replace(WHOLE, text="Two"))
    assert not is_equivalent(WHOLE, replace(WHOLE, margin=None))
    assert is_equivalent(truncate(WHOLE, 1), replace(truncate(WHOLE, 1), text="t"))
    assert not is_equivalent(truncate(WHOLE, 1), replace(truncate(WHOLE, 1), tokens=(3,)))
    assert not is_equivalent(WHOLE, replace(WHOLE, is_complete=False))


def test_a_beginning_is_one_by_its_tokens_and_a_whole_one_only_of_itself() -> None:
    assert is_prefix(truncate(WHOLE, 1), truncate(WHOLE, 2))
    assert is_prefix(truncate(WHOLE, 2), WHOLE)
    assert is_prefix(WHOLE, WHOLE)
    assert not is_prefix(replace(truncate(WHOLE, 1), tokens=(7,)), WHOLE)
    assert not is_prefix(WHOLE, replace(WHOLE, tokens=(1, 2, 3, 4)))


@pytest.mark.parametrize("limit", [3, 4])
def test_a_limit_that_is_not_lower_leaves_everything(limit: int) -> None:
    assert truncate(WHOLE, limit) is WHOLE


def test_half_a_character_at_the_cut_goes() -> None:
    kept = truncate(WHOLE, 2, lambda tokens: f"two{len(tokens) * chr(0xFFFD)}")
    assert kept == Generation(
        text="two", tokens=(1, 2), forced_tokens=2, is_complete=False, margin=MARGIN
    )


def test_the_text_stays_whole_where_nobody_spells_it() -> None:
    def fails(tokens: tuple[int, ...]) -> str:
        raise EngineFault(f"died of {tokens}")

    assert truncate(WHOLE, 1).text == truncate(WHOLE, 1, fails).text == "two€"


def test_a_margin_behind_the_cut_is_none_of_it() -> None:
    late = replace(WHOLE, margin=replace(MARGIN, token_index=2))
    assert truncate(late, 2).margin is None
    assert truncate(WHOLE, 1).margin == MARGIN
