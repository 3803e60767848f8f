"""What happens in one transaction, told to a tracer in geth's order.

py-evm tells its computations when they begin and end, and asks their code for one opcode after
the other. That is all that this listens to, so a traced call is no deeper on Python's stack than
an untraced one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth._utils.address import force_bytes_to_address
from eth._utils.numeric import ceil32
from eth.constants import STACK_DEPTH_LIMIT, UINT_64_MAX
from eth.exceptions import OutOfGas
from eth.vm.forks.shanghai.constants import INITCODE_WORD_COST
from eth.vm.logic.call import max_child_gas_eip150
from eth.vm.stack import to_bytes, to_int

from pyevm_agents.tracing.events import Frame, LogEntry, Step, stack_of
from pyevm_agents.tracing.failures import (
    COLLISION,
    NONCE_AT_ITS_END,
    OUT_OF_GAS,
    TOO_DEEP,
    TOO_POOR,
    words_of,
    words_of_deposit,
)
from pyevm_agents.tracing.gas import constant_gas, meter_of
from pyevm_agents.tracing.opcodes import (
    CALL,
    CALLCODE,
    CALLS,
    CREATE,
    CREATES,
    SELFDESTRUCT,
    SSTORE,
    STATICCALL,
    form_of,
    stack_error,
)

if TYPE_CHECKING:
    from eth.abc import MessageAPI
    from eth.exceptions import VMError
    from eth.vm.computation import BaseComputation
    from eth_typing import Address

    from pyevm_agents.tracing.events import Beginning, Tracer

WORD_BYTES = 32
OWN_OPCODES = CALLS | CREATES | {SELFDESTRUCT}
"""Opcodes that this looks at for the sake of frames, whatever the tracer watches."""


@dataclass(slots=True)
class _Open:
    """A call that was entered and not left."""

    computation: BaseComputation
    frame: Frame
    refund_before: int
    """The transaction's refund counter at its start."""

    intrinsic_gas: int = 0
    """What py-evm charges of it that is the transaction's: the words of its initcode."""

    refund_of_children: int = 0
    step: Step | None = None
    """The opcode that is being executed."""

    arguments: tuple[int | bytes, ...] = ()
    """The stack's top seven items before that opcode, the top last."""

    balance_wei: int = 0
    """Its balance before a SELFDESTRUCT."""

    entered: bool = False
    """Whether that opcode entered a call."""

    ended: bool = False

    def refund(self) -> int:
        return self.refund_before + self.refund_of_children + self.own_refund()

    def own_refund(self) -> int:
        return meter_of(self.computation).gas_refunded


class Recorder:
    """Tells one tracer of one transaction."""

    def __init__(self, tracer: Tracer) -> None:
        """Listen for `tracer`."""
        self._tracer = tracer
        self._open: list[_Open] = []
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
            frame = _root_frame(computation.msg)
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
            frame, refund = _root_frame(message), int(message.refund)
            intrinsic_gas = message.gas - frame.gas
        else:
            parent = self._open[-1]
            parent.entered = True
            frame, refund = _inner_frame(message, parent), parent.refund()
            if parent.step is not None:
                gas_left = parent.computation.get_gas_remaining()
                granted_gas = message.gas if message.is_create else 0
                parent.step.gas_cost = parent.step.gas - gas_left - granted_gas
        self._open.append(_Open(computation, frame, refund, intrinsic_gas))
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
            if meter.asked > meter.gas_remaining:
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
            self._inherit(current, step)
        if step.op in self._tracer.watches:
            self._tracer.stepped(step)

    # -- inside -- #

    def _current(self, computation: BaseComputation) -> _Open:
        """Return a computation's own call, once one that it created is left."""
        if self._open[-1].computation is not computation:
            self.settle()
        return self._open[-1]

    def _refuse(self, current: _Open, step: Step) -> None:
        """Tell of a call or creation that py-evm refused, as a frame: geth enters it first."""
        computation = current.computation
        meter = meter_of(computation)
        reason = _refusal(current, step)
        gas_used = 0
        if step.op in CALLS:
            step.gas_cost = step.gas - meter.lowest
            gas = meter.gas_remaining - meter.lowest
        elif reason == COLLISION:
            gas = gas_used = meter.asked
            step.gas_cost = step.gas - meter.gas_remaining - gas
        else:
            gas = max_child_gas_eip150(meter.gas_remaining)
            step.gas_cost = step.gas - meter.gas_remaining
        frame = _refused_frame(current, step, gas)
        self._tracer.enter(frame)
        frame.gas_used, frame.error = gas_used, reason
        self._tracer.leave(frame)

    def _inherit(self, current: _Open, step: Step) -> None:
        """Tell of a SELFDESTRUCT's transfer, as a frame: geth does."""
        frame = Frame(
            kind="SELFDESTRUCT",
            depth=step.depth,
            sender=step.address,
            to=force_bytes_to_address(to_bytes(current.arguments[-1])),
            value_wei=current.balance_wei,
            input=b"",
            gas=0,
        )
        self._tracer.enter(frame)
        self._tracer.leave(frame)


