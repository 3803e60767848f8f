"""Every pair of capabilities has a story, and the page has its sentence."""

from __future__ import annotations

from collections import Counter

from tests.pairs.capabilities import PAIRS, STORIES
from tests.pairs.page import PAGE, list_rows, load_stories, replace_table


def test_every_pair_has_a_story() -> None:
    load_stories()
    assert [pair for pair in PAIRS if pair not in STORIES] == []
    told = [each.function for stories in STORIES.values() for each in stories]
    assert [name for name, count in Counter(told).items() if count > 1] == []


def test_the_page_has_the_stories() -> None:
    load_stories()
    page = PAGE.read_text("utf-8")
    assert page == replace_table(page), "python -m tests.pairs.page writes it anew"
    assert len(list(list_rows())) >= 2 + len(PAIRS)
