"""Revert data as text: errors of known contracts, and of Solidity itself.

An agent wraps the reason of a failed tool in an error: reasons nest, and are shown in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from precompiles.abi import DESCRIPTION_SELECTOR, INPUT_DESCRIPTION_SELECTOR, NAME_SELECTOR
from pyevm_agents.abi.known_contracts import KnownContracts
from pyevm_agents.abi.values import ErrorDefinition, decode_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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

SOLIDITY_ERRORS: Mapping[bytes, ErrorDefinition] = {
    bytes.fromhex("08c379a0"): ErrorDefinition(
        name="Error", types=("string",), argument_names=("",)
    ),
    bytes.fromhex("4e487b71"): ErrorDefinition(
        name="Panic", types=("uint256",), argument_names=("",)
    ),
}
"""Errors of the language itself, by selector."""

BUNDLED = KnownContracts()
"""The bundled contracts alone."""

METADATA_FUNCTIONS = {
    NAME_SELECTOR: "name()",
    DESCRIPTION_SELECTOR: "description()",
    INPUT_DESCRIPTION_SELECTOR: "inputDescription()",
}
"""The functions of a tool that the executor reads."""


def decode_revert(
    data: bytes, known: KnownContracts = BUNDLED, *, codes: Sequence[bytes] = ()
) -> str:
    """Return revert data as text, such as `ToolCallFailed(tool=0x…, reason=Undone(…))`.

    Unknown data are returned in hexadecimal, empty data as `no reason given`.

    Input: the revert data; the contracts whose errors are known; the runtime codes of the contracts
           that reverted with these data: of two errors with one selector, theirs is returned.
    """
    if not data:
        return NO_REASON
    selector = bytes(data[:4])
    texts = (
        _decode_error(error, data, known, codes) for error in _list_errors(selector, known, codes)
    )
    return " or ".join(filter(None, texts)) or "0x" + data.hex()


def _list_errors(
    selector: bytes, known: KnownContracts, codes: Sequence[bytes]
) -> Sequence[ErrorDefinition]:
    if selector in SOLIDITY_ERRORS:
        return [SOLIDITY_ERRORS[selector]]
    candidates = [error for _, error in known.find_errors(selector)]
    if len(candidates) > 1:
        for contract in filter(None, map(known.find_name, codes)):
            own = known.find_own_error(selector, contract)
            if own is not None:
                return [own]
    return candidates


def _decode_error(
    error: ErrorDefinition, data: bytes, known: KnownContracts, codes: Sequence[bytes]
) -> str | None:
    """Return an error with the arguments; None for data of another encoding."""
    values = decode_values(error.types, data[4:])
    if values is None:
        return None
    if error is SOLIDITY_ERRORS.get(bytes(data[:4])) and error.name == "Panic":
        return f"Panic({_format_panic(int(str(values[0])))})"
    arguments = (
        f"{label}={_format_value(abi_type, value, known, codes)}"
        if label
        else _format_value(abi_type, value, known, codes)
        for label, abi_type, value in zip(error.argument_names, error.types, values, strict=True)
    )
    text = f"{error.name}({', '.join(arguments)})"
    if error.name == "ToolMetadataFailed":
        text += ": is this address a tool (IERCAgentTool)?"
    return text


def _format_panic(code: int) -> str:
    return f"0x{code:02x}: {PANICS[code]}" if code in PANICS else f"0x{code:02x}"


def _format_value(
    abi_type: str, value: object, known: KnownContracts, codes: Sequence[bytes]
) -> str:
    if abi_type == "address":
        return to_checksum_address(str(value))
    if abi_type == "bytes4" and isinstance(value, bytes):
        # Tools alone have the metadata functions' names.
        return METADATA_FUNCTIONS.get(value) or known.find_function(value) or "0x" + value.hex()
    if isinstance(value, bytes):
        return (
            decode_revert(value, known, codes=codes) if abi_type == "bytes" else "0x" + value.hex()
        )
    return repr(value) if isinstance(value, str) else str(value)
