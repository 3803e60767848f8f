"""Fixtures: a treasury."""

from __future__ import annotations

import pytest

from tests.contracts.runs.treasury_bench import TreasuryBench


@pytest.fixture
def bench() -> TreasuryBench:
    return TreasuryBench()
