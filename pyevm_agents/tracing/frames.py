"""The frames of calls, from py-evm's messages and from the opcodes that ask for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth._utils.address import force_bytes_to_address
from eth._utils.numeric import ceil32
from eth.constants import STACK_DEPTH_LIMIT, UINT_64_MAX
from eth.vm.forks.shanghai.constants import INITCODE_WORD_COST
from eth.vm.stack import to_bytes, to_int

from pyevm_agents.tracing.error_messages import (
    COLLISION,
    INSUFFICIENT_BALANCE,
    NONCE_OVERFLOW,
    TOO_DEEP,
)
from pyevm_agents.tracing.gas import get_meter
from pyevm_agents.tracing.opcodes import CALL, CALLCODE, CREATES, STATICCALL, get_opcode
from pyevm_agents.tracing.tracer import CallFrame, OpcodeStep

if TYPE_CHECKING:
    from eth.abc import MessageAPI
    from eth.vm.computation import BaseComputation
    from eth_typing import Address

WORD_BYTES = 32


@dataclass(slots=True)
class OpenCall:
    """A call that was entered and not left."""

    computation: BaseComputation
    frame: CallFrame
    refund_before: int
    """The transaction's refund counter at its start."""

    intrinsic_gas: int = 0
    """What py-evm charges of it that is the transaction's: the words of its initcode."""

    refund_of_children: int = 0
    step: OpcodeStep | None = None
    """The opcode that is being executed."""

    arguments: tuple[int | bytes, ...] = ()
    """The stack's top seven items before that opcode, the top last."""

    balance_wei: int = 0
    """Its balance before a SELFDESTRUCT."""

    has_entered: bool = False
    """Whether that opcode entered a call."""

    has_ended: bool = False

    def compute_refund(self) -> int:
        """Return the transaction's refund counter."""
        return self.refund_before + self.refund_of_children + self.get_own_refund()

    def get_own_refund(self) -> int:
        """Return what its own code added to that counter."""
        return get_meter(self.computation).gas_refunded


def build_selfdestruct_frame(current: OpenCall, step: OpcodeStep) -> CallFrame:
    """Return the frame of a SELFDESTRUCT's transfer: geth tells of it as of a call."""
    return CallFrame(
        kind="SELFDESTRUCT",
        depth=step.depth,
        sender=step.address,
        to=force_bytes_to_address(to_bytes(current.arguments[-1])),
        value_wei=current.balance_wei,
        input=b"",
        gas=0,
    )


def build_root_frame(message: MessageAPI) -> CallFrame:
    """Return the frame of a transaction's own call."""
    return CallFrame(
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


def build_inner_frame(message: MessageAPI, parent: OpenCall) -> CallFrame:
    """Return the frame of a call that another made: by an opcode, or as a precompile may."""
    if parent.step is not None:
        kind = get_opcode(parent.step.op).name
        callee = _get_callee(parent)
    else:
        kind = "STATICCALL" if message.is_static else "CALL"
        callee = message.to
    return CallFrame(
        kind=kind,
        depth=message.depth,
        sender=parent.computation.msg.storage_address,
        to=message.storage_address if message.is_create else callee,
        value_wei=None if kind == "STATICCALL" else message.value,
        input=bytes(message.code if message.is_create else message.data),
        gas=message.gas,
    )


def _get_callee(caller: OpenCall) -> Address:
    """Return whom a call opcode names: py-evm's message tells only where the code came from."""
    return force_bytes_to_address(to_bytes(caller.arguments[-2]))


def build_refused_frame(current: OpenCall, step: OpcodeStep, gas: int) -> CallFrame:
    """Return the frame of a call or creation that was refused: geth enters it all the same."""
    arguments = [to_int(value) for value in reversed(current.arguments)]
    if step.op in CREATES:
        value_wei, start, size = arguments[:3]
        callee = force_bytes_to_address(b"")
    elif step.op in {CALL, CALLCODE}:
        value_wei, start, size = arguments[2:5]
        callee = _get_callee(current)
    else:
        value_wei = current.computation.msg.value
        start, size = arguments[2:4]
        callee = _get_callee(current)
    return CallFrame(
        kind=get_opcode(step.op).name,
        depth=step.depth,
        sender=step.address,
        to=callee,
        value_wei=None if step.op == STATICCALL else value_wei,
        input=current.computation.memory_read_bytes(start, size),
        gas=gas,
    )


def find_refusal_reason(current: OpenCall, step: OpcodeStep) -> str:
    """Return why a call or creation was refused: py-evm looks in this order too."""
    computation = current.computation
    if computation.msg.depth + 1 > STACK_DEPTH_LIMIT:
        return TOO_DEEP
    position = -1 if step.op in CREATES else -3
    value_wei = to_int(current.arguments[position]) if step.op in {CALL, CALLCODE, *CREATES} else 0
    if computation.state.get_balance(step.address) < value_wei:
        return INSUFFICIENT_BALANCE
    if step.op in CREATES and computation.state.get_nonce(step.address) >= UINT_64_MAX:
        return NONCE_OVERFLOW
    return COLLISION
