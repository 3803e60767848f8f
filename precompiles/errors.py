"""Refusals of the executor: typed, ABI-encoded reverts that return the remaining gas.

A refusal is caused by the call, unlike a halt (py-evm's `OutOfGas`) or a fault of the host.
`IAgentExecutorErrors.sol` declares the same errors; a test compares the two.

Source: docs/architecture.md#four-failures.
"""

from __future__ import annotations

from functools import cache

from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector

WORD_BYTES = 32
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
"""Every refusal: the error's name and the ABI types of its arguments."""


class Refusal(Exception):  # noqa: N818 - a typed revert of the call, not an error of the host
    """A call that the executor reverts with a typed error.

    Output: `encode()` returns the error's selector and its ABI-encoded arguments.
    """

    def __init__(self, name: str, *arguments: int | str | bytes) -> None:
        """Create a refusal. Input: a name of `REFUSALS`, and arguments of its types."""
        self.name = name
        self.arguments = arguments
        super().__init__(f"{name}({', '.join(map(_show, arguments))})")

    def encode(self) -> bytes:
        """Return the revert data: 4 bytes of selector, then the arguments."""
        types = REFUSALS[self.name]
        return error_selector(self.name) + _encode_arguments(types, self.arguments)


def _encode_arguments(types: tuple[str, ...], arguments: tuple[int | str | bytes, ...]) -> bytes:
    """Return ABI-encoded arguments.

    Integers are encoded without eth_abi: a call over the size limit pays for the CALL alone, and
    with eth_abi it took 2.6 times as long as a call of an empty account.
    """
    numbers = [each for each in arguments if isinstance(each, int) and 0 <= each < UINT_END]
    if len(numbers) == len(arguments) == len(types) == types.count("uint256"):
        return b"".join(number.to_bytes(WORD_BYTES, "big") for number in numbers)
    return encode(types, arguments)


@cache
def error_selector(name: str) -> bytes:
    """Return the 4-byte selector of the named refusal."""
    return function_signature_to_4byte_selector(f"{name}({','.join(REFUSALS[name])})")


def _show(argument: int | str | bytes) -> str:
    return "0x" + argument.hex() if isinstance(argument, bytes) else repr(argument)
