"""Differences of prompts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from precompiles.language_model import Segment
from pyevm_agents.testing.prompt_diff import diff_prompts, find_closest, format_end, join_segments


def test_only_what_changed_is_shown() -> None:
    lines = [f"line {number}" for number in range(100)]
    recorded = "\n".join(lines)
    now = "\n".join([*lines[:50], "line fifty", *lines[51:]])
    assert diff_prompts(recorded, now).split("\n") == [
        "--- recorded",
        "+++ now",
        "@@ -49,5 +49,5 @@",
        " line 48",
        " line 49",
        "-line 50",
        "+line fifty",
        " line 51",
        " line 52",
    ]


def test_a_long_line_is_shown_around_its_change() -> None:
    start, end = "word " * 100, " end" * 100
    told = diff_prompts(f"{start}OLD{end}", f"{start}NEW{end}").split("\n")
    old, new = (line for line in told if line[0] in "-+" and line[1] == "…")
    assert "word OLD end" in old
    assert "word NEW end" in new
    assert old.endswith("…")
    assert max(map(len, told)) < 180


@given(st.text("ab\n\x1b", max_size=300), st.text("ab\n\x1b", max_size=300))
def test_a_difference_is_bounded_and_steers_no_terminal(recorded: str, now: str) -> None:
    told = diff_prompts(recorded, now)
    assert "\x1b" not in told
    assert len(told.split("\n")) <= 61
    assert (told == "") == (recorded == now)


def test_the_closest_prompt_shares_both_ends() -> None:
    prompts = ["system A\nask one", "system A\nask two\nmore", "system B\nask two"]
    assert find_closest(prompts, "system A\nask two\nmost") == 1
    assert find_closest(prompts, "system C\nask two") == 2
    assert find_closest(prompts, "nothing") == find_closest([prompts[0]], "nothing") == 0


def test_the_end_of_a_prompt_is_its_last_lines() -> None:
    assert format_end("one\ntwo\n") == "one\ntwo"
    assert format_end("\n".join("abcdefgh")) == "…\nc\nd\ne\nf\ng\nh"
    assert join_segments((Segment(text="a"), Segment(text="b", is_template=True))) == "ab"
