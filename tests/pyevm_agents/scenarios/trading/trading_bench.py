"""The trading demo with a model that follows a script, or one that Hypothesis chooses."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.scenarios.trading.demo import TradingDemo
from tests.pyevm_agents.scenarios.scripted_demo import Script, create_scripted_chain, swapped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from precompiles.language_model import LanguageModel
    from pyevm_agents.models import Vocabulary


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

    def swapped(self, model: LanguageModel) -> AbstractContextManager[None]:
        """Replace the demo's model."""
        return swapped(self.demo.chain, model)


def open_trading_bench(vocabulary: Vocabulary) -> TradingBench:
    """Deploy everything."""
    script = Script()
    return TradingBench(TradingDemo.deploy(create_scripted_chain(script, vocabulary)), script)
