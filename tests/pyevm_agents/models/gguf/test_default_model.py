"""The bundled adapter: its size, its name, and its presence in the wheel."""

from __future__ import annotations

import pytest

from pyevm_agents.model_registry.profiles import (
    BASE_MODEL_NAME,
    DEFAULT_MODEL_NAME,
    build_model_profile,
)
from pyevm_agents.models import NO_ADAPTER, Vocabulary
from pyevm_agents.models.gguf.adapter import read_adapter
from pyevm_agents.models.gguf.files import find_default_adapter

MAX_ADAPTER_BYTES = 12 * 1024 * 1024
"""Maximum size that it may add to a wheel."""


def test_the_adapter_is_small_and_for_the_base() -> None:
    path = find_default_adapter()
    assert path is not None
    assert path.stat().st_size <= MAX_ADAPTER_BYTES
    assert read_adapter(path).architecture == "llama"


@pytest.mark.slow
def test_the_default_model_is_named_after_its_adapter() -> None:
    with Vocabulary() as adapted, Vocabulary(adapter=NO_ADAPTER) as plain:
        assert build_model_profile(adapted.profile_facts).name == DEFAULT_MODEL_NAME
        assert build_model_profile(plain.profile_facts).name == BASE_MODEL_NAME
