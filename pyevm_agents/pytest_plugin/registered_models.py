"""The user's models by name, for `--agent-model`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pyevm_agents.devnet.model_registry import MODEL_SUFFIX, ModelRegistry, locate_registry

if TYPE_CHECKING:
    from pyevm_agents.devnet.model_registry import ModelChoice


def find_registered_model(name: str) -> ModelChoice | None:
    """Return a model that the user added; None if the name is another's, or a file's.

    Raises:
        ConfigError: its files changed, or the registry is damaged.
    """
    if "/" in name or name.lower().endswith(MODEL_SUFFIX):
        return None
    model = ModelRegistry(locate_registry(os.environ, sys.platform)).read().get(name)
    if model is None:
        return None
    model.require_unchanged()
    return model.choice