def _root_frame(message: MessageAPI) -> Frame:
    return Frame(
        kind="CREATE" if message.is_create else "CALL",
        depth=0,
        sender=message.sender,
        to=message.storage_address if message.is_create else message.to,
        value_wei=message.value,
        input=bytes(message.code if message.is_create else message.data),
        gas=max(0, message.gas - _initcode_gas(message)),
    )


def _initcode_gas(message: MessageAPI) -> int:
    """Return what a transaction pays for the words of its initcode, before its call begins."""
    if not message.is_create:
        return 0
    return INITCODE_WORD_COST * (ceil32(len(message.code)) // WORD_BYTES)


def _inner_frame(message: MessageAPI, parent: _Open) -> Frame:
    """Return the frame of a call that another made: by an opcode, or as a precompile may."""
    if parent.step is not None:
        kind = form_of(parent.step.op).name
        callee = _callee(parent)
    else:
        kind = "STATICCALL" if message.is_static else "CALL"
        callee = message.to
    return Frame(
        kind=kind,
        depth=message.depth,
        sender=parent.computation.msg.storage_address,
        to=message.storage_address if message.is_create else callee,
        value_wei=None if kind == "STATICCALL" else message.value,
        input=bytes(message.code if message.is_create else message.data),
        gas=message.gas,
    )


def _callee(caller: _Open) -> Address:
    """Return whom a call opcode names: py-evm's message tells only where the code came from."""
    return force_bytes_to_address(to_bytes(caller.arguments[-2]))


def _refused_frame(current: _Open, step: Step, gas: int) -> Frame:
    arguments = [to_int(value) for value in reversed(current.arguments)]
    if step.op in CREATES:
        value_wei, start, size = arguments[:3]
        callee = force_bytes_to_address(b"")
    elif step.op in {CALL, CALLCODE}:
        value_wei, start, size = arguments[2:5]
        callee = _callee(current)
    else:
        value_wei = current.computation.msg.value
        start, size = arguments[2:4]
        callee = _callee(current)
    return Frame(
        kind=form_of(step.op).name,
        depth=step.depth,
        sender=step.address,
        to=callee,
        value_wei=None if step.op == STATICCALL else value_wei,
        input=current.computation.memory_read_bytes(start, size),
        gas=gas,
    )


def _refusal(current: _Open, step: Step) -> str:
    """Return why a call or creation was refused: py-evm looks in this order too."""
    computation = current.computation
    if computation.msg.depth + 1 > STACK_DEPTH_LIMIT:
        return TOO_DEEP
    position = -1 if step.op in CREATES else -3
    value_wei = to_int(current.arguments[position]) if step.op in {CALL, CALLCODE, *CREATES} else 0
    if computation.state.get_balance(step.address) < value_wei:
        return TOO_POOR
    if step.op == CREATE and computation.state.get_nonce(step.address) >= UINT_64_MAX:
        return NONCE_AT_ITS_END
    return COLLISION
