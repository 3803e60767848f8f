"""Inputs of KECCAK256, by hash: geth's keccak256PreimageTracer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.vm.stack import to_int
from eth_utils import keccak

from pyevm_agents.tracing.budget import TEXT_BYTES, TraceBudget
from pyevm_agents.tracing.hex import encode_data
from pyevm_agents.tracing.opcodes import KECCAK256
from pyevm_agents.tracing.tracer import NoopTracer, get_stack

if TYPE_CHECKING:
    from pyevm_agents.tracing.tracer import OpcodeStep

MAX_ADDED_BYTES = 1 << 20
"""The most zeros that geth adds to the memory. Source: geth, `eth/tracers/internal/util.go`."""

ENTRY_BYTES = 2 * TEXT_BYTES + 66
"""Memory of an input with its hash, without the digits of the input."""


class KeccakTracer(NoopTracer):
    """Collects the inputs of KECCAK256, also of those that fail."""

    watched_opcodes = frozenset({KECCAK256})

    def __init__(self, budget: TraceBudget | None = None) -> None:
        self._budget = budget or TraceBudget()
        self._inputs: dict[bytes, bytes] = {}

    def on_opcode(self, step: OpcodeStep) -> None:
        """Add the opcode's input."""
        data = read_hashed_data(step)
        if data is None:
            return
        digest = keccak(data)
        if digest not in self._inputs:
            self._budget.spend(ENTRY_BYTES + 3 * len(data))
            self._inputs[digest] = data

    def result(self) -> object:
        """Return the inputs by hash."""
        return {encode_data(digest): encode_data(data) for digest, data in self._inputs.items()}


def read_hashed_data(step: OpcodeStep) -> bytes | None:
    """Return what a KECCAK256 is about to hash; None without arguments, or far past the memory."""
    arguments = get_stack(step.computation).values[-2:]
    if len(arguments) < 2:  # noqa: PLR2004 - start and size
        return None
    size, start = (to_int(value) for value in arguments)
    memory = step.read_memory()
    if start + size - len(memory) > MAX_ADDED_BYTES:
        return None
    return memory[start : start + size].ljust(size, b"\0")
