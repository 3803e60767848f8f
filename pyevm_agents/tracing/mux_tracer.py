"""Several tracers of one execution: geth's muxTracer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.tracing.tracer import Beginning, Frame, LogEntry, Step, Tracer


class MuxTracer:
    """Tells several tracers of everything, each opcode to those that watch it."""

    def __init__(self, tracers: Mapping[str, Tracer]) -> None:
        """Tell these tracers, by their names."""
        self.tracers = dict(tracers)
        self.watches = frozenset[int]().union(*(tracer.watches for tracer in tracers.values()))

    def begin(self, beginning: Beginning) -> None:
        """Pass on the start."""
        for tracer in self.tracers.values():
            tracer.begin(beginning)

    def step(self, step: Step) -> None:
        """Pass on an opcode."""
        for tracer in self.tracers.values():
            if step.op in tracer.watches:
                tracer.step(step)

    def stepped(self, step: Step) -> None:
        """Pass on an opcode's end."""
        for tracer in self.tracers.values():
            if step.op in tracer.watches:
                tracer.stepped(step)

    def enter(self, frame: Frame) -> None:
        """Pass on a call."""
        for tracer in self.tracers.values():
            tracer.enter(frame)

    def leave(self, frame: Frame) -> None:
        """Pass on a call's end."""
        for tracer in self.tracers.values():
            tracer.leave(frame)

    def log(self, entry: LogEntry) -> None:
        """Pass on a log."""
        for tracer in self.tracers.values():
            tracer.log(entry)

    def end(self, gas_used: int) -> None:
        """Pass on the end."""
        for tracer in self.tracers.values():
            tracer.end(gas_used)

    def result(self) -> object:
        """Return each one's result by its name."""
        return {name: tracer.result() for name, tracer in self.tracers.items()}
