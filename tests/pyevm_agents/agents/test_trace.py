"""The EVM gas of agents' steps; `tests/test_agents.py` has their contents."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.recordings import Replay, read_fixture

FIXTURES = Path(__file__).parents[3] / "chain_fixtures"


@pytest.mark.parametrize("name", ["wallet", "nested", "rollback"])
def test_evm_gas_of_steps_is_a_part_of_the_transactions(name: str) -> None:
    replay = Replay(read_fixture(FIXTURES / f"{name}.json"))
    list(replay.execute_blocks())
    chain = replay.chain
    for number in range(1, chain.head.block_number + 1):
        record = chain.block_with_receipts(chain.header(number))
        _, computation = chain.replay(record, 0)
        steps = extract_agent_steps(computation)
        words = sum(one.inference.prompt_gas + one.inference.output_gas for one in steps)
        of_steps = [step.evm_gas or 0 for step in steps if step.depth == 0]
        assert all(gas > 10_000 for gas in of_steps)
        assert sum(of_steps) < computation.get_gas_used() - words
        # A step that uses an agent has the gas of that agent's steps in its own.
        for outer, inner in pairwise(steps):
            if inner.depth > outer.depth:
                assert (outer.evm_gas or 0) > (inner.evm_gas or 0)
