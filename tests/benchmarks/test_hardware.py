"""Another build's generations are summed up as they were."""

from __future__ import annotations

from benchmarks.hardware import MAX_TOKENS, MIN_TOKENS, Followed, compare, prompts


def followed(margin: float, at: int | None, difference: float) -> Followed:
    return Followed(
        tokens=10,
        margin=margin,
        differs_at=at,
        margin_there=None if at is None else margin,
        largest_difference=difference,
    )


def test_a_comparison_counts_differing_and_close_generations() -> None:
    found = compare(
        "sse42", [followed(0.01, 4, 0.02), followed(1.0, None, 0.05), followed(0.04, None, 0.01)]
    )
    assert (found.generations, found.differing, found.token_of_difference) == (3, 1, (4,))
    assert (found.margins_there, found.largest_difference) == ((0.01,), 0.05)
    assert (found.close, found.bound_misses, found.bits_equal) == (2, 0, False)


def test_equal_bits_are_said_to_be_equal() -> None:
    found = compare("native", [followed(0.5, None, 0.0)])
    assert (found.differing, found.close, found.bits_equal) == (0, 0, True)


def test_the_prompts_are_the_same_each_time_and_of_short_generations() -> None:
    found = prompts(50)
    assert found == prompts(50)
    assert all(MIN_TOKENS <= tokens <= MAX_TOKENS for _, tokens in found)
