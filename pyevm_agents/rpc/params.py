"""Parsers of parameters: JSON to typed values, and errors that name the parameter.

Each parser takes a JSON value and the parameter's name, and returns a value or raises RpcError
-32602.

Source: execution-apis' schemas; EIP-1474 for quantities and data; EIP-1898 for blocks by object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from eth_typing import Address

from precompiles.spec import HASH_BYTES
from pyevm_agents.display import VALUE_CHARACTERS
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable

Tag: TypeAlias = Literal["latest", "pending", "earliest", "safe", "finalized"]
TAGS: Final[tuple[Tag, ...]] = ("latest", "pending", "earliest", "safe", "finalized")

QUANTITY = re.compile(r"0x(0|[1-9a-fA-F][0-9a-fA-F]*)")
HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
UINT64, UINT256 = 2**64 - 1, 2**256 - 1


def invalid_param_error(name: str, value: object, wanted: str) -> RpcError:
    """Return the error of an invalid parameter."""
    text = repr(value)
    if len(text) > VALUE_CHARACTERS:
        text = f"{text[:VALUE_CHARACTERS]}… ({len(text)} characters)"
    return RpcError(INVALID_PARAMS, f"invalid params: {name}: {text}; {wanted}")


@dataclass(frozen=True, slots=True)
class BlockId:
    """A block by tag, number or hash."""

    tag: Tag | None = None
    number: int | None = None
    hash: bytes | None = None
    requires_canonical: bool = False
    """Whether a block by hash must be on the canonical chain."""


LATEST, PENDING = BlockId(tag="latest"), BlockId(tag="pending")


def parse_quantity(value: object, name: str, most: int = UINT256) -> int:
    """Parse a quantity: hexadecimal without leading zeros, or a JSON number, which tools send."""
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and QUANTITY.fullmatch(value):
        number = int(value, 16)
    elif isinstance(value, str) and re.fullmatch(r"0x0[0-9a-fA-F]+", value):
        raise invalid_param_error(name, value, "a quantity has no leading zeros")
    else:
        raise invalid_param_error(name, value, 'must be a quantity such as "0x1f"')
    if not 0 <= number <= most:
        raise invalid_param_error(name, value, f"must be a quantity from 0 to {hex(most)}")
    return number


def parse_uint64(value: object, name: str) -> int:
    """Parse a quantity of at most 64 bits."""
    return parse_quantity(value, name, UINT64)


def parse_seconds(value: object, name: str) -> int:
    """Parse a time or a duration in seconds: a quantity, a number or a string of decimal digits."""
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return parse_quantity(value, name, UINT64)


def parse_data(value: object, name: str) -> bytes:
    """Parse bytes of any length."""
    if not isinstance(value, str) or not HEX.fullmatch(value):
        raise invalid_param_error(name, value, 'must be bytes such as "0x00ff", two digits each')
    return bytes.fromhex(value[2:])


def parse_hash32(value: object, name: str) -> bytes:
    """Parse 32 bytes."""
    read = parse_data(value, name)
    if len(read) != HASH_BYTES:
        raise invalid_param_error(name, value, f"must be 32 bytes, not {len(read)}")
    return read


def parse_slot(value: object, name: str) -> int:
    """Parse a storage slot: a quantity, or up to 32 bytes, with or without leading zeros."""
    if isinstance(value, str) and re.fullmatch(r"0x[0-9a-fA-F]{1,64}", value):
        return int(value, 16)
    return parse_quantity(value, name)


def parse_address(value: object, name: str) -> Address:
    """Parse an address, in any case, as geth and anvil do: other chains have other checksums."""
    if not isinstance(value, str) or not re.fullmatch(r"0x[0-9a-fA-F]{40}", value):
        raise invalid_param_error(name, value, "must be an address: 0x and 40 hexadecimal digits")
    return Address(bytes.fromhex(value[2:]))


def parse_boolean(value: object, name: str) -> bool:
    """Parse a boolean."""
    if not isinstance(value, bool):
        raise invalid_param_error(name, value, "must be true or false")
    return value


def parse_text(value: object, name: str) -> str:
    """Parse a string."""
    if not isinstance(value, str):
        raise invalid_param_error(name, value, "must be a string")
    return value


def accept_any(value: object, name: str) -> object:  # noqa: ARG001 - the signature of a parser
    """Return a value unparsed."""
    return value


def parse_object(value: object, name: str) -> Mapping[str, object]:
    """Parse an object."""
    if not isinstance(value, Mapping):
        raise invalid_param_error(name, value, "must be an object")
    return cast("Mapping[str, object]", value)


def parse_list(value: object, name: str) -> list[object]:
    """Parse a list."""
    if not isinstance(value, list):
        raise invalid_param_error(name, value, "must be a list")
    return value


def parse_list_of(read: Callable[[object, str], object]) -> Callable[[object, str], list[object]]:
    """Return a parser of lists, from a parser of their items."""

    def parse_items(value: object, name: str) -> list[object]:
        items = parse_list(value, name)
        return [read(item, f"{name}[{index}]") for index, item in enumerate(items)]

    return parse_items


def parse_block_id(value: object, name: str) -> BlockId:
    """Parse a block id: a tag, a number, a hash, or an object with a number or a hash."""
    if isinstance(value, Mapping):
        return _parse_block_object(value, name)
    if isinstance(value, str):
        for tag in TAGS:
            if value == tag:
                return BlockId(tag=tag)
        if value == "":
            return LATEST
        if len(value) == 2 + 2 * HASH_BYTES:
            return BlockId(hash=parse_hash32(value, name))
    try:
        return BlockId(number=parse_uint64(value, name))
    except RpcError as error:
        wanted = f'must be a block: a number such as "0x1f", a hash, or {", ".join(TAGS)}'
        raise invalid_param_error(name, value, wanted) from error


def _parse_block_object(value: Mapping[str, object], name: str) -> BlockId:
    if ("blockHash" in value) == ("blockNumber" in value):
        raise invalid_param_error(name, dict(value), "must have either blockHash or blockNumber")
    if "blockNumber" in value:
        return parse_block_id(value["blockNumber"], f"{name}.blockNumber")
    canonical = parse_boolean(value.get("requireCanonical", False), f"{name}.requireCanonical")
    return BlockId(
        hash=parse_hash32(value["blockHash"], f"{name}.blockHash"), requires_canonical=canonical
    )
