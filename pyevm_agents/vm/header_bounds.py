"""Bounds of the quantities of a header that was made elsewhere: its hash proves none of them.

py-evm's integers have no size, and some rules take time in proportion to one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import BlockHeaderAPI

QUANTITY_BITS: Mapping[str, int] = {
    "difficulty": 256,
    "block_number": 63,
    "gas_limit": 63,
    "gas_used": 63,
    "timestamp": 64,
    "base_fee_per_gas": 256,
    "blob_gas_used": 63,
    "excess_blob_gas": 29,
}
"""The most bits of each quantity. Source: geth's `types.Header`; EIP-1985 for the gas limit. With
more than 29 bits of excess, a unit of blob gas would cost some 2^230 wei under Cancun's rules."""


SHOWN_BOUND = 2**512


def find_oversized_quantity(header: BlockHeaderAPI) -> str | None:
    """Return what a quantity is and must be that no header can have; None if there is none."""
    fields = header.as_dict()
    for name, bits in QUANTITY_BITS.items():
        number = int(fields.get(name) or 0)
        if number.bit_length() > bits:
            # Python does not write integers of over 4,300 digits.
            shown = number if number < SHOWN_BOUND else f"of {number.bit_length()} bits"
            return f"{name} {shown}: must be at most 2^{bits} - 1"
    return None
