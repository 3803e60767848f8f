"""Blocks as RLP: decoding, and comparison with the results of their execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rlp
from eth.exceptions import UnrecognizedTransactionType
from eth_utils import ValidationError

from pyevm_agents.errors import BlockError
from pyevm_agents.vm import FORKS, find_oversized_quantity

if TYPE_CHECKING:
    from eth.abc import BlockAPI


def decode_block(encoded: bytes, block_class: type[BlockAPI] | None = None) -> BlockAPI:
    """Decode a block.

    Input:
        encoded: RLP of the block.
        block_class: of the block's fork; by default the fork whose headers have as many fields.

    Raises: BlockError: not a block, not in canonical RLP, or with a quantity out of bounds.
    """
    try:
        block: BlockAPI = rlp.decode(encoded, block_class or _find_block_class(encoded))
    except (
        rlp.exceptions.RLPException,
        UnrecognizedTransactionType,
        ValidationError,
        ValueError,
        TypeError,
    ) as error:
        raise BlockError(f"{len(encoded)} bytes: not the RLP of a block: {error}") from error
    if rlp.encode(block) != encoded:
        raise BlockError("block in non-canonical RLP")
    oversized = find_oversized_quantity(block.header)
    if oversized is not None:
        raise BlockError(f"block {oversized}")
    return block


def _find_block_class(encoded: bytes) -> type[BlockAPI]:
    """Return the block class of the fork with as many header fields, else the latest.

    Raises: DecodingError: not RLP.
    """
    parts = rlp.decode(encoded, strict=False)
    count = len(parts[0]) if parts else 0
    classes: list[type[BlockAPI]] = [fork.vm_class.get_block_class() for fork in FORKS.values()]
    for block_class in classes:
        header_class = dict(block_class._meta.fields)["header"]  # type: ignore[attr-defined]  # noqa: SLF001 - where rlp says what the fields are
        if len(header_class._meta.fields) == count:  # noqa: SLF001 - see above
            return block_class
    return classes[-1]


def require_same(stated: BlockAPI, computed: BlockAPI) -> None:
    """Reject a block whose execution gave other results than stated in the header.

    Raises: BlockError: names the first header field that differs.
    """
    fields = computed.header.as_dict()
    for name, value in stated.header.as_dict().items():
        if fields[name] != value:
            raise BlockError(
                f"block {stated.number}: {name} is {_format_value(fields[name])}, "
                f"its header has {_format_value(value)}"
            )
    if stated != computed:
        raise BlockError(f"block {stated.number}: its body does not match its header")


def _format_value(value: object) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)
