"""The report's chapter on attacks."""

from __future__ import annotations

from dataclasses import replace

from pyevm_agents.bench.measurement.intervals import scale_interval
from pyevm_agents.bench.pricing.parity import find_reference
from pyevm_agents.bench.report import findings
from pyevm_agents.bench.report.chapters.attacks import build_attack_chapter
from tests.pyevm_agents.bench import made_up

FULL = made_up.report()


def words_at(share: float) -> str:
    """Return the chapter where all attacks take this share of parity's value."""
    one = find_reference(FULL.yardsticks, "erc20")
    assert one is not None
    bought = scale_interval(findings.compute_block_seconds(one), share)
    found = replace(FULL.attacks[0], seconds_per_30m_gas=(("parity-erc20", bought),))
    chapter = build_attack_chapter(replace(FULL, attacks=(found,)))
    assert chapter is not None
    return " ".join(str(word) for words in chapter.words for word in words)


def test_what_takes_longer_than_parity_is_named() -> None:
    title = FULL.attacks[0].title
    assert "Spent as an ERC-20 transfer, 30 million gas take " in words_at(9)
    named = f"under parity-erc20 they buy more by {title[:1].lower()}{title[1:]}."
    assert named in words_at(9)
    assert "they buy more" not in words_at(1)


def test_a_unit_in_a_title_keeps_its_letters() -> None:
    found = replace(FULL.attacks[0], title="64 KiB of text")
    chapter = build_attack_chapter(replace(FULL, attacks=(found,)))
    assert chapter is not None
    assert "(64 KiB of text)" in str(chapter.words[0])
