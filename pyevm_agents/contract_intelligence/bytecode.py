"""Functions of a contract without an ABI: evmole proposes selectors, types and mutability.

Names and types of functions in `primitives.toml` come from there. What evmole says of the others
may be wrong: executions decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evmole import contract_info

from pyevm_agents.abi import is_abi_type
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
    from collections.abc import Collection, Iterable

    from evmole import Function

MAX_CODE_BYTES = 128 << 10
"""Bytes of code that are analysed: more than any chain's limit."""


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
    rule = load_primitives().by_selector.get(selector)
    if rule is not None:
        return rule.describe()
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
