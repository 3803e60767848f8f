"""Selectors of called functions: geth's 4byteTracer.

{"0xa9059cbb-64": 2}    # selector and size of the arguments in bytes: number of calls
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.tracing.hex import encode_data
from pyevm_agents.tracing.tracer import NoopTracer

if TYPE_CHECKING:
    from pyevm_agents.tracing.tracer import CallFrame, TransactionStart

_CALLS = frozenset({"CALL", "CALLCODE", "DELEGATECALL", "STATICCALL"})


class FourByteTracer(NoopTracer):
    """Counts selectors, by the size of the arguments that follow."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._precompiles: frozenset[bytes] = frozenset()

    def on_tx_start(self, start: TransactionStart) -> None:
        """Record the addresses of precompiles, whose input has no selector."""
        self._precompiles = start.precompiles

    def on_enter(self, frame: CallFrame) -> None:
        """Count a call's selector."""
        if frame.kind not in _CALLS or frame.to in self._precompiles:
            return
        if len(frame.input) >= SELECTOR_BYTES:
            arguments_bytes = len(frame.input) - SELECTOR_BYTES
            self._counts[f"{encode_data(frame.input[:SELECTOR_BYTES])}-{arguments_bytes}"] += 1

    def result(self) -> object:
        """Return the counts by `selector-size`."""
        return dict(self._counts)
