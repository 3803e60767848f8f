"""A bench of runs for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pyevm_agents.lifecycle.run_bench import RunBench, open_bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[RunBench]:
    """A chain with a counter, and a host with an agent that adds to it."""
    opened = open_bench(tmp_path)
    yield opened
    opened.store.close()
    opened.chain.close()
