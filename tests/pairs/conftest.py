"""The worlds of a story."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.models.numeric import NumericFile
from tests.numeric_file import build_numeric_file
from tests.pairs.world import Worlds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.models import LlamaModel
    from tests.pairs.world import World


@pytest.fixture(scope="session")
def score() -> NumericFile:
    """A numeric model: its first output is 3 times its first input, and 1."""
    return NumericFile(build_numeric_file())


@pytest.fixture
def worlds(llama: LlamaModel, score: NumericFile, tmp_path: Path) -> Iterator[Worlds]:
    """Chains that share the default model."""
    with ExitStack() as stack:
        yield Worlds(llama, score, tmp_path, stack)


@pytest.fixture
def world(worlds: Worlds) -> World:
    """A chain with the precompiles."""
    return worlds.agents()
