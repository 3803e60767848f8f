"""Revert data in words: our contracts' typed errors, the executor's, and Solidity's own.

Agents wrap the reason of a failing tool in their own, so reasons nest; they are told in full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from eth.exceptions import OutOfGas
from eth_abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils import function_signature_to_4byte_selector, to_checksum_address
from eth_utils.abi import get_abi_input_names, get_abi_input_types

from precompiles.abi import DESCRIPTION_SELECTOR, INPUT_DESCRIPTION_SELECTOR, NAME_SELECTOR
from precompiles.errors import error_selector
from precompiles.executor import Executor
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.contracts import list_artifacts, load_artifact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eth.abc import ComputationAPI
    from eth_typing import ABIElement, ABIError, Address

PANICS = {
    0x00: "a check of the compiler",
    0x01: "a failed assertion",
    0x11: "arithmetic overflow",
    0x12: "division by zero",
    0x21: "no such enum value",
    0x22: "damaged storage of a byte array",
    0x31: "pop of an empty array",
    0x32: "array index out of bounds",
    0x41: "out of memory",
    0x51: "call of an uninitialised function",
}
"""Solidity's panics in words. Source: its documentation, "Panic via assert"."""

NO_REASON = "no reason given"

SOLIDITY_ERRORS = {"Error": ("string",), "Panic": ("uint256",)}

ErrorSignature: TypeAlias = "tuple[str, tuple[str, ...], tuple[str, ...]]"
"""An error: its name, and its arguments' names and types."""

METADATA_FUNCTIONS = {
    NAME_SELECTOR: "name()",
    DESCRIPTION_SELECTOR: "description()",
    INPUT_DESCRIPTION_SELECTOR: "inputDescription()",
}
"""The functions of a tool that the executor reads."""

_registered_errors: dict[bytes, ErrorSignature] = {}


def decode_revert(data: bytes) -> str:
    """Return what revert data says, such as `ToolCallFailed(tool=0x…, reason=Undone(…))`.

    Data of no known error comes back as hexadecimal, none at all as `no reason given`.
    """
    if not data:
        return NO_REASON
    selector = bytes(data[:4])
    known = _load_known_errors().get(selector) or _registered_errors.get(selector)
    if known is None:
        return "0x" + data.hex()
    name, names, types = known
    try:
        values = decode(types, data[4:])
    except (DecodingError, UnicodeDecodeError, OverflowError):
        return "0x" + data.hex()
    if name == "Panic":
        return f"Panic({_format_panic(values[0])})"
    arguments = (
        f"{label}={_show(abi_type, value)}" if label else _show(abi_type, value)
        for label, abi_type, value in zip(names, types, values, strict=True)
    )
    text = f"{name}({', '.join(arguments)})"
    if name == "ToolMetadataFailed":
        text += ": is this address a tool (IERCAgentTool)?"
    return text


def explain_failure(computation: ComputationAPI) -> str:
    """Return the reason why a call failed."""
    error = computation.error
    if error.burns_gas:
        return str(error)
    return explain_revert(bytes(computation.output), read_revert_context(computation))


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertContext:
    """Facts about a reverted call that its revert data do not contain."""

    starved: str | None = None
    """The nested call that ran out of gas, and may have caused the revert."""

    models: tuple[str, ...] = ()
    """Names and aliases of the chain's models."""


def read_revert_context(computation: ComputationAPI) -> RevertContext:
    """Return the context of a reverted call. Cheap: no ABI is loaded."""
    executor = computation.precompiles.get(EXECUTOR_ADDRESS)
    return RevertContext(
        starved=find_starved_call(computation),
        models=executor.model_names if isinstance(executor, Executor) else (),
    )


def explain_revert(data: bytes, context: RevertContext) -> str:
    """Return revert data as text, with the parts of the context that explain it.

    A contract whose own call ran out of gas reverts with that call's output, which is empty. So the
    starved call is named if the revert data, or the reason nested in them, are empty.
    """
    parts = [decode_revert(data)]
    if context.starved and NO_REASON in parts[0]:
        parts.append(context.starved)
    if context.models and error_selector("UnknownModel") in data:
        parts.append("this chain's models: " + ", ".join(map(repr, context.models)))
    return "; ".join(parts)


def find_starved_call(computation: ComputationAPI) -> str | None:
    """Return the nested call that ran out of gas, the gas that it had and the gas that it needed.

    Output: None if no call ran out of gas, or if a call between reverted for a reason of its own.
    """
    while computation.children:
        output = bytes(computation.output)
        computation = computation.children[-1]
        if not computation.is_error or bytes(computation.output) not in output:
            return None
        if isinstance(computation.error, OutOfGas):
            callee, gas = _format_callee(computation.msg.code_address), computation.msg.gas
            needed = _format_needed_gas(computation.error, gas)
            return f"a call of {callee} ran out of gas: it had {gas:,}{needed}"
    return None


CHARGE = re.compile(r"Needed (\d+) - Remaining (\d+) - Reason: (.*)", re.DOTALL)
"""Source: py-evm, `eth.vm.gas_meter.GasMeter.consume_gas`."""


def _format_needed_gas(error: OutOfGas, gas: int) -> str:
    """Return the least gas that the call needed for its last charge; a later one may need more."""
    text = str(error)
    charge = CHARGE.search(text)
    if charge is None:
        return f" ({text})" if text else ""
    needed, remaining, reason = charge.groups()
    return f" and needed at least {gas - int(remaining) + int(needed):,} ({reason})"


def register_errors(abi: Iterable[ABIElement]) -> None:
    """Let `decode_revert` know a contract's errors from now on, in all of this process."""
    for element in abi:
        if element["type"] == "error":
            selector, error = _parse_error(element)
            _registered_errors[selector] = error


def _format_callee(address: Address) -> str:
    text = to_checksum_address(address)
    return f"the executor at {text}" if address == EXECUTOR_ADDRESS else text


@cache
def _load_known_errors() -> dict[bytes, ErrorSignature]:
    known: dict[bytes, ErrorSignature] = {
        _compute_selector(name, types): (name, ("",), types)
        for name, types in SOLIDITY_ERRORS.items()
    }
    for contract in list_artifacts():
        for element in load_artifact(contract).abi:
            if element["type"] == "error":
                selector, error = _parse_error(element)
                known[selector] = error
    return known


def _parse_error(element: ABIError) -> tuple[bytes, ErrorSignature]:
    types = tuple(get_abi_input_types(element))
    names = tuple(name or "" for name in get_abi_input_names(element))
    return _compute_selector(element["name"], types), (element["name"], names, types)


@cache
def _compute_selector(name: str, types: tuple[str, ...]) -> bytes:
    return function_signature_to_4byte_selector(f"{name}({','.join(types)})")


def _format_panic(code: int) -> str:
    return f"0x{code:02x}: {PANICS[code]}" if code in PANICS else f"0x{code:02x}"


def _show(abi_type: str, value: object) -> str:
    if abi_type == "address":
        return to_checksum_address(str(value))
    if abi_type == "bytes4" and value in METADATA_FUNCTIONS:
        return METADATA_FUNCTIONS[value]
    if isinstance(value, bytes):
        return decode_revert(value) if abi_type == "bytes" else "0x" + value.hex()
    return repr(value) if isinstance(value, str) else str(value)
