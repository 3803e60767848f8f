"""The decoding rules of a profile."""

from __future__ import annotations

import pytest

from precompiles.decoding_rules import SHORT_FORMAT, DecodingRules
from precompiles.short_format.judge import Thresholds


def test_no_rules_are_the_free_format() -> None:
    assert DecodingRules.parse(()) == DecodingRules()
    assert not DecodingRules().short_format


def test_both_formats_can_have_stated_values() -> None:
    assert DecodingRules.parse((("stated_values", 1),)) == DecodingRules(stated_values=True)


def test_the_free_format_can_have_a_gate() -> None:
    assert DecodingRules.parse((("max_surprisal", 1),)) == DecodingRules(max_surprisal=1)


def test_rules_are_read_by_name() -> None:
    rules = DecodingRules.parse((("max_surprisal", 1 << 32), ("short_format", SHORT_FORMAT)))
    assert rules == DecodingRules(short_format=True, max_surprisal=1 << 32)


JUDGED = (("choice_probability", 3), ("doubted_probability", 65_535))


def test_thresholds_of_a_judge_are_read_together() -> None:
    rules = DecodingRules.parse((*JUDGED, ("short_format", SHORT_FORMAT)))
    assert rules.thresholds == Thresholds(doubted=65_535, choice=3)
    rules = DecodingRules.parse((*JUDGED, ("short_format", SHORT_FORMAT), ("sure_probability", 4)))
    assert rules.thresholds == Thresholds(doubted=65_535, choice=3, sure=4)
    assert DecodingRules.parse((("short_format", SHORT_FORMAT),)).thresholds is None


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ((("temperature", 1),), "unknown decoding rule 'temperature': must be one of short_format"),
        ((("short_format", 0),), "short_format 0: must be 2"),
        ((("short_format", 1),), "short_format 1: must be 2, which has other rules. Set it in the"),
        ((("router_weight", 256),), "router_weight: there is no router any more. Remove it from"),
        ((("max_surprisal", -1),), "max_surprisal -1: must be 1 to 4294967296"),
        ((("max_surprisal", (1 << 32) + 1),), "max_surprisal 4294967297: must be 1 to 4294967296"),
        (JUDGED, "decoding rule doubted_probability: needs short_format"),
        ((("doubted_probability", 4), ("short_format", 2)), "doubted_probability: needs choice_"),
        ((("short_format", 2), ("sure_probability", 4)), "sure_probability: needs doubted_"),
        ((("choice_probability", 65_536),), "choice_probability 65536: must be 1 to 65535"),
    ],
)  # fmt: skip
def test_refuses(rules: tuple[tuple[str, int], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DecodingRules.parse(rules)
