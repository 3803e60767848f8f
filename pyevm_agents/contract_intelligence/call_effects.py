"""Effects of calls: whether a function that seems to read only also writes.

evmole calls some functions `view` that write, and so may the file of an ABI. An example call that a
STATICCALL would refuse shows it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_abi.exceptions import EncodingError
from eth_typing import Address

from pyevm_agents.chain import Call
from pyevm_agents.tracing.opcodes import SSTORE
from pyevm_agents.tracing.tracer import NoopTracer
from pyevm_agents.tracing.vm import make_traced_vm

if TYPE_CHECKING:
    from pyevm_agents.chain import ChainSimulator
    from pyevm_agents.contract_intelligence.capabilities import (
        ContractIntelligence,
        FunctionCapability,
    )
    from pyevm_agents.tracing.tracer import CallFrame, OpcodeStep, TracedLog

TSTORE = 0x5D
EFFECTS = frozenset({"CREATE", "CREATE2", "SELFDESTRUCT"})
"""Kinds of frames that a STATICCALL refuses."""


class _EffectTracer(NoopTracer):
    """Notes whether a call would fail as a STATICCALL. Source: EIP-214, EIP-1153."""

    watched_opcodes = frozenset({SSTORE, TSTORE})

    def __init__(self) -> None:
        self.has_effects = False

    def on_enter(self, frame: CallFrame) -> None:
        """Note creations, and transfers below the transaction's own call."""
        self.has_effects |= frame.kind in EFFECTS or bool(frame.depth and frame.value_wei)

    def on_log(self, entry: TracedLog) -> None:  # noqa: ARG002 - as in all tracers
        """Note a log."""
        self.has_effects = True

    def on_opcode(self, step: OpcodeStep) -> None:  # noqa: ARG002 - as in all tracers
        """Note a write."""
        self.has_effects = True


def confirm_effects(
    chain: ChainSimulator, contract: ContractIntelligence
) -> tuple[FunctionCapability, ...]:
    """Return a contract's functions; those whose example call has effects are not read-only."""
    place = Address(bytes.fromhex(contract.address[2:]))
    return tuple(
        replace(each, is_read_only=False)
        if each.is_read_only and _has_effects(chain, place, each)
        else each
        for each in contract.functions
    )


def _has_effects(chain: ChainSimulator, place: Address, function: FunctionCapability) -> bool:
    """Execute a function's example call; False without an example, or if not encodable."""
    example = function.example
    if example is None:
        return False
    types = [parameter.abi_type for parameter in function.parameters]
    try:
        arguments = encode(types, example.args)
    except (EncodingError, TypeError, ValueError, OverflowError):
        return False
    tracer = _EffectTracer()
    call = Call(
        to=place,
        sender=Address(bytes.fromhex(example.caller[2:])),
        data=function.selector + arguments,
        value_wei=example.value_wei,
    )
    chain.call(call, header=chain.head, trace=lambda vm_class: make_traced_vm(vm_class, tracer))
    return tracer.has_effects
