"""What the demo shows of what it is given."""

from __future__ import annotations

from pyevm_agents.cli.demo import MAX_SHOWN_CHARACTERS, shortened


def test_a_text_that_fits_is_shown_whole() -> None:
    text = "x" * MAX_SHOWN_CHARACTERS
    assert shortened(text) == text


def test_a_long_text_is_its_beginning_and_its_size() -> None:
    shown = shortened("ü" * 25_000)
    assert shown == "ü" * MAX_SHOWN_CHARACTERS + " … (50,000 bytes)"
