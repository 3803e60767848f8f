"""The trading demo with a model that follows a script, or one that Hypothesis chooses."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.devnet.chain import build_model_profile, create_funded_chain
from pyevm_agents.devnet.trading_demo import TradingDemo
from pyevm_agents.models import ScriptedModel
from pyevm_agents.models.fakes.swappable import SwappableModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import GenerationRequest, LanguageModel
    from pyevm_agents.models import Vocabulary
    from pyevm_agents.models.fakes.script_steps import Step


@dataclass
class Script:
    """The steps of the next run, in the order of their generation."""

    steps: list[Step] = field(default_factory=list)

    def __call__(self, _: GenerationRequest) -> Step:
        return self.steps.pop(0)


@dataclass
class TradingBench:
    """The demo, and the script of its model."""

    demo: TradingDemo
    script: Script

    @contextmanager
    def undone(self) -> Iterator[TradingDemo]:
        """Undo all that is done on the chain."""
        snapshot = self.demo.chain.snapshot()
        try:
            yield self.demo
        finally:
            self.demo.chain.revert(snapshot)

    @contextmanager
    def swapped(self, model: LanguageModel) -> Iterator[None]:
        """Replace the demo's model."""
        (original,) = self.demo.chain.models.values()
        assert isinstance(original, SwappableModel)
        before = original.swap(model)
        try:
            yield
        finally:
            original.swap(before)


def open_trading_bench(vocabulary: Vocabulary) -> TradingBench:
    """Deploy everything."""
    script = Script()
    model = ScriptedModel(script, vocabulary=vocabulary)
    facts = model.profile_facts
    chain = create_funded_chain(model, facts, build_model_profile(facts))
    return TradingBench(TradingDemo.deploy(chain), script)
