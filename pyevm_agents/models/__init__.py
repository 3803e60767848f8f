"""Language models: implementations of the port `precompiles.language_model.LanguageModel`.

Importing this package does not import llama_cpp, which runs in a child process (`llama/worker.py`).
"""

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
