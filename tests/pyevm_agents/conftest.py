"""Fixtures of the plugin's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pyevm_agents.counting_suite import import_all

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pytest's cache for all suites in tests: the model's facts are learned once."""
    import_all()
    return tmp_path_factory.mktemp("cache")
