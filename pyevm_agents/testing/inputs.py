"""Checks of a test's inputs: addresses, transaction hashes, questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from eth_abi import encode
from eth_typing import Address
from eth_utils import (
    is_0x_prefixed,
    is_checksum_address,
    is_checksum_formatted_address,
    is_hex_address,
    to_canonical_address,
)

from precompiles.spec import ADDRESS_BYTES, HASH_BYTES
from pyevm_agents.display import LINE_CHARACTERS, truncate
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection

AddressLike: TypeAlias = "str | bytes | object"
"""Hexadecimal text, 20 bytes, or an object with an `address`, such as a contract of web3.py."""

AgentInput: TypeAlias = "tuple[list[tuple[int, bytes]], bytes]"
AgentInputV1: TypeAlias = "tuple[list[tuple[int, bytes]]]"
"""The ERC's `Input`: parameters with their types, and their ABI encoding."""

UINT256 = 2**256 - 1

PARAM_TYPE_STRING = 0
"""Source: the ERC's `ParamType`."""


def require_whole_number(
    call: str, value: object, *, most: int = UINT256, what: str = "a whole number"
) -> int:
    """Return a whole number from 0 up to a limit.

    Input:  the call, such as `mine(…)`, for the message; the value; the limit; the unit, for the
            message.
    Raises: ConfigError: the value is not an int, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{_format_call(call, value)}: must be {what}, as an int")
    if not 0 <= value <= most:
        raise ConfigError(f"{_format_call(call, value)}: must be {what}, 0 to {most:,}")
    return value


def require_text(call: str, value: object) -> str:
    """Return a text.

    Raises: ConfigError: the value is not a text.
    """
    if not isinstance(value, str):
        raise ConfigError(f"{_format_call(call, value)}: must be a text")
    return value


def require_list(call: str, values: object, kind: type) -> None:
    """Reject anything but a list of one type's values; bool does not count as int.

    Raises: ConfigError: the value is not a list of that type.
    """
    items: Sequence[object] = (None,)
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        items = values
    if any(isinstance(item, bool) or not isinstance(item, kind) for item in items):
        raise ConfigError(f"{_format_call(call, values)}: must be a list of {kind.__name__}")


def require_tool_name(call: str, value: object) -> str:
    """Return a tool's name.

    Raises: ConfigError: the value is not a text.
    """
    if not isinstance(value, str):
        raise ConfigError(
            f"{_format_call(call, value)}: must be a tool's name, as its metadata has it"
        )
    return value


def require_known_names(call: str, names: Collection[str], keywords: Collection[str]) -> None:
    """Reject unknown keyword arguments.

    Raises: ConfigError: the message has the first unknown one.
    """
    for name in keywords:
        if name not in names:
            raise ConfigError(f"{call}: there is no {name}=; there are {', '.join(names)}")


def format_value(value: object) -> str:
    """Return the repr of a value, shortened."""
    text = repr(value)
    return truncate(text, LINE_CHARACTERS)


def _format_call(call: str, value: object) -> str:
    return call.replace("…", format_value(value))


def parse_address(value: AddressLike) -> Address:
    """Return the 20 bytes of an address.

    Raises: ConfigError: the value is not an address, or the checksum is wrong.
    """
    address = getattr(value, "address", value)
    if isinstance(address, bytes) and len(address) == ADDRESS_BYTES:
        return Address(address)
    if not isinstance(address, str) or not is_0x_prefixed(address) or not is_hex_address(address):
        raise ConfigError(
            f"address {value!r}: must be 0x and 40 hexadecimal digits, 20 bytes, or a contract"
        )
    if is_checksum_formatted_address(address) and not is_checksum_address(address):
        raise ConfigError(
            f"the checksum of {address} does not fit: a digit is wrong, or write it in lower case"
        )
    return Address(to_canonical_address(address))


def parse_transaction_hash(value: bytes | str | Mapping[str, object]) -> bytes:
    """Return the 32 bytes of a transaction hash, given directly or in a receipt.

    Raises: ConfigError: not a transaction hash.
    """
    data = _parse_hash(value.get("transactionHash") if isinstance(value, Mapping) else value)
    if data is None:
        raise ConfigError(
            f"{format_value(value)} is not a transaction hash: give 0x and 64 hexadecimal digits, "
            "32 bytes, or a receipt"
        )
    return data


def parse_block_hash(value: object) -> bytes:
    """Return the 32 bytes of a block hash.

    Raises: ConfigError: not a block hash.
    """
    data = _parse_hash(value)
    if data is None:
        raise ConfigError(
            f"{format_value(value)} is not a block hash: give 0x and 64 hexadecimal digits, or 32 "
            "bytes"
        )
    return data


def _parse_hash(value: object) -> bytes | None:
    if isinstance(value, str):
        try:
            value = bytes.fromhex(value.removeprefix("0x"))
        except ValueError:
            return None
    return bytes(value) if isinstance(value, bytes) and len(value) == HASH_BYTES else None


def agent_input(question: str) -> AgentInput:
    """Return the `Input` of an agent's `run` for a question."""
    encoded = encode(["string"], [question])
    return ([(PARAM_TYPE_STRING, encoded)], encoded)


def build_agent_input(agent: object, question: str) -> AgentInput | AgentInputV1:
    """Return the `Input` of an agent's `run`, of version 1 if the agent's ABI is.

    Input: a contract of web3.py, or an address, whose agent is of version 2; the question.
    """
    params, encoded = agent_input(question)
    return (params,) if is_draft_agent(agent) else (params, encoded)


def is_draft_agent(agent: object) -> bool:
    """Return whether a contract's `run` is that of version 1: `Input` without an encoded tuple."""
    runs = (entry for entry in getattr(agent, "abi", ()) if entry.get("name") == "run")
    return any(
        [part["type"] for part in entry["inputs"][0].get("components", ())] == ["tuple[]"]
        for entry in runs
        if entry["inputs"]
    )
