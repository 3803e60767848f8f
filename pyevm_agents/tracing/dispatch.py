"""Dispatcher: reports the execution of one transaction to a tracer as events, in geth's order.

The dispatcher uses py-evm's hooks at the start and end of computations, and the iteration over
opcodes. A traced call therefore needs no more of Python's stack than an untraced one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.exceptions import OutOfGas
from eth.vm.logic.call import max_child_gas_eip150

from pyevm_agents.tracing.error_messages import (
    COLLISION,
    OUT_OF_GAS,
    describe_deposit_error,
    describe_error,
)
from pyevm_agents.tracing.frames import (
    OpenCall,
    build_inner_frame,
    build_refused_frame,
    build_root_frame,
    build_selfdestruct_frame,
    find_refusal_reason,
)
from pyevm_agents.tracing.gas import REORDERED, constant_gas, explain_out_of_gas, get_meter
from pyevm_agents.tracing.opcodes import CALLS, CREATES, SELFDESTRUCT, SSTORE, check_stack_height
from pyevm_agents.tracing.tracer import OpcodeStep, TracedLog, get_stack
from pyevm_agents.vm.interpreter import price_out

if TYPE_CHECKING:
    from eth.exceptions import VMError
    from eth.vm.computation import BaseComputation

    from pyevm_agents.tracing.tracer import Tracer, TransactionStart

OWN_OPCODES = REORDERED | {SELFDESTRUCT}
"""Opcodes observed to build call frames and to explain failures, in addition to those that the
tracer watches."""


class TracerDispatcher:
    """Reports one transaction to one tracer."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._open_calls: list[OpenCall] = []
        self._has_entered = False
        self.watched_opcodes = tracer.watched_opcodes | OWN_OPCODES
        self.prices = price_out(self.watched_opcodes)

    # -- the transaction -- #

    def on_tx_start(self, start: TransactionStart) -> None:
        """Report the transaction's start."""
        self._tracer.on_tx_start(start)

    def on_root_call_end(self, computation: BaseComputation) -> None:
        """Report the end of the transaction's own call, after a creation's code was deposited."""
        self.exit_ended_call()
        if not self._has_entered:  # A creation at an address in use executes no code.
            frame = build_root_frame(computation.msg)
            frame.gas_used = frame.gas
            frame.error = describe_error(computation.error, None) if computation.is_error else None
            self._tracer.on_enter(frame)
            self._tracer.on_exit(frame)

    def on_tx_end(self, gas_used: int) -> None:
        """Report the transaction's end."""
        self._tracer.on_tx_end(gas_used)

    # -- calls -- #

    def on_call_start(self, computation: BaseComputation) -> None:
        """Report the start of a computation."""
        message = computation.msg
        self._has_entered = True
        intrinsic_gas = 0
        if not self._open_calls:
            frame, refund = build_root_frame(message), int(message.refund)
            intrinsic_gas = message.gas - frame.gas
        else:
            parent = self._open_calls[-1]
            parent.has_entered = True
            frame, refund = build_inner_frame(message, parent), parent.compute_refund()
            if parent.step is not None:
                gas_left = parent.computation.get_gas_remaining()
                granted_gas = message.gas if message.is_create else 0
                parent.step.gas_cost = parent.step.gas - gas_left - granted_gas
        self._open_calls.append(OpenCall(computation, frame, refund, intrinsic_gas))
        self._tracer.on_enter(frame)

    def on_halt(self, computation: BaseComputation) -> None:
        """Handle the end of a computation's code, by a halting opcode or at the end of the code."""
        if self._get_current_call(computation).step is not None:
            self.after_opcode(computation)

    def on_failure(
        self,
        computation: BaseComputation,
        error: VMError,
        op: int | None = None,
        *,
        height: int = 0,
        memory_bytes: int = 0,
    ) -> None:
        """Handle the failure of a computation, before py-evm burns its gas.

        Input: the error; the opcode that failed, or None in a precompile; the stack height before;
               the memory that the computation requested last.
        """
        current = self._get_current_call(computation)
        # geth checks the stack before it charges gas, py-evm often after it.
        stack_error = None if op is None else check_stack_height(op, height)
        if stack_error is None and op is not None and isinstance(error, OutOfGas):
            current.frame.error = explain_out_of_gas(
                computation,
                op,
                memory_bytes=memory_bytes,
                gas=0 if current.step is None else current.step.gas,
                arguments=current.arguments,
            )
        else:
            current.frame.error = stack_error or describe_error(error, op)
        step, current.step = current.step, None
        if step is None:
            return
        meter = get_meter(computation)
        step.gas_cost = step.gas - meter.gas_remaining
        step.error = stack_error
        if stack_error is not None:
            step.gas_cost = constant_gas(computation, step.op)
        elif isinstance(error, OutOfGas):
            step.error = current.frame.error
            constant = constant_gas(computation, step.op)
            if step.error == OUT_OF_GAS and step.gas >= constant:
                step.gas_cost += meter.requested_gas
            else:  # geth does not compute the rest of the price.
                step.gas_cost = constant
        if step.op in self._tracer.watched_opcodes:
            self._tracer.on_opcode_end(step)

    def on_call_end(self, computation: BaseComputation) -> None:
        """Handle the end of a computation. A creation is left once the code is deposited."""
        self._open_calls[-1].has_ended = True
        if not computation.msg.is_create:
            self.exit_ended_call()

    def exit_ended_call(self) -> None:
        """Report the end of the call that has ended, if any."""
        if not self._open_calls or not self._open_calls[-1].has_ended:
            return
        ended = self._open_calls.pop()
        computation, frame = ended.computation, ended.frame
        frame.gas_used = computation.get_gas_used() - ended.intrinsic_gas
        frame.output = bytes(computation.output)
        if computation.is_error:
            if frame.error is None:
                frame.error = describe_deposit_error(computation.error)
        elif self._open_calls:
            self._open_calls[-1].refund_of_children += (
                ended.refund_of_children + ended.get_own_refund()
            )
        self._tracer.on_exit(frame)

    def on_log(self, computation: BaseComputation, topics: tuple[int, ...], data: bytes) -> None:
        """Report a log."""
        message = computation.msg
        self._tracer.on_log(
            TracedLog(
                depth=message.depth, address=message.storage_address, topics=topics, data=data
            )
        )

    # -- opcodes -- #

    def before_opcode(self, computation: BaseComputation, pc: int, op: int) -> None:
        """Handle an opcode before the execution."""
        current = self._open_calls[-1]
        meter = get_meter(computation)
        step = OpcodeStep(
            pc=pc,
            op=op,
            gas=meter.gas_remaining,
            depth=computation.msg.depth + 1,
            computation=computation,
            refund=current.compute_refund(),
        )
        current.step = step
        if op in OWN_OPCODES:
            current.has_entered = False
            current.arguments = tuple(get_stack(computation).values[-7:])
            meter.lowest_gas = meter.gas_remaining
            if op == SELFDESTRUCT:
                current.balance_wei = computation.state.get_balance(step.address)
        if op in self._tracer.watched_opcodes:
            self._tracer.on_opcode(step)

    def after_opcode(self, computation: BaseComputation) -> None:
        """Handle an opcode after the execution."""
        current = self._get_current_call(computation)
        step, current.step = current.step, None
        if step is None:
            return
        meter = get_meter(computation)
        if step.op == SSTORE:
            step.refund = current.compute_refund()
        if step.op not in CALLS and step.op not in CREATES:
            step.gas_cost = step.gas - meter.gas_remaining
        elif not current.has_entered:
            self._emit_refused_frame(current, step)
        if step.op == SELFDESTRUCT:
            frame = build_selfdestruct_frame(current, step)
            self._tracer.on_enter(frame)
            self._tracer.on_exit(frame)
        if step.op in self._tracer.watched_opcodes:
            self._tracer.on_opcode_end(step)

    # -- internals -- #

    def _get_current_call(self, computation: BaseComputation) -> OpenCall:
        """Return the open call of a computation, after leaving the creation that ended last."""
        if self._open_calls[-1].computation is not computation:
            self.exit_ended_call()
        return self._open_calls[-1]

    def _emit_refused_frame(self, current: OpenCall, step: OpcodeStep) -> None:
        """Report a call or creation that py-evm rejected, because geth enters the frame first."""
        computation = current.computation
        meter = get_meter(computation)
        reason = find_refusal_reason(current, step)
        gas_used = 0
        if step.op in CALLS:
            step.gas_cost = step.gas - meter.lowest_gas
            gas = meter.gas_remaining - meter.lowest_gas
        elif reason == COLLISION:
            gas = gas_used = meter.last_charge
            step.gas_cost = step.gas - meter.gas_remaining - gas
        else:
            gas = max_child_gas_eip150(meter.gas_remaining)
            step.gas_cost = step.gas - meter.gas_remaining
        frame = build_refused_frame(current, step, gas)
        self._tracer.on_enter(frame)
        frame.gas_used, frame.error = gas_used, reason
        self._tracer.on_exit(frame)
