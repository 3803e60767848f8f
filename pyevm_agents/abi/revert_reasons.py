"""Revert data as text: errors of known contracts, and of Solidity itself.

    decode_revert(data)    ToolCallFailed(tool=0x…, reason=Error('closed'))    in reports of runs
    format_revert(data)    ToolCallFailed(0x…, Error("closed"))                in traces, as Foundry
    quote_revert(data)     ToolCallFailed("0x…", Error("closed"))              in messages of errors

Test suites match the messages. Of nodes, Hardhat's alone names custom errors there: it quotes
addresses and bytes. Foundry's traces do not. An agent wraps the reason of a failed tool in an
error: reasons nest, and are shown in full.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

from eth_abi.grammar import ABIType, BasicType, TupleType, parse
from eth_utils import to_checksum_address

from precompiles.abi import DESCRIPTION_SELECTOR, INPUT_DESCRIPTION_SELECTOR, NAME_SELECTOR
from precompiles.spec import SELECTOR_BYTES, WORD_BYTES
from pyevm_agents.abi.known_contracts import KnownContracts
from pyevm_agents.abi.values import ErrorDefinition, decode_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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

ALLOY_PANICS = {
    0x00: "generic/unspecified error",
    0x01: "assertion failed",
    0x11: "arithmetic underflow or overflow",
    0x12: "division or modulo by zero",
    0x21: "failed to convert value into enum type",
    0x22: "storage byte array incorrectly encoded",
    0x31: "called `.pop()` on an empty array",
    0x32: "array out-of-bounds access",
    0x41: "memory allocation error",
    0x51: "called an invalid internal function",
}
"""Solidity's panics in Foundry's words."""

NO_REASON = "no reason given"

MAX_NESTED = 32
"""Errors inside each other that are written by name: agents nest less deep, data of a contract may
nest 7,000 deep."""

MAX_SCANNED_BYTES = 16 << 10
"""The most data of an unknown error in which texts are looked for: the time grows with its
square."""

ERROR_SELECTOR = bytes.fromhex("08c379a0")
PANIC_SELECTOR = bytes.fromhex("4e487b71")

SOLIDITY_ERRORS: Mapping[bytes, ErrorDefinition] = {
    ERROR_SELECTOR: ErrorDefinition(name="Error", types=("string",), argument_names=("",)),
    PANIC_SELECTOR: ErrorDefinition(name="Panic", types=("uint256",), argument_names=("",)),
}
"""Errors of the language itself, by selector."""

BUNDLED = KnownContracts()
"""The bundled contracts alone."""

TOOL_HINT = ": is this address a tool (IERCAgentTool)?"

METADATA_FUNCTIONS = {
    NAME_SELECTOR: "name()",
    DESCRIPTION_SELECTOR: "description()",
    INPUT_DESCRIPTION_SELECTOR: "inputDescription()",
}
"""The functions of a tool that the executor reads."""


class RevertWriter(Protocol):
    """`decode_revert`, `format_revert` or `quote_revert`."""

    def __call__(
        self, data: bytes, known: KnownContracts = ..., *, codes: Sequence[bytes] = ...
    ) -> str:
        """Return revert data as text."""


def decode_revert(
    data: bytes, known: KnownContracts = BUNDLED, *, codes: Sequence[bytes] = ()
) -> str:
    """Return revert data as text, such as `ToolCallFailed(tool=0x…, reason=Undone(…))`.

    Unknown data are returned in hexadecimal, or the texts in them, empty data as `no reason given`.

    Input: the revert data; the contracts whose errors are known; the runtime codes of the contracts
           that reverted with these data: of two errors with one selector, theirs is returned.
    """
    return _NamedForm(known=known, codes=codes).format(data)


def format_revert(
    data: bytes, known: KnownContracts = BUNDLED, *, codes: Sequence[bytes] = ()
) -> str:
    """Return revert data as Foundry prints them: `FailedOp(0, "AA24 signature error", 0x5FbD…)`.

    The text of `Error(string)` is returned alone, that of a known error inside `bytes` by its name.
    Unknown data are returned as text if they are text; others as `custom error 0x220266b6: `, and
    the texts in them or, without any, hexadecimal digits. Empty data: `no reason given`.

    Input: as for `decode_revert`.
    """
    return _BareForm(known=known, codes=codes).format(data)


def quote_revert(
    data: bytes, known: KnownContracts = BUNDLED, *, codes: Sequence[bytes] = ()
) -> str:
    """Return revert data as `format_revert` does, with the arguments of errors in Hardhat's form.

    Addresses and bytes have quotes, structs are lists: `Denied("0x5FbD…", [1, "0x00"])`.

    Input:  as for `decode_revert`.
    Source: Hardhat, `AbiHelpers.formatValues`.
    """
    return _QuotedForm(known=known, codes=codes).format(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form(ABC):
    """How errors are written."""

    known: KnownContracts
    codes: Sequence[bytes]
    levels: int = MAX_NESTED
    """How many errors inside each other are written by name."""

    def format(self, data: bytes) -> str:
        """Return revert data as text."""
        if not data:
            return NO_REASON
        text = self.format_known(data)
        return self.format_unknown(data) if text is None else text

    def format_known(self, data: bytes) -> str | None:
        """Return the errors that revert data may be as text; None if unknown."""
        if not self.levels:
            return None
        texts = []
        for error in self._list_errors(bytes(data[:SELECTOR_BYTES])):
            values = decode_values(error.types, data[SELECTOR_BYTES:])
            if values is not None:
                hint = TOOL_HINT if error.name == "ToolMetadataFailed" else ""
                texts.append(self.write_error(error, values) + hint)
        return " or ".join(texts) if texts else None

    @abstractmethod
    def format_unknown(self, data: bytes) -> str:
        """Return data of no known error as text."""

    @abstractmethod
    def write_error(self, error: ErrorDefinition, values: Sequence[object]) -> str:
        """Return an error with its arguments."""

    def _list_errors(self, selector: bytes) -> Sequence[ErrorDefinition]:
        if selector in SOLIDITY_ERRORS:
            return [SOLIDITY_ERRORS[selector]]
        candidates = [error for _, error in self.known.find_errors(selector)]
        if len(candidates) > 1:
            for contract in filter(None, map(self.known.find_name, self.codes)):
                own = self.known.find_own_error(selector, contract)
                if own is not None:
                    return [own]
        return candidates

    def _inside(self) -> Self:
        return replace(self, levels=self.levels - 1)


class _NamedForm(_Form):
    """With the names of parameters."""

    def format_unknown(self, data: bytes) -> str:
        text = _read_text(data) or _read_string(data)
        if text:
            return repr(text)
        texts = _find_texts(data[SELECTOR_BYTES:])
        if texts:
            return f"custom error 0x{data[:SELECTOR_BYTES].hex()}: {', '.join(map(repr, texts))}"
        return "0x" + data.hex()

    def write_error(self, error: ErrorDefinition, values: Sequence[object]) -> str:
        if error is SOLIDITY_ERRORS[PANIC_SELECTOR]:
            code = int(str(values[0]))
            return (
                f"Panic(0x{code:02x}: {PANICS[code]})" if code in PANICS else f"Panic(0x{code:02x})"
            )
        arguments = (
            f"{label}={self._write(text, value)}" if label else self._write(text, value)
            for label, text, value in zip(error.argument_names, error.types, values, strict=True)
        )
        return f"{error.name}({', '.join(arguments)})"

    def _write(self, abi_type: str, value: object) -> str:
        if abi_type == "address":
            return str(to_checksum_address(str(value)))
        if isinstance(value, bytes):
            if abi_type == "bytes":
                return self._inside().format(value)
            # Tools alone have the metadata functions' names.
            name = METADATA_FUNCTIONS.get(value) or self.known.find_function(value)
            return name if abi_type == "bytes4" and name else "0x" + value.hex()
        return repr(value) if isinstance(value, str) else str(value)


class _BareForm(_Form):
    """As Foundry: values alone."""

    def format(self, data: bytes) -> str:
        if data[:SELECTOR_BYTES] == ERROR_SELECTOR:
            values = decode_values(["string"], data[SELECTOR_BYTES:])
            if values is not None:
                return str(values[0])
        return super().format(data)

    def format_unknown(self, data: bytes) -> str:
        text = _read_text(data) or _read_string(data)
        if text:
            return text
        selector, arguments = data[:SELECTOR_BYTES], data[SELECTOR_BYTES:]
        if len(selector) < SELECTOR_BYTES:
            return f"custom error bytes 0x{selector.hex()}"
        shown = ", ".join(_find_texts(arguments)) or arguments.hex()
        return f"custom error 0x{selector.hex()}" + (f": {shown}" if shown else "")

    def write_error(self, error: ErrorDefinition, values: Sequence[object]) -> str:
        if error is SOLIDITY_ERRORS[PANIC_SELECTOR]:
            code = int(str(values[0]))
            return f"panic: {ALLOY_PANICS.get(code, 'unknown code')} (0x{code:02x})"
        return f"{error.name}({', '.join(map(self._write, map(parse, error.types), values))})"

    def _write(self, kind: ABIType, value: object) -> str:
        if kind.is_array and isinstance(value, Sequence):
            return f"[{', '.join(self._write(kind.item_type, item) for item in value)}]"
        if isinstance(kind, TupleType) and isinstance(value, Sequence):
            return self.write_struct([*map(self._write, kind.components, value)])
        if isinstance(value, bytes):
            inner = self._inside().format_known(value) if len(value) >= SELECTOR_BYTES else None
            return self.write_digits("0x" + value.hex()) if inner is None else inner
        if isinstance(kind, BasicType) and kind.base == "address":
            return self.write_digits(to_checksum_address(str(value)))
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        return str(value).lower()  # Numbers and truth values.

    def write_struct(self, members: Sequence[str]) -> str:
        """Return a struct of written members."""
        return f"({', '.join(members)})"

    def write_digits(self, digits: str) -> str:
        """Return an address or bytes, given in hexadecimal."""
        return digits


class _QuotedForm(_BareForm):
    """As Hardhat: values of text are strings of JavaScript, structs are its arrays."""

    def write_struct(self, members: Sequence[str]) -> str:
        return f"[{', '.join(members)}]"

    def write_digits(self, digits: str) -> str:
        return f'"{digits}"'


def _read_text(data: bytes) -> str | None:
    """Return data as text, without zeros at the end; None if they are no text."""
    bare = data.rstrip(b"\0")
    if len(bare) <= SELECTOR_BYTES and len(bare) < len(data):
        return None  # A selector with an argument of zero, such as Panic's, which is ASCII.
    try:
        text = bare.decode()
    except UnicodeDecodeError:
        return None
    return text if text and all(each.isprintable() or each in "\t\r\n" for each in text) else None


def _read_string(data: bytes) -> str | None:
    """Return an encoded `string` without a selector, as some contracts revert with."""
    values = decode_values(["string"], data)
    return None if values is None else str(values[0])


def _find_texts(data: bytes) -> Sequence[str]:
    """Return data that are text, or the texts in encoded values."""
    text = _read_text(data)
    return [*_iter_strings(data)] if text is None else [text]


def _iter_strings(data: bytes) -> Iterator[str]:
    """Yield the texts in encoded values: a word with the length, then the text in whole words."""
    for start in range(WORD_BYTES, min(len(data), MAX_SCANNED_BYTES), WORD_BYTES):
        size = int.from_bytes(data[start - WORD_BYTES : start], "big")
        end = start + size
        if size and end <= min(len(data), MAX_SCANNED_BYTES):
            text, padding = _read_text(data[start:end]), data[end : end + -size % WORD_BYTES]
            if text and not any(padding):
                yield text
