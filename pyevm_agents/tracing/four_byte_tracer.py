"""Which functions were called, by selector: geth's 4byteTracer."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pyevm_agents.tracing.hex import encode_data
from pyevm_agents.tracing.tracer import NoopTracer

if TYPE_CHECKING:
    from pyevm_agents.tracing.tracer import CallFrame, TransactionStart

SELECTOR_BYTES = 4
_CALLS = frozenset({"CALL", "CALLCODE", "DELEGATECALL", "STATICCALL"})


class FourByteTracer(NoopTracer):
    """Counts selectors, each with the size of the arguments that followed it."""

    def __init__(self) -> None:
        """Begin without any."""
        self._counts: Counter[str] = Counter()
        self._precompiles: frozenset[bytes] = frozenset()

    def on_tx_start(self, beginning: TransactionStart) -> None:
        """Keep which accounts are precompiles: their input has no selector."""
        self._precompiles = beginning.precompiles

    def on_enter(self, frame: CallFrame) -> None:
        """Count a call's selector."""
        if frame.kind not in _CALLS or frame.to in self._precompiles:
            return
        if len(frame.input) >= SELECTOR_BYTES:
            arguments_bytes = len(frame.input) - SELECTOR_BYTES
            self._counts[f"{encode_data(frame.input[:SELECTOR_BYTES])}-{arguments_bytes}"] += 1

    def result(self) -> object:
        """Return how often each was found, by `selector-size`."""
        return dict(self._counts)
