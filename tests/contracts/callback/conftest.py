"""Fixtures: an oracle with workers, and a client of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contracts.callback.oracle_bench import OracleBench

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract


@pytest.fixture
def bench() -> OracleBench:
    return OracleBench()


@pytest.fixture
def client(bench: OracleBench) -> Contract:
    return bench.client()
