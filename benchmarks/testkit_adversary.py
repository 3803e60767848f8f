"""Does the adversary find the failing example from any seed: how soon, and how short is it?"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import given, seed

from pyevm_agents.testing import AgentChain, adversary, adversary_settings
from tests.examples.test_adversary_wallet import never_loses_more_than_its_limit, wallet

if TYPE_CHECKING:
    from pyevm_agents.testing import Adversary
    from pyevm_agents.testing.genesis_template import GenesisTemplate

MAX_EXAMPLES = 1_000
"""As in the example's own test."""

HUNT_BAR_SECONDS = 30.0
STEPS_BAR = 3


@dataclass(frozen=True, kw_only=True)
class Hunt:
    """The result of one seed."""

    seed: int
    found_at: int | None
    """Number of the first failing example, from 1; None without one."""

    examples: int
    """All examples, including those of shrinking."""

    steps: int
    """Steps of the shortest failing script."""

    seconds: float
    processor_seconds: float
    """CPU time of this process, without the vocabulary's process."""

    @property
    def is_met(self) -> bool:
        """Whether it meets the bar."""
        is_short = 0 < self.steps <= STEPS_BAR
        return self.found_at is not None and is_short and self.seconds < HUNT_BAR_SECONDS

    def __str__(self) -> str:
        """Return it as a line."""
        found = "not found" if self.found_at is None else f"found at example {self.found_at:>3}"
        return (
            f"seed {self.seed:>3}: {found}, {self.steps} steps after {self.examples:>4} examples, "
            f"{self.seconds:5.1f} s ({self.processor_seconds:5.1f} s of processor) "
            f"{'✓' if self.is_met else '✗'}"
        )


def hunt(beginning: GenesisTemplate, number: int) -> Hunt:
    """Let the adversary search for a failure of the unguarded wallet, as its test does."""
    examples, found_at, last = 0, None, None
    with AgentChain(beginning) as chain:
        purse = wallet(chain, "UnguardedPurse")

        @seed(number)
        @adversary_settings(max_examples=MAX_EXAMPLES, database=None)
        @given(adversary=adversary())
        def search(adversary: Adversary) -> None:
            nonlocal examples, found_at, last
            examples, last = examples + 1, adversary
            try:
                never_loses_more_than_its_limit(purse, adversary)
            except AssertionError:
                found_at = found_at or examples
                raise

        begun, begun_processor = time.perf_counter(), time.process_time()
        with suppress(AssertionError):
            search()
        return Hunt(
            seed=number,
            found_at=found_at,
            examples=examples,
            steps=0 if last is None else len(last.steps),
            seconds=time.perf_counter() - begun,
            processor_seconds=time.process_time() - begun_processor,
        )
