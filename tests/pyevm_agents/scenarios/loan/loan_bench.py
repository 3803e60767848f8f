"""The loan demo with a model that follows a script, or one that Hypothesis chooses."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.scenarios.loan.demo import LoanDemo
from tests.pyevm_agents.scenarios.scripted_demo import Script, create_scripted_chain, swapped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

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

    def swapped(self, model: LanguageModel) -> AbstractContextManager[None]:
        """Replace the demo's model."""
        return swapped(self.demo.chain, model)


def open_loan_bench(vocabulary: Vocabulary) -> LoanBench:
    """Deploy everything."""
    script = Script()
    return LoanBench(LoanDemo.deploy(create_scripted_chain(script, vocabulary)), script)
