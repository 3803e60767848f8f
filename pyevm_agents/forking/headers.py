"""Headers of a remote chain: read from JSON, and checked by hash."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rlp
from eth.vm.header import HeaderSedes

from pyevm_agents.vm import find_oversized_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import BlockHeaderAPI

BASE_FIELDS = (
    "parentHash",
    "sha3Uncles",
    "miner",
    "stateRoot",
    "transactionsRoot",
    "receiptsRoot",
    "logsBloom",
    "difficulty",
    "number",
    "gasLimit",
    "gasUsed",
    "timestamp",
    "extraData",
    "mixHash",
    "nonce",
)
"""Fields of every header, in the order of their RLP. Source: Yellow Paper, section 4.4."""

LATER_FIELDS = (
    "baseFeePerGas",
    "withdrawalsRoot",
    "blobGasUsed",
    "excessBlobGas",
    "parentBeaconBlockRoot",
    "requestsHash",
)
"""Fields that later forks append. Source: EIP-1559, EIP-4895, EIP-4844, EIP-4788, EIP-7685."""

QUANTITIES = frozenset(
    {
        *("difficulty", "number", "gasLimit", "gasUsed", "timestamp"),
        *("baseFeePerGas", "blobGasUsed", "excessBlobGas"),
    }
)


class HeaderMismatchError(ValueError):
    """A block whose fields do not match the stated hash."""


def parse_header(block: Mapping[str, object]) -> BlockHeaderAPI:
    """Return the header of a block in JSON.

    Raises: HeaderMismatchError: not an Ethereum header, a quantity is out of bounds, or the hash
        does not match.
    """
    try:
        names = [name for name in LATER_FIELDS if block.get(name) is not None]
        items = [_encode_field(name, block[name]) for name in (*BASE_FIELDS, *names)]
        header = decode_header(rlp.encode(items))
        stated = bytes.fromhex(str(block["hash"]).removeprefix("0x"))
    except (KeyError, ValueError, TypeError, OverflowError, rlp.exceptions.RLPException) as error:
        raise HeaderMismatchError("it is not the header of an Ethereum block") from error
    oversized = find_oversized_quantity(header)
    if oversized is not None:
        raise HeaderMismatchError(f"its {oversized}")
    if header.hash != stated:
        raise HeaderMismatchError(
            f"it states the hash 0x{stated.hex()}, and its header has 0x{header.hash.hex()}"
        )
    return header


def decode_header(encoded: bytes) -> BlockHeaderAPI:
    """Return the header of RLP, of any fork.

    Raises: rlp.exceptions.RLPException: not a header.
    """
    header: BlockHeaderAPI = rlp.decode(encoded, HeaderSedes)
    return header


def _encode_field(name: str, value: object) -> bytes:
    digits = str(value).removeprefix("0x")
    if name not in QUANTITIES:
        return bytes.fromhex(digits)
    number = int(digits, 16)
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
