"""Implementations of `precompiles.ports.LanguageModel`, and what they are made of.

Nothing here imports llama_cpp: it lives in a child process (`worker.py`).
"""

from pyevm_agents.models.llama_model import (
    GgufModel,
    LlamaModel,
    ProfileFacts,
    Progress,
    Vocabulary,
)
from pyevm_agents.models.memory import RememberingModel
from pyevm_agents.models.scripted import AnswerStep, ScriptedModel, ToolStep, answer, use

__all__ = [
    "AnswerStep",
    "GgufModel",
    "LlamaModel",
    "ProfileFacts",
    "Progress",
    "RememberingModel",
    "ScriptedModel",
    "ToolStep",
    "Vocabulary",
    "answer",
    "use",
]
