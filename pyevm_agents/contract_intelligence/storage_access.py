"""Storage that calls read and write: whether a tool's metadata can change, and by whom.

`name()`, `description()` and `inputDescription()` are executed, and the slots that they read are
noted. evmole proposes the functions that write a slot; an example call that writes one confirms it.

Source: the ERC, `IERCAgentTool`; SECURITY.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eth.vm.stack import to_int
from eth_abi import encode
from eth_abi.exceptions import EncodingError
from eth_typing import Address
from eth_utils import keccak, to_checksum_address
from evmole import contract_info

from precompiles.abi import DESCRIPTION_SELECTOR, INPUT_DESCRIPTION_SELECTOR, NAME_SELECTOR
from pyevm_agents.chain import Call
from pyevm_agents.contract_intelligence.bytecode import MAX_CODE_BYTES
from pyevm_agents.contract_intelligence.capabilities import MetadataSlot, ToolMetadata
from pyevm_agents.contract_intelligence.contract_reader import READ_GAS
from pyevm_agents.tracing.opcodes import SLOAD, SSTORE, get_opcode
from pyevm_agents.tracing.tracer import NoopTracer, get_stack
from pyevm_agents.tracing.vm import make_traced_vm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.chain import CallResult, ChainSimulator
    from pyevm_agents.contract_intelligence.capabilities import (
        ContractIntelligence,
        FunctionCapability,
    )
    from pyevm_agents.tracing.tracer import CallFrame, OpcodeStep, TracedLog

METADATA_SELECTORS = (NAME_SELECTOR, DESCRIPTION_SELECTOR, INPUT_DESCRIPTION_SELECTOR)

VARYING_OPCODES = frozenset(
    {0x31, 0x32, 0x33, 0x3A, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x47, 0x48, 0x49, 0x4A}
)
"""BALANCE, ORIGIN, CALLER, GASPRICE, and what blocks tell, BLOCKHASH to BLOBBASEFEE: they differ
from call to call without a write. So does GAS, but compilers write it before each call."""

EFFECTS = frozenset({"CREATE", "CREATE2", "SELFDESTRUCT"})
"""Kinds of frames that a STATICCALL refuses."""

MAX_DATA_SLOTS = 1 << 10
"""Slots of one text or array, behind the hash of its own slot: 32 kilobytes."""

MAX_SHOWN_SLOTS = 64
"""Slots of a tool's metadata that are shown: two kilobytes of texts."""


class _AccessTracer(NoopTracer):
    """Notes slots that are read and written, and opcodes whose values differ from call to call."""

    watched_opcodes = frozenset({SLOAD, SSTORE}) | VARYING_OPCODES

    def __init__(self) -> None:
        self.has_effects = False
        """Whether the call would fail as a STATICCALL."""

        self.read: dict[tuple[Address, int], None] = {}
        self.written: dict[tuple[Address, int], None] = {}
        self.opcodes: dict[str, None] = {}

    def on_enter(self, frame: CallFrame) -> None:
        """Note creations, and transfers below the transaction's own call."""
        is_effect = frame.kind in EFFECTS or bool(frame.depth and frame.value_wei)
        self.has_effects |= is_effect

    def on_log(self, entry: TracedLog) -> None:  # noqa: ARG002 - as in all tracers
        """Note that there is a log."""
        self.has_effects = True

    def on_opcode(self, step: OpcodeStep) -> None:
        """Note what an opcode touches."""
        if step.op not in {SLOAD, SSTORE}:
            self.opcodes[get_opcode(step.op).name] = None
            return
        values = get_stack(step.computation).values
        self.has_effects |= step.op == SSTORE
        if values:
            slots = self.read if step.op == SLOAD else self.written
            slots[step.address, to_int(values[-1])] = None


def read_tool_metadata(
    chain: ChainSimulator, contract: ContractIntelligence
) -> ToolMetadata | None:
    """Return how the metadata of a tool can change; None if the contract is no tool.

    Input: the chain at its head; a contract, with the example calls of its functions.
    """
    place = _to_bytes(contract.address)
    tracer = _AccessTracer()
    for selector in METADATA_SELECTORS:
        call = Call(to=place, data=selector, gas=READ_GAS)
        result = _trace(chain, call, tracer)
        if result.error is not None or not result.output:
            return None
    writers = _list_writers(chain, contract)
    slots = [
        MetadataSlot(
            account=str(to_checksum_address(account)),
            slot=slot,
            writers=_find_writers(writers, account, slot) if account == place else (),
        )
        for account, slot in tracer.read
    ]
    return ToolMetadata(
        slots=tuple(slots[:MAX_SHOWN_SLOTS]),
        opcodes=tuple(tracer.opcodes),
        has_more_slots=len(slots) > MAX_SHOWN_SLOTS,
    )


