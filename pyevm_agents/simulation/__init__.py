"""Blocks that are made to be looked at: calls in a row, on accounts and in blocks as one likes.

What a block holds and what is refused is geth's: the same blocks have the same hashes.

request.py     the request: calls in simulated blocks
vm.py          a VM class of other precompiles, that notes transfers and forgives fees
validation.py  what a call is refused for, with geth's codes
blocks.py      the simulated blocks, one on the other

Source: execution-apis, `eth_simulateV1` and its test suite; geth, internal/ethapi/simulate.go.
"""

from __future__ import annotations

from pyevm_agents.simulation.blocks import SimulatedBlock, Simulation
from pyevm_agents.simulation.request import SimulatedBlockRequest, SimulatedCall
from pyevm_agents.simulation.validation import SimulationError
from pyevm_agents.simulation.vm import LogEntry, SimulatedComputation

__all__ = [
    "LogEntry",
    "SimulatedBlock",
    "SimulatedBlockRequest",
    "SimulatedCall",
    "SimulatedComputation",
    "Simulation",
    "SimulationError",
]
