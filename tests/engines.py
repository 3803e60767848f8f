"""Engines of the default and of a reduced model: one process of each in a worker."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.models import LlamaModel, Vocabulary
from pyevm_agents.models.gguf import adapter as gguf_adapter
from pyevm_agents.models.llama import model as llama_model
from tests.conftest import folder_of_session
from tests.reduced_model import write_reduced_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def vocabulary() -> Iterator[Vocabulary]:
    """The default model's vocabulary, in one process for all tests of a worker."""
    with Vocabulary() as opened:
        yield opened


@pytest.fixture(scope="session")
def llama() -> Iterator[LlamaModel]:
    """The default model on one thread, in one process for all tests of a worker."""
    with LlamaModel(threads=1) as model:
        yield model


@pytest.fixture(scope="session")
def reduced_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a model that computes little, once for all workers (`tests.reduced_model`)."""
    path = folder_of_session(tmp_path_factory) / "reduced.gguf"
    if not path.exists():
        own = tmp_path_factory.mktemp("reduced") / path.name
        write_reduced_model(own)
        with suppress(FileExistsError):  # Another worker was first: its file stays.
            path.hardlink_to(own)
    return path


@pytest.fixture(scope="session")
def reduced_llama(reduced_model: Path) -> Iterator[LlamaModel]:
    """The reduced model on one thread, in one process for all tests of a worker."""
    with LlamaModel(reduced_model, threads=1) as model:
        yield model


@pytest.fixture(scope="module")
def reduced_default(
    reduced_model: Path, llama: LlamaModel, vocabulary: Vocabulary
) -> Iterator[Path]:
    """Make the reduced model the default one for a module; the session's own have their paths."""
    assert llama.path == vocabulary.path != reduced_model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llama_model, "find_default_model", lambda: reduced_model)
        patch.setattr(gguf_adapter, "find_default_adapter", lambda: None)
        yield reduced_model
