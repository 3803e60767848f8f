"""Call frames, built from py-evm's messages and from the opcodes that make calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth._utils.address import force_bytes_to_address
from eth._utils.numeric import ceil32
from eth.constants import STACK_DEPTH_LIMIT, UINT_64_MAX
from eth.vm.forks.shanghai.constants import INITCODE_WORD_COST
from eth.vm.stack import to_bytes, to_int

from precompiles.spec import WORD_BYTES
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


@dataclass(slots=True)
class OpenCall:
    """A call that has been entered but not left."""

    computation: BaseComputation
    frame: CallFrame
    refund_before: int
    """The transaction's refund counter at the start of the call."""

    intrinsic_gas: int = 0
    """Gas for the words of initcode, which py-evm charges to the call, geth to the transaction."""

    refund_of_children: int = 0
    step: OpcodeStep | None = None
    """The current opcode."""

    arguments: tuple[int | bytes, ...] = ()
    """The top seven stack items before the current opcode, the top last."""

    balance_wei: int = 0
    """The account's balance before a SELFDESTRUCT."""

    has_entered: bool = False
    """Whether the current opcode has entered a call."""

    has_ended: bool = False

    def compute_refund(self) -> int:
        """Return the transaction's refund counter."""
        return self.refund_before + self.refund_of_children + self.get_own_refund()

    def get_own_refund(self) -> int:
        """Return the refund added by the call's own code."""
        return get_meter(self.computation).gas_refunded


def build_selfdestruct_frame(current: OpenCall, step: OpcodeStep) -> CallFrame:
    """Build the frame of a SELFDESTRUCT's transfer, which geth reports as a call."""
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
    """Build the frame of a transaction's own call."""
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
    """Return the gas that a transaction pays for the words of initcode, before the call."""
    if not message.is_create:
        return 0
    return INITCODE_WORD_COST * (ceil32(len(message.code)) // WORD_BYTES)


def build_inner_frame(message: MessageAPI, parent: OpenCall) -> CallFrame:
    """Build the frame of an inner call, made by an opcode or by a precompile."""
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
    """Return the callee of a call opcode; py-evm's message has only the code address."""
    return force_bytes_to_address(to_bytes(caller.arguments[-2]))


def build_refused_frame(current: OpenCall, step: OpcodeStep, gas: int) -> CallFrame:
    """Build the frame of a rejected call or creation, which geth enters nevertheless."""
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
    """Return why a call or creation was rejected, checking in py-evm's order."""
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
