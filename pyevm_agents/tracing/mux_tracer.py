"""Several tracers of one execution: geth's muxTracer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.tracing.tracer import (
        CallFrame,
        OpcodeStep,
        TracedLog,
        Tracer,
        TransactionStart,
    )


class MuxTracer:
    """Forwards events to several tracers; opcodes only to those that watch opcodes."""

    def __init__(self, tracers: Mapping[str, Tracer]) -> None:
        """Create a tracer from others by name."""
        self.tracers = dict(tracers)
        self.watched_opcodes = frozenset[int]().union(
            *(tracer.watched_opcodes for tracer in tracers.values())
        )

    def on_tx_start(self, start: TransactionStart) -> None:
        """Forward the transaction's start."""
        for tracer in self.tracers.values():
            tracer.on_tx_start(start)

    def on_opcode(self, step: OpcodeStep) -> None:
        """Forward an opcode."""
        for tracer in self.tracers.values():
            if step.op in tracer.watched_opcodes:
                tracer.on_opcode(step)

    def on_opcode_end(self, step: OpcodeStep) -> None:
        """Forward an opcode's end."""
        for tracer in self.tracers.values():
            if step.op in tracer.watched_opcodes:
                tracer.on_opcode_end(step)

    def on_enter(self, frame: CallFrame) -> None:
        """Forward a call's start."""
        for tracer in self.tracers.values():
            tracer.on_enter(frame)

    def on_exit(self, frame: CallFrame) -> None:
        """Forward a call's end."""
        for tracer in self.tracers.values():
            tracer.on_exit(frame)

    def on_log(self, entry: TracedLog) -> None:
        """Forward a log."""
        for tracer in self.tracers.values():
            tracer.on_log(entry)

    def on_tx_end(self, gas_used: int) -> None:
        """Forward the transaction's end."""
        for tracer in self.tracers.values():
            tracer.on_tx_end(gas_used)

    def result(self) -> object:
        """Return each tracer's result by name."""
        return {name: tracer.result() for name, tracer in self.tracers.items()}
