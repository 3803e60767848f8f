"""A demo's chain whose model follows a script, or is replaced by one that Hypothesis chooses."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.devnet.chain import create_funded_chain
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel
from pyevm_agents.models.fakes.swappable import SwappableModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import GenerationRequest, LanguageModel
    from pyevm_agents.chain import Chain
    from pyevm_agents.models import Vocabulary
    from pyevm_agents.models.fakes.script_steps import Step


@dataclass
class Script:
    """The steps of the next run, in the order of their generation."""

    steps: list[Step] = field(default_factory=list)

    def __call__(self, _: GenerationRequest) -> Step:
        return self.steps.pop(0)


def create_scripted_chain(script: Script, vocabulary: Vocabulary) -> Chain:
    """Return a chain with a funded account, whose model follows the script."""
    model = ScriptedModel(script, vocabulary=vocabulary)
    facts = model.profile_facts
    return create_funded_chain(model, facts, build_model_profile(facts))


@contextmanager
def swapped(chain: Chain, model: LanguageModel) -> Iterator[None]:
    """Replace the model of a demo's chain."""
    (original,) = chain.models.values()
    assert isinstance(original, SwappableModel)
    before = original.swap(model)
    try:
        yield
    finally:
        original.swap(before)
