"""Prague's blocks and headers, whose copies share what does not change.

py-evm copies a header some twenty times for a block, each time with every field copied deeply and
checked, and a block ten times, transactions and all: a vouched sender is lost on the way, and its
signature checked again. Everything in them is immutable, so a copy may share it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from eth._utils.headers import compute_gas_limit, new_timestamp_from_parent
from eth.constants import (
    BLANK_ROOT_HASH,
    EMPTY_SHA256,
    EMPTY_UNCLE_HASH,
    GENESIS_GAS_LIMIT,
    POST_MERGE_DIFFICULTY,
    POST_MERGE_MIX_HASH,
    POST_MERGE_NONCE,
    ZERO_ADDRESS,
)
from eth.vm.forks.london.headers import calculate_expected_base_fee_per_gas
from eth.vm.forks.prague.blocks import PragueBlock, PragueBlockHeader
from eth.vm.forks.prague.headers import (
    calc_excess_blob_gas_prague,
    create_prague_header_from_parent,
)
from eth_bloom.bloom import BloomFilter
from rlp.sedes.serializable import make_immutable

if TYPE_CHECKING:
    from eth.abc import BlockHeaderAPI, ChainDatabaseAPI, ReceiptAPI

REMEMBERED = ("_cached_rlp", "_hash_cache", "_hash")
"""What an object remembers of its fields."""


def _changed(original: Any, changes: dict[str, Any]) -> Any:  # noqa: ANN401 - an `rlp.Serializable`
    """Return a copy with other values in some fields.

    Raises: TypeError: there is no such field.
    """
    meta = original._meta  # noqa: SLF001 - where rlp says what the fields are
    attributes = dict(zip(meta.field_names, meta.field_attrs, strict=True))
    unknown = changes.keys() - attributes.keys()
    if unknown:
        raise TypeError(f"{type(original).__name__} has no field {', '.join(sorted(unknown))}")
    made = object.__new__(type(original))
    vars(made).update(vars(original))
    for name in REMEMBERED:
        vars(made).pop(name, None)
    for name, value in changes.items():
        vars(made)[attributes[name]] = make_immutable(value)
    return made


class AgentHeader(PragueBlockHeader):
    """A header."""

    def copy(self, **changes: Any) -> Self:  # noqa: ANN401 - what the fields hold
        """Return it with other values in some fields.

        Raises: TypeError: there is no such field.
        """
        changed: Self = _changed(self, changes)
        return changed

    @classmethod
    def of(cls, header: BlockHeaderAPI) -> AgentHeader:
        """Return a header of Prague as one of these."""
        return header if isinstance(header, AgentHeader) else cls(**header.as_dict())  # type: ignore[arg-type]


class AgentBlock(PragueBlock):
    """A block, which may know its receipts."""

    fields = [("header", AgentHeader), *PragueBlock._meta.fields[1:]]  # noqa: SLF001, RUF012 - rlp's way

    receipts: tuple[ReceiptAPI, ...] | None = None
    """Its receipts, where it was made here."""

    def copy(self, **changes: Any) -> Self:  # noqa: ANN401 - what the fields hold
        """Return it with other values in some fields.

        Raises: TypeError: there is no such field.
        """
        changed: Self = _changed(self, changes)
        changed.block_requests = []
        if "header" in changes:
            changed.bloom_filter = BloomFilter(changed.header.bloom)
        return changed

    def get_receipts(self, chaindb: ChainDatabaseAPI) -> tuple[ReceiptAPI, ...]:
        """Return its receipts."""
        return super().get_receipts(chaindb) if self.receipts is None else self.receipts


def header_after(parent: BlockHeaderAPI | None, **told: Any) -> AgentHeader:  # noqa: ANN401 - py-evm's
    """Return the header that follows a parent, or a genesis one: as py-evm, in one step for six."""
    if parent is None or told or len(parent) != len(AgentHeader._meta.fields):  # type: ignore[arg-type]  # noqa: SLF001 - see above
        return AgentHeader.of(create_prague_header_from_parent(parent, **told))
    return AgentHeader.of(parent).copy(
        parent_hash=parent.hash,
        uncles_hash=EMPTY_UNCLE_HASH,
        coinbase=ZERO_ADDRESS,
        transaction_root=BLANK_ROOT_HASH,
        receipt_root=BLANK_ROOT_HASH,
        bloom=0,
        difficulty=POST_MERGE_DIFFICULTY,
        block_number=parent.block_number + 1,
        gas_limit=compute_gas_limit(parent, genesis_gas_limit=GENESIS_GAS_LIMIT),
        gas_used=0,
        timestamp=new_timestamp_from_parent(parent),
        extra_data=b"",
        mix_hash=POST_MERGE_MIX_HASH,
        nonce=POST_MERGE_NONCE,
        base_fee_per_gas=calculate_expected_base_fee_per_gas(parent),
        withdrawals_root=BLANK_ROOT_HASH,
        blob_gas_used=0,
        excess_blob_gas=calc_excess_blob_gas_prague(parent),
        parent_beacon_block_root=BLANK_ROOT_HASH,
        requests_hash=EMPTY_SHA256,
    )
