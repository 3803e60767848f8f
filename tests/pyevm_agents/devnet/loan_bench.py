"""The loan demo with a model that follows a script, or one that Hypothesis chooses."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.devnet.chain import build_model_profile, create_funded_chain
from pyevm_agents.devnet.loan_demo import LoanDemo
from pyevm_agents.models import ScriptedModel
from pyevm_agents.models.fakes.swappable import SwappableModel
from tests.pyevm_agents.devnet.trading_bench import Script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import LanguageModel
    from pyevm_agents.models import Vocabulary


@dataclass
class LoanBench:
    """The demo, and the script of its model."""

    demo: LoanDemo
    script: Script

    @contextmanager
    def undone(self) -> Iterator[LoanDemo]:
        """Undo all that is done on the chain."""
        snapshot, criteria = self.demo.chain.snapshot(), self.demo.criteria
        try:
            yield self.demo
        finally:
            self.demo.chain.revert(snapshot)
            self.demo.criteria = criteria

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


def open_loan_bench(vocabulary: Vocabulary) -> LoanBench:
    """Deploy everything."""
    script = Script()
    model = ScriptedModel(script, vocabulary=vocabulary)
    facts = model.profile_facts
    chain = create_funded_chain(model, facts, build_model_profile(facts))
    return LoanBench(LoanDemo.deploy(chain), script)
