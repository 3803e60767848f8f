"""Language models: implementations of the port `precompiles.language_model.LanguageModel`.

Importing this package does not import llama_cpp, which runs in a child process (`llama/worker.py`).
Names are imported on first use: the child starts in half the time without the fakes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyevm_agents.models.engine_messages import EvaluationStats
    from pyevm_agents.models.fakes.script_steps import (
        AnswerStep,
        RepeatedStep,
        ToolStep,
        UncheckedStep,
        again,
        answer,
        unchecked,
        use,
    )
    from pyevm_agents.models.fakes.scripted import ScriptedModel
    from pyevm_agents.models.fakes.swappable import SwappableModel
    from pyevm_agents.models.gguf.adapter import NO_ADAPTER, Adapter
    from pyevm_agents.models.llama.identity import ProfileFacts
    from pyevm_agents.models.llama.model import GgufModel, LlamaModel, Vocabulary
    from pyevm_agents.models.progress import Progress
    from pyevm_agents.models.store.caching_model import CachingModel
    from pyevm_agents.models.store.store import Store

HOMES = {
    "NO_ADAPTER": "pyevm_agents.models.gguf.adapter",
    "Adapter": "pyevm_agents.models.gguf.adapter",
    "AnswerStep": "pyevm_agents.models.fakes.script_steps",
    "CachingModel": "pyevm_agents.models.store.caching_model",
    "EvaluationStats": "pyevm_agents.models.engine_messages",
    "GgufModel": "pyevm_agents.models.llama.model",
    "LlamaModel": "pyevm_agents.models.llama.model",
    "ProfileFacts": "pyevm_agents.models.llama.identity",
    "Progress": "pyevm_agents.models.progress",
    "RepeatedStep": "pyevm_agents.models.fakes.script_steps",
    "ScriptedModel": "pyevm_agents.models.fakes.scripted",
    "Store": "pyevm_agents.models.store.store",
    "SwappableModel": "pyevm_agents.models.fakes.swappable",
    "ToolStep": "pyevm_agents.models.fakes.script_steps",
    "UncheckedStep": "pyevm_agents.models.fakes.script_steps",
    "Vocabulary": "pyevm_agents.models.llama.model",
    "again": "pyevm_agents.models.fakes.script_steps",
    "answer": "pyevm_agents.models.fakes.script_steps",
    "unchecked": "pyevm_agents.models.fakes.script_steps",
    "use": "pyevm_agents.models.fakes.script_steps",
}
"""Where each name is defined."""

__all__ = [
    "NO_ADAPTER",
    "Adapter",
    "AnswerStep",
    "CachingModel",
    "EvaluationStats",
    "GgufModel",
    "LlamaModel",
    "ProfileFacts",
    "Progress",
    "RepeatedStep",
    "ScriptedModel",
    "Store",
    "SwappableModel",
    "ToolStep",
    "UncheckedStep",
    "Vocabulary",
    "again",
    "answer",
    "unchecked",
    "use",
]


def __getattr__(name: str) -> object:
    """Return a name of the package, imported now."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    member: object = getattr(import_module(HOMES[name]), name)
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    """Return the names of the package."""
    return sorted(__all__)
