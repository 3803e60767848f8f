"""Blocks from elsewhere: read from RLP, and held against what their execution gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rlp
from eth_utils import ValidationError

from pyevm_agents.errors import BlockError
from pyevm_agents.vm import FORKS

if TYPE_CHECKING:
    from eth.abc import BlockAPI


def decode_block(encoded: bytes, block_class: type[BlockAPI] | None = None) -> BlockAPI:
    """Return the block that RLP holds.

    Input:  the RLP; the class of its fork's blocks, where None of the fork whose headers have as
            many fields.
    Raises: BlockError: it holds none, or in another encoding than RLP has for it.
    """
    try:
        block: BlockAPI = rlp.decode(encoded, block_class or _find_block_class(encoded))
    except (rlp.exceptions.RLPException, ValidationError, ValueError, TypeError) as error:
        raise BlockError(f"{len(encoded)} bytes that are no block's RLP: {error}") from error
    if rlp.encode(block) != encoded:
        raise BlockError("a block in another encoding than its RLP")
    return block


def _find_block_class(encoded: bytes) -> type[BlockAPI]:
    """Return the class of a block; the latest fork's where it looks like none.

    Raises: DecodingError: it is no RLP.
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
    """Refuse a block whose execution gave other results than it states.

    Raises: BlockError: names the first field of the header that differs.
    """
    fields = computed.header.as_dict()
    for name, value in stated.header.as_dict().items():
        if fields[name] != value:
            raise BlockError(
                f"block {stated.number}: {name} is {_format_value(fields[name])}, "
                f"its header says {_format_value(value)}"
            )
    if stated != computed:
        raise BlockError(f"block {stated.number}: its body is not what its header says")


def _format_value(value: object) -> str:
    return "0x" + value.hex() if isinstance(value, bytes) else str(value)
