"""Functions of a contract without an ABI: evmole proposes selectors, types and mutability.

Names and types of functions in `primitives.toml` come from there. evmole's guesses for the others
may be wrong: executions decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evmole import BlockType, contract_info

from pyevm_agents.abi.values import is_abi_type
from pyevm_agents.contract_intelligence.capabilities import FunctionCapability
from pyevm_agents.contract_intelligence.function_abi import (
    READ_ONLY,
    ContractInterface,
    build_interface,
    build_parameters,
    split_types,
)
from pyevm_agents.contract_intelligence.primitives import PAYABLE, load_primitives

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from evmole import Block, DynamicJump, Function

MAX_CODE_BYTES = 128 << 10
"""Bytes of code that are analysed: more than any chain's limit."""

MAX_WAYS = 20_000
"""Ways through the blocks of a function that are followed."""

MAX_WAY_BLOCKS = 48
"""Blocks of a way that are kept: more than lie between a call of a subroutine and its end."""


def propose_interface(code: bytes, selectors: Collection[bytes] | None = None) -> ContractInterface:
    """Return the functions that a code seems to have.

    Input: runtime code; the selectors to keep, None for all.
    """
    functions = [
        _describe(function)
        for function in _analyse(code)
        if selectors is None or bytes.fromhex(function.selector) in selectors
    ]
    warnings = []
    if len(code) > MAX_CODE_BYTES:
        warnings.append(f"code of {len(code):,} bytes: must have at most {MAX_CODE_BYTES:,}")
    elif not functions:
        warnings.append("no functions were found in the code")
    else:
        warnings.append("no ABI: names are unknown, and types come from the code")
    return build_interface("Contract", "bytecode", functions, warnings)


def list_selectors(code: bytes) -> frozenset[bytes]:
    """Return the selectors that a code seems to have."""
    return frozenset(bytes.fromhex(each.selector) for each in _analyse(code, are_typed=False))


def _analyse(code: bytes, *, are_typed: bool = True) -> Iterable[Function]:
    if len(code) > MAX_CODE_BYTES:
        return ()
    info = contract_info(code, selectors=True, arguments=are_typed, state_mutability=are_typed)
    return info.functions or ()


def _describe(function: Function) -> FunctionCapability:
    selector = bytes.fromhex(function.selector)
    known = load_primitives().describe(selector)
    if known is not None:
        return known
    types = split_types(f"({function.arguments or ''})")
    if not all(map(is_abi_type, types)):
        types = ()
    return FunctionCapability(
        name=f"function_{function.selector}",
        signature=f"0x{function.selector}",
        selector=selector,
        parameters=build_parameters(types),
        is_read_only=function.state_mutability in READ_ONLY,
        is_payable=function.state_mutability == PAYABLE,
    )


def list_reverting(code: bytes) -> frozenset[bytes]:
    """Return the selectors of functions that seem to revert on each way through the code.

    A way that evmole does not know, or that is too long, counts as one that may end well.
    """
    if len(code) > MAX_CODE_BYTES:
        return frozenset()
    info = contract_info(code, selectors=True, control_flow_graph=True)
    graph = info.control_flow_graph
    blocks = {} if graph is None else {block.id: block for block in graph.blocks}
    return frozenset(
        bytes.fromhex(function.selector)
        for function in info.functions or ()
        if function.bytecode_offset in blocks and not _may_succeed(blocks, function)
    )


def list_writers(code: bytes) -> Mapping[int, frozenset[bytes]]:
    """Return the selectors of functions that seem to write each slot, by slot number.

    Slots of mappings and arrays are those of the declarations.
    """
    if len(code) > MAX_CODE_BYTES:
        return {}
    found: dict[int, set[bytes]] = {}
    for record in contract_info(code, storage=True, selectors=True).storage or ():
        selectors = map(bytes.fromhex, record.writes)
        found.setdefault(int(record.slot, 16), set()).update(selectors)
    return {slot: frozenset(selectors) for slot, selectors in found.items()}


def _may_succeed(blocks: Mapping[int, Block], function: Function) -> bool:
    """Whether a way through a function's blocks may end without a revert."""
    waiting: list[tuple[int, ...]] = [(function.bytecode_offset,)]
    seen = {waiting[0]}
    while waiting:
        # Blocks from the present one back: a jump's target depends on where it was called from.
        way = waiting.pop()
        kind = blocks[way[0]].btype
        if isinstance(kind, BlockType.Terminate):
            if kind.success:
                return True
            continue
        for target in _list_targets(kind, way):
            if target is None or target not in blocks or len(seen) >= MAX_WAYS:
                return True
            further = (target, *way)[:MAX_WAY_BLOCKS]
            if further not in seen:
                seen.add(further)
                waiting.append(further)
    return False


def _list_targets(kind: BlockType, way: Sequence[int]) -> list[int | None]:
    """Return the blocks after one. A single None where none is known."""
    match kind:
        case BlockType.Jump():
            return [kind.to]
        case BlockType.Jumpi():
            return [kind.true_to, kind.false_to]
        case BlockType.DynamicJump():
            return _list_jumps(kind.to, way)
        case BlockType.DynamicJumpi():
            return [*_list_jumps(kind.true_to, way), kind.false_to]
        case _:
            return [None]


def _list_jumps(jumps: Sequence[DynamicJump], way: Sequence[int]) -> list[int | None]:
    """Return the targets of a computed jump that fit the way to the jump."""
    fitting = [
        each.to
        for each in jumps
        if all(one == other for one, other in zip(each.path, way, strict=False))
    ]
    return [*fitting] or [None]
