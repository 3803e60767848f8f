"""Stability of a tool's metadata: whether name or descriptions can change, and by which accounts.

A tool's texts are read again at each step, so changed texts reach the model. Slots are those that
the reads load, in the tool and in called contracts. Running the tool's functions shows which
accounts can write the slots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from eth._utils.state import code_is_delegation_designation
from eth.vm import opcode_values as op
from eth_typing import Address
from eth_utils import to_canonical_address

from precompiles.abi import DESCRIPTION_SELECTOR, INPUT_DESCRIPTION_SELECTOR, NAME_SELECTOR
from pyevm_agents.chain import Call
from pyevm_agents.contract_intelligence.access import analyse_functions
from pyevm_agents.contract_intelligence.calldata_layout import encode_arguments
from pyevm_agents.contract_intelligence.capabilities import Access, FunctionCapability
from pyevm_agents.contract_intelligence.conditions import ADDRESS_MASK
from pyevm_agents.contract_intelligence.probe import PROBE_GAS, CallProbe, Prober, to_hex_address
from pyevm_agents.tracing.tracer import NoopTracer
from pyevm_agents.tracing.vm import make_traced_vm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyevm_agents.chain import Chain
    from pyevm_agents.contract_intelligence.probe import ProbeResult
    from pyevm_agents.tracing.tracer import OpcodeStep

METADATA_SELECTORS: Mapping[str, bytes] = {
    "name": NAME_SELECTOR,
    "description": DESCRIPTION_SELECTOR,
    "inputDescription": INPUT_DESCRIPTION_SELECTOR,
}

ENVIRONMENT_OPCODES: Mapping[int, str] = {
    op.BALANCE: "BALANCE",
    op.ORIGIN: "ORIGIN",
    op.CALLER: "CALLER",
    op.GASPRICE: "GASPRICE",
    op.EXTCODEHASH: "EXTCODEHASH",
    op.BLOCKHASH: "BLOCKHASH",
    op.COINBASE: "COINBASE",
    op.TIMESTAMP: "TIMESTAMP",
    op.NUMBER: "NUMBER",
    op.DIFFICULTY: "PREVRANDAO",
    op.GASLIMIT: "GASLIMIT",
    op.SELFBALANCE: "SELFBALANCE",
    op.BASEFEE: "BASEFEE",
}
"""Opcodes whose values change without a write to storage."""


class CodeChange(StrEnum):
    """How the code of a contract can change."""

    PROXY = "proxy"
    """It delegates to an address that it reads from storage."""

    DELEGATION = "delegation"
    """It is an account that delegates to code (EIP-7702), and can delegate to other code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataSlot:
    """A slot that the metadata depend on, and the accounts that can write there."""

    account: str
    slot: int
    readers: tuple[str, ...]
    """The metadata functions that read it."""

    writers: tuple[str, ...] = ()
    """Functions of the tool that write it, by signature."""

    callers: tuple[str, ...] = ()
    """Accounts that may call those."""

    is_open: bool = False
    """Whether the account may call one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataStability:
    """Whether a tool's metadata can change."""

    slots: tuple[MetadataSlot, ...] = ()
    code_changes: tuple[tuple[str, CodeChange], ...] = ()
    """Contracts whose code can change, with the way."""

    environment: tuple[str, ...] = ()
    """Opcodes that the reads execute and whose values change by themselves."""

    failed: tuple[str, ...] = ()
    """Metadata functions that reverted."""

    @property
    def can_change(self) -> bool:
        """Whether anything was found by which the metadata can change."""
        return bool(self.slots or self.code_changes or self.environment)


def inspect_metadata(
    chain: Chain,
    tool: str | bytes,
    functions: Sequence[FunctionCapability],
    account: str | bytes,
    *,
    known_accounts: Mapping[str, str] | None = None,
) -> MetadataStability:
    """Determine whether a tool's name and descriptions can change.

    Input: as for `analyse_functions`; the functions are the tool's, also proposed ones.
    Raises: EngineFault, RemoteFault: the host or the remote node failed.
    """
    address = Address(to_canonical_address(tool))
    prober = Prober(chain, known=chain.known_contracts)
    reads = {name: prober.read(address, selector) for name, selector in METADATA_SELECTORS.items()}
    readers: dict[tuple[Address, int], list[str]] = {}
    for name, result in reads.items():
        for read in result.tape.reads:
            names = readers.setdefault((read.account, read.slot), [])
            if name not in names:
                names.append(name)
    writers = (
        _find_writers(chain, prober, address, functions, account, known_accounts) if readers else {}
    )
    return MetadataStability(
        slots=tuple(
            _describe_slot(place, tuple(names), writers.get(place, []))
            for place, names in readers.items()
        ),
        code_changes=_find_code_changes(chain, address, reads.values()),
        environment=_find_environment(chain, address),
        failed=tuple(name for name, result in reads.items() if not result.is_success),
    )


