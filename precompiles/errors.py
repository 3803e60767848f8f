"""Refusals of the precompiles: typed, ABI-encoded reverts that return the remaining gas.

A refusal is caused by the call, unlike a halt (py-evm's `OutOfGas`) or a fault of the host.
`IAgentExecutorErrors.sol` declares the executor's errors, and `INumericModels.sol` those of the
numeric models. A test compares both with this table.

Source: docs/architecture.md#four-failures.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar

from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector

from precompiles.spec import WORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

UINT_END = 2**256

REFUSALS: dict[str, tuple[str, ...]] = {
    "ExecutorUnavailable": (),
    "ValueNotAccepted": ("uint256",),
    "DelegateCallNotAllowed": (),
    "UnknownSelector": ("bytes4",),
    "CalldataTooLarge": ("uint256", "uint256"),
    "MalformedCalldata": ("string",),
    "InvalidUtf8": ("string",),
    "UnknownModel": ("string",),
    "TooManyTools": ("uint256", "uint256"),
    "ToolWithoutCode": ("address",),
    "ToolMetadataFailed": ("address", "bytes4", "bytes"),
    "ToolMetadataTooLarge": ("address", "bytes4", "uint256", "uint256"),
    "MalformedToolMetadata": ("address", "bytes4", "string"),
    "DuplicateToolName": ("string",),
    "DuplicateParameterName": ("address", "string"),
    "HistoryLengthMismatch": ("uint256", "uint256"),
    "MalformedHistory": ("uint256", "string"),
    "ContextTooLong": ("uint256", "uint256", "uint256", "uint256"),
    "OutputTooLong": ("uint256",),
    "CallDepthExceeded": (),
    "ReentrantMetadata": (),
}
"""Every refusal of the executor: the error's name and the ABI types of its arguments."""

NUMERIC_REFUSALS: dict[str, tuple[str, ...]] = {
    "ModelsUnavailable": (),
    "ValueNotAccepted": ("uint256",),
    "DelegateCallNotAllowed": (),
    "UnknownSelector": ("bytes4",),
    "CalldataTooLarge": ("uint256", "uint256"),
    "MalformedCalldata": ("string",),
    "InvalidUtf8": ("string",),
    "UnknownModel": ("string",),
    "InputLengthMismatch": ("uint256", "uint256"),
    "InputOutOfRange": ("uint256", "int256", "int256", "int256"),
}
"""Every refusal of the numeric models. Those that the executor has as well are the same errors."""


class Refusal(Exception):  # noqa: N818 - a typed revert of the call, not an error of the host
    """A call that the executor reverts with a typed error.

    Output: `encode()` returns the error's selector and ABI-encoded arguments.
    """

    table: ClassVar[Mapping[str, tuple[str, ...]]] = REFUSALS
    """The errors of the precompile."""

    def __init__(self, name: str, *arguments: int | str | bytes) -> None:
        """Create a refusal. Input: a name of `table`, and arguments of the types there."""
        self.name = name
        self.arguments = arguments
        super().__init__(f"{name}({', '.join(map(_show, arguments))})")

    def encode(self) -> bytes:
        """Return the revert data: 4 bytes of selector, then the arguments."""
        types = self.table[self.name]
        return _compute_selector(self.name, types) + _encode_arguments(types, self.arguments)


class NumericRefusal(Refusal):
    """A call that the numeric models' precompile reverts with a typed error."""

    table = NUMERIC_REFUSALS


def _encode_arguments(types: tuple[str, ...], arguments: tuple[int | str | bytes, ...]) -> bytes:
    """Return ABI-encoded arguments.

    Integers are encoded without eth_abi: a call over the size limit pays for the CALL alone, and
    took 2.6 times as long with eth_abi as a call of an empty account.
    """
    numbers = [each for each in arguments if isinstance(each, int) and 0 <= each < UINT_END]
    if len(numbers) == len(arguments) == len(types) == types.count("uint256"):
        return b"".join(number.to_bytes(WORD_BYTES, "big") for number in numbers)
    return encode(types, arguments)


def error_selector(name: str) -> bytes:
    """Return the 4-byte selector of the named refusal, of either precompile."""
    types = REFUSALS[name] if name in REFUSALS else NUMERIC_REFUSALS[name]
    return _compute_selector(name, types)


@cache
def _compute_selector(name: str, types: tuple[str, ...]) -> bytes:
    return function_signature_to_4byte_selector(f"{name}({','.join(types)})")


def _show(argument: int | str | bytes) -> str:
    return "0x" + argument.hex() if isinstance(argument, bytes) else repr(argument)
