"""Simulated blocks: sequences of calls with overridden accounts and block fields.

Blocks and errors are geth's: equal requests give equal block hashes.

request.py     the request: calls in simulated blocks
vm.py          VM classes with moved precompiles, transfer logs and optional fees
validation.py  reasons to reject a call, with geth's error codes
blocks.py      execution of the simulated blocks
text_overrides.py   VM classes in which the executor reads other texts

Source: execution-apis, `eth_simulateV1` and the test suite; geth, internal/ethapi/simulate.go.
"""

from __future__ import annotations

from pyevm_agents.simulation.blocks import SimulatedBlock, Simulation
from pyevm_agents.simulation.request import SimulatedBlockRequest, SimulatedCall
from pyevm_agents.simulation.text_overrides import TextOverride, make_text_override_vm
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
    "TextOverride",
    "make_text_override_vm",
]
