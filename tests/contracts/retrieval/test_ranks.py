"""Ranks of `KnowledgeBase.search` beside bm25s, and scores beside their twin, on anvil."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.retrieval import BLOCK_GAS, MATCHES, AnvilBase, make_batches
from tests.clients.anvil_node import running_anvil
from tests.contracts.retrieval.bm25_twin import Oracle, Twin, compare_ranks
from tests.contracts.retrieval.corpora import draw_queries, make_corpora

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.samples import Sample

MANY = 1_000
"""From so many queries on, the synthetic corpus is a base's most; it takes minutes."""

MOST_PASSAGES, SOME_PASSAGES = 10_000, 300
REMOVED = 7
"""Each seventh passage is removed, and the queries are asked again."""


@pytest.fixture
def anvil(tmp_path: Path) -> Iterator[str]:
    with running_anvil(tmp_path, "--gas-limit", str(BLOCK_GAS)) as node:
        yield node.url


@pytest.mark.sample(count=25, seed=25)
def test_ranks_are_those_of_the_oracle(anvil: str, sample: Sample) -> None:
    corpora = make_corpora(MOST_PASSAGES if sample.count >= MANY else SOME_PASSAGES)
    figures = {"queries": 0, "ranks": 0, "queries with a tie of floats": 0, "passages": 0}
    for number, passages in enumerate(corpora.values()):
        base = AnvilBase(url=anvil)
        for batch in make_batches(passages):
            base.add(batch)
        texts = dict(enumerate(passages, 1))
        count = (sample.count + number) // len(corpora)  # the counts add up to the sample's
        half = (count + 1) // 2
        queries = draw_queries(passages, count, sample.seed)
        _compare(base, texts, queries[:half], figures)
        gone = list(texts)[::REMOVED]
        base.remove(gone)
        for one in gone:
            del texts[one]
        _compare(base, texts, queries[half:], figures)
        figures["passages"] += len(passages)
    sample.figures.update(figures)
    assert figures["queries"] == sample.count


def _compare(
    base: AnvilBase, texts: dict[int, str], queries: list[str], figures: dict[str, int]
) -> None:
    twin, oracle = Twin(texts), Oracle(texts)
    for query in queries:
        found = base.search(query)
        assert found == twin.search(query, MATCHES)
        has_tie = compare_ranks([one for one, _ in found], oracle.scores(query), MATCHES)
        figures["queries"] += 1
        figures["ranks"] += len(found)
        figures["queries with a tie of floats"] += has_tie