def describe_metadata(contract: ContractIntelligence) -> str:
    """Return a sentence on whether the metadata of a tool can change, and by whom."""
    metadata = contract.tool_metadata
    if metadata is None:
        return ""
    others = {each.account for each in metadata.slots} - {contract.address}
    functions = sorted({name for each in metadata.slots for name in each.writers})
    causes = [f"{name}()" for name in functions]
    causes += [f"the contract {account}" for account in sorted(others)]
    causes += [f"the opcode {name}" for name in metadata.opcodes]
    if contract.is_upgradeable:
        causes.append("the implementation")
    size = len(metadata.slots)
    count = f"{size} {'slot' if size == 1 else 'slots'}{' or more' * metadata.has_more_slots}"
    if not causes:
        return f"reads {count}; nothing was found that changes it" if metadata.slots else "fixed"
    who = sorted({caller for name in functions for caller in _list_callers(contract, name)})
    callers = f"; called by {', '.join(who)}" if who else ""
    return f"reads {count}; can be changed by {', '.join(causes)}{callers}"


def confirm_effects(
    chain: ChainSimulator, contract: ContractIntelligence
) -> tuple[FunctionCapability, ...]:
    """Return a contract's functions; those whose example call has effects are not read-only.

    evmole calls some functions `view` that write.
    """
    place = _to_bytes(contract.address)

    def has_effects(function: FunctionCapability) -> bool:
        tracer = _trace_example(chain, place, function)
        return tracer is not None and tracer.has_effects

    return tuple(
        replace(each, is_read_only=False) if each.is_read_only and has_effects(each) else each
        for each in contract.functions
    )


def _list_callers(contract: ContractIntelligence, name: str) -> Sequence[str]:
    [function] = [each for each in contract.functions if each.name == name]
    account = [contract.account] if function in contract.can_write else []
    return [*account, *function.callers]


def _list_writers(
    chain: ChainSimulator, contract: ContractIntelligence
) -> Mapping[tuple[Address, int], Sequence[str]]:
    """Return the functions that write a slot, by evmole and by their example calls."""
    place = _to_bytes(contract.address)
    executed = _to_bytes(contract.implementation or contract.address)
    names = {each.selector.hex(): each.name for each in contract.functions}
    writers: dict[tuple[Address, int], dict[str, None]] = {}
    code = bytes(chain.state().get_code(executed))
    if len(code) <= MAX_CODE_BYTES:
        for record in contract_info(code, selectors=True, storage=True).storage or ():
            found = [names[each] for each in record.writes if each in names]
            writers.setdefault((place, int(record.slot, 16)), {}).update(dict.fromkeys(found))
    for function in contract.functions:
        tracer = None if function.is_read_only else _trace_example(chain, place, function)
        for written in () if tracer is None else tracer.written:
            writers.setdefault(written, {})[function.name] = None
    return {key: tuple(found) for key, found in writers.items()}


def _trace_example(
    chain: ChainSimulator, place: Address, function: FunctionCapability
) -> _AccessTracer | None:
    """Execute a function's example call; None if there is none, or it can't be encoded."""
    example = function.example
    if example is None:
        return None
    types = [parameter.abi_type for parameter in function.parameters]
    try:
        arguments = encode(types, example.args)
    except (EncodingError, TypeError, ValueError, OverflowError):
        return None
    tracer = _AccessTracer()
    call = Call(
        to=place,
        sender=_to_bytes(example.caller),
        data=function.selector + arguments,
        value_wei=example.value_wei,
    )
    _trace(chain, call, tracer)
    return tracer


def _find_writers(
    writers: Mapping[tuple[Address, int], Sequence[str]], account: Address, slot: int
) -> tuple[str, ...]:
    """Return the functions that write a slot, or the text or array that it belongs to."""
    found: dict[str, None] = {}
    for (place, written), names in writers.items():
        data = int.from_bytes(keccak(written.to_bytes(32, "big")), "big")
        if place == account and (written == slot or data <= slot < data + MAX_DATA_SLOTS):
            found |= dict.fromkeys(names)
    return tuple(found)


def _trace(chain: ChainSimulator, call: Call, tracer: _AccessTracer) -> CallResult:
    return chain.call(
        call, header=chain.head, trace=lambda vm_class: make_traced_vm(vm_class, tracer)
    )


def _to_bytes(address: str) -> Address:
    return Address(bytes.fromhex(address[2:]))
