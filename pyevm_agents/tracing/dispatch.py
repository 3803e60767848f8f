"""What happens in one transaction, told to a tracer in geth's order.

py-evm tells its computations when they begin and end, and asks their code for one opcode after
the other. That is all that this listens to, so a traced call is no deeper on Python's stack than
an untraced one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.exceptions import OutOfGas
from eth.vm.logic.call import max_child_gas_eip150

from pyevm_agents.tracing.error_messages import COLLISION, OUT_OF_GAS, words_of, words_of_deposit
from pyevm_agents.tracing.frames import (
    OpenCall,
    inheritance_frame,
    inner_frame,
    refusal,
    refused_frame,
    root_frame,
)
from pyevm_agents.tracing.gas import constant_gas, meter_of
from pyevm_agents.tracing.opcodes import CALLS, CREATES, SELFDESTRUCT, SSTORE, stack_error
from pyevm_agents.tracing.tracer import LogEntry, Step, stack_of

if TYPE_CHECKING:
    from eth.exceptions import VMError
    from eth.vm.computation import BaseComputation

    from pyevm_agents.tracing.tracer import Beginning, Tracer

OWN_OPCODES = CALLS | CREATES | {SELFDESTRUCT}
"""Opcodes that this looks at for the sake of frames, whatever the tracer watches."""


class Recorder:
    """Tells one tracer of one transaction."""

    def __init__(self, tracer: Tracer) -> None:
        """Listen for `tracer`."""
        self._tracer = tracer
        self._open: list[OpenCall] = []
        self._any = False
        self.watched = tracer.watches | OWN_OPCODES

    # -- the transaction -- #

    def begin(self, beginning: Beginning) -> None:
        """Take the transaction's start."""
        self._tracer.begin(beginning)

    def computed(self, computation: BaseComputation) -> None:
        """Take the end of the transaction's own call, its code kept if it is a creation."""
        self.settle()
        if not self._any:  # A creation at an address in use runs nothing.
            frame = root_frame(computation.msg)
            frame.gas_used = frame.gas
            frame.error = words_of(computation.error, None) if computation.is_error else None
            self._tracer.enter(frame)
            self._tracer.leave(frame)

    def end(self, gas_used: int) -> None:
        """Take the transaction's end."""
        self._tracer.end(gas_used)

    # -- calls -- #

    def enter(self, computation: BaseComputation) -> None:
        """Take the start of a computation."""
        message = computation.msg
        self._any = True
        intrinsic_gas = 0
        if not self._open:
            frame, refund = root_frame(message), int(message.refund)
            intrinsic_gas = message.gas - frame.gas
        else:
            parent = self._open[-1]
            parent.entered = True
            frame, refund = inner_frame(message, parent), parent.refund()
            if parent.step is not None:
                gas_left = parent.computation.get_gas_remaining()
                granted_gas = message.gas if message.is_create else 0
                parent.step.gas_cost = parent.step.gas - gas_left - granted_gas
        self._open.append(OpenCall(computation, frame, refund, intrinsic_gas))
        self._tracer.enter(frame)

    def halting(self, computation: BaseComputation) -> None:
        """Take the end of a computation's code, by an opcode that halts or without any."""
        if self._current(computation).step is not None:
            self.after(computation)

    def failing(
        self, computation: BaseComputation, error: VMError, op: int | None = None, height: int = 0
    ) -> None:
        """Take the failure of a computation, before py-evm burns its gas.

        Input: what failed; the opcode that did, and how high the stack was before it; None in a
               precompile.
        """
        current = self._current(computation)
        # geth looks at the stack before it takes gas, py-evm often after it.
        stack_words = None if op is None else stack_error(op, height)
        current.frame.error = stack_words or words_of(error, op)
        step, current.step = current.step, None
        if step is None:
            return
        meter = meter_of(computation)
        step.gas_cost = step.gas - meter.gas_remaining
        step.error = stack_words
        if stack_words is not None:
            step.gas_cost = constant_gas(computation, step.op)
        elif isinstance(error, OutOfGas):
            step.error = OUT_OF_GAS
            step.gas_cost += meter.asked
        if step.op in self._tracer.watches:
            self._tracer.stepped(step)

    def leave(self, computation: BaseComputation) -> None:
        """Take the end of a computation. A creation is left later: its code is yet to be kept."""
        self._open[-1].ended = True
        if not computation.msg.is_create:
            self.settle()

    def settle(self) -> None:
        """Leave the call that ended."""
        if not self._open or not self._open[-1].ended:
            return
        ended = self._open.pop()
        computation, frame = ended.computation, ended.frame
        frame.gas_used = computation.get_gas_used() - ended.intrinsic_gas
        frame.output = bytes(computation.output)
        if computation.is_error:
            if frame.error is None:
                code = computation._output  # noqa: SLF001 - `output` hides it after an error
                frame.error = words_of_deposit(computation.error, code)
        elif self._open:
            self._open[-1].refund_of_children += ended.refund_of_children + ended.own_refund()
        self._tracer.leave(frame)

    def log(self, computation: BaseComputation, topics: tuple[int, ...], data: bytes) -> None:
        """Take a log."""
        message = computation.msg
        self._tracer.log(
            LogEntry(depth=message.depth, address=message.storage_address, topics=topics, data=data)
        )

    # -- opcodes -- #

    def before(self, computation: BaseComputation, pc: int, op: int) -> None:
        """Take an opcode that is about to be executed."""
        current = self._open[-1]
        meter = meter_of(computation)
        step = Step(
            pc=pc,
            op=op,
            gas=meter.gas_remaining,
            depth=computation.msg.depth + 1,
            computation=computation,
            refund=current.refund(),
        )
        current.step = step
        if op in OWN_OPCODES:
            current.entered = False
            current.arguments = tuple(stack_of(computation).values[-7:])
            meter.lowest = meter.gas_remaining
            if op == SELFDESTRUCT:
                current.balance_wei = computation.state.get_balance(step.address)
        if op in self._tracer.watches:
            self._tracer.step(step)

    def after(self, computation: BaseComputation) -> None:
        """Take an opcode that was executed."""
        current = self._current(computation)
        step, current.step = current.step, None
        if step is None:
            return
        meter = meter_of(computation)
        if step.op == SSTORE:
            step.refund = current.refund()
        if step.op not in CALLS and step.op not in CREATES:
            step.gas_cost = step.gas - meter.gas_remaining
        elif not current.entered:
            self._refuse(current, step)
        if step.op == SELFDESTRUCT:
            frame = inheritance_frame(current, step)
            self._tracer.enter(frame)
            self._tracer.leave(frame)
        if step.op in self._tracer.watches:
            self._tracer.stepped(step)

    # -- inside -- #

    def _current(self, computation: BaseComputation) -> OpenCall:
        """Return a computation's own call, once one that it created is left."""
        if self._open[-1].computation is not computation:
            self.settle()
        return self._open[-1]

    def _refuse(self, current: OpenCall, step: Step) -> None:
        """Tell of a call or creation that py-evm refused, as a frame: geth enters it first."""
        computation = current.computation
        meter = meter_of(computation)
        reason = refusal(current, step)
        gas_used = 0
        if step.op in CALLS:
            step.gas_cost = step.gas - meter.lowest
            gas = meter.gas_remaining - meter.lowest
        elif reason == COLLISION:
            gas = gas_used = meter.charged
            step.gas_cost = step.gas - meter.gas_remaining - gas
        else:
            gas = max_child_gas_eip150(meter.gas_remaining)
            step.gas_cost = step.gas - meter.gas_remaining
        frame = refused_frame(current, step, gas)
        self._tracer.enter(frame)
        frame.gas_used, frame.error = gas_used, reason
        self._tracer.leave(frame)
