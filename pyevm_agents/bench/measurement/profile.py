"""The model profile that measurements use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyevm_agents.model_registry.profiles import build_model_profile

if TYPE_CHECKING:
    from precompiles.language_model import ModelProfile
    from pyevm_agents.models.llama.identity import ProfileFacts


def build_measured_profile(facts: ProfileFacts) -> ModelProfile:
    """Return a model's profile at default prices without decoding rules.

    Steps have the free format: a dictated step chooses every token of the thought, so time and gas
    are those of a step of that many tokens.
    """
    return replace(build_model_profile(facts), decoding=())