def _describe_slot(
    place: tuple[Address, int], readers: tuple[str, ...], writers: list[FunctionCapability]
) -> MetadataSlot:
    callers = dict.fromkeys(caller for writer in writers for caller in writer.callers)
    return MetadataSlot(
        account=to_hex_address(bytes(place[0])),
        slot=place[1],
        readers=readers,
        writers=tuple(writer.signature for writer in writers),
        callers=tuple(callers),
        is_open=any(writer.access is Access.OPEN for writer in writers),
    )


def _find_writers(  # noqa: PLR0913, PLR0917 - those of `inspect_metadata`, and what it derived
    chain: Chain,
    prober: Prober,
    tool: Address,
    functions: Sequence[FunctionCapability],
    account: str | bytes,
    known_accounts: Mapping[str, str] | None,
) -> dict[tuple[Address, int], list[FunctionCapability]]:
    """Return the functions that write each slot, as analysed for the account."""
    writing = [each for each in functions if not each.is_read_only]
    analysed = analyse_functions(
        chain, tool, writing, account, known_accounts=known_accounts, prober=prober
    )
    found: dict[tuple[Address, int], list[FunctionCapability]] = {}
    for function in analysed:
        for result in _run_as_callers(chain, prober, tool, function, account, known_accounts):
            for write in result.tape.writes:
                listed = found.setdefault((write.account, write.slot), [])
                if function not in listed:
                    listed.append(function)
    return found


def _run_as_callers(  # noqa: PLR0913, PLR0917 - those of `inspect_metadata`, and what it derived
    chain: Chain,
    prober: Prober,
    tool: Address,
    function: FunctionCapability,
    account: str | bytes,
    known_accounts: Mapping[str, str] | None,
) -> list[ProbeResult]:
    """Return calls of a function that run, of the account or of an allowed one."""
    if function.example is not None:
        return [_repeat(prober, tool, function)]
    results = []
    for caller in function.callers[:1]:
        bare = replace(function, callers=(), reason="", access=Access.UNKNOWN)
        [allowed] = analyse_functions(
            chain,
            tool,
            [bare],
            caller,
            known_accounts={
                **(known_accounts or {}),
                to_hex_address(to_canonical_address(account)): "",
            },
            prober=prober,
        )
        if allowed.example is not None:
            results.append(_repeat(prober, tool, allowed))
    return results


def _repeat(prober: Prober, tool: Address, function: FunctionCapability) -> ProbeResult:
    """Return the example call of a function."""
    example = function.example
    assert example is not None  # noqa: S101 - callers have one
    types = [parameter.abi_type for parameter in function.parameters]
    return prober.run(
        CallProbe(
            sender=Address(to_canonical_address(example.caller)),
            to=tool,
            data=encode_arguments(function.selector, types, example.args),
            value_wei=example.value_wei,
        )
    )


def _find_code_changes(
    chain: Chain, tool: Address, reads: Iterable[ProbeResult]
) -> tuple[tuple[str, CodeChange], ...]:
    """Return the contracts that take part in the reads and whose code can change."""
    found: dict[tuple[str, CodeChange], None] = {}
    accounts = {tool}
    for result in reads:
        targets = {read.value & ADDRESS_MASK for read in result.tape.reads}
        for call in result.list_calls():
            accounts.add(call.account)
            code_account = int.from_bytes(call.code_account, "big")
            if call.kind == op.DELEGATECALL and code_account in targets:
                found[to_hex_address(bytes(call.account)), CodeChange.PROXY] = None
    for account in sorted(accounts):
        if code_is_delegation_designation(chain.code(account)):
            found[to_hex_address(bytes(account)), CodeChange.DELEGATION] = None
    return tuple(found)


def _find_environment(chain: Chain, tool: Address) -> tuple[str, ...]:
    """Return the opcodes of the reads whose values change by themselves."""
    tracer = _EnvironmentTracer()
    for selector in METADATA_SELECTORS.values():
        chain.call(
            Call(to=tool, data=selector, gas=PROBE_GAS),
            trace=lambda vm_class: make_traced_vm(vm_class, tracer),
        )
    return tuple(sorted(tracer.names))


class _EnvironmentTracer(NoopTracer):
    """Collects the opcodes that read the environment."""

    watched_opcodes = frozenset(ENVIRONMENT_OPCODES)

    def __init__(self) -> None:
        self.names: set[str] = set()

    def on_opcode(self, step: OpcodeStep) -> None:
        self.names.add(ENVIRONMENT_OPCODES[step.op])
