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
    """Tells several tracers of everything, each opcode to those that watch it."""

    def __init__(self, tracers: Mapping[str, Tracer]) -> None:
        """Tell these tracers, by their names."""
        self.tracers = dict(tracers)
        self.watched_opcodes = frozenset[int]().union(
            *(tracer.watched_opcodes for tracer in tracers.values())
        )

    def on_tx_start(self, beginning: TransactionStart) -> None:
        """Pass on the start."""
        for tracer in self.tracers.values():
            tracer.on_tx_start(beginning)

    def on_opcode(self, step: OpcodeStep) -> None:
        """Pass on an opcode."""
        for tracer in self.tracers.values():
            if step.op in tracer.watched_opcodes:
                tracer.on_opcode(step)

    def on_opcode_end(self, step: OpcodeStep) -> None:
        """Pass on an opcode's end."""
        for tracer in self.tracers.values():
            if step.op in tracer.watched_opcodes:
                tracer.on_opcode_end(step)

    def on_enter(self, frame: CallFrame) -> None:
        """Pass on a call."""
        for tracer in self.tracers.values():
            tracer.on_enter(frame)

    def on_exit(self, frame: CallFrame) -> None:
        """Pass on a call's end."""
        for tracer in self.tracers.values():
            tracer.on_exit(frame)

    def on_log(self, entry: TracedLog) -> None:
        """Pass on a log."""
        for tracer in self.tracers.values():
            tracer.on_log(entry)

    def on_tx_end(self, gas_used: int) -> None:
        """Pass on the end."""
        for tracer in self.tracers.values():
            tracer.on_tx_end(gas_used)

    def result(self) -> object:
        """Return each one's result by its name."""
        return {name: tracer.result() for name, tracer in self.tracers.items()}
