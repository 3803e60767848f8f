"""Blocks and headers of Cancun and Prague: default fields of a child, and shallow copies.

A chain without a beacon chain has two fields in which py-evm's defaults differ:

- `mixHash`, hence PREVRANDAO (EIP-4399), is keccak of the parent's hash: deterministic, different
  in each block, and known in advance to every reader of the chain.
- `parentBeaconBlockRoot` (EIP-4788) is zero, as in geth's and anvil's development chains. py-evm
  has the root of an empty trie.

Source: docs/architecture.md#header-defaults.

py-evm copies a header with a deep copy and a check of every field, and a block with transactions,
which loses known senders. All fields are immutable and shared by copies.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Self

from eth._utils.headers import compute_gas_limit, new_timestamp_from_parent
from eth.constants import (
    BLANK_ROOT_HASH,
    EMPTY_SHA256,
    EMPTY_UNCLE_HASH,
    GENESIS_GAS_LIMIT,
    POST_MERGE_DIFFICULTY,
    POST_MERGE_NONCE,
    ZERO_ADDRESS,
    ZERO_HASH32,
)
from eth.vm.forks.cancun import blocks as of_cancun
from eth.vm.forks.cancun.headers import (
    calc_excess_blob_gas_cancun,
    create_cancun_header_from_parent,
)
from eth.vm.forks.london.constants import INITIAL_BASE_FEE
from eth.vm.forks.london.headers import calculate_expected_base_fee_per_gas
from eth.vm.forks.prague import blocks as of_prague
from eth.vm.forks.prague.headers import (
    calc_excess_blob_gas_prague,
    create_prague_header_from_parent,
)
from eth_bloom.bloom import BloomFilter
from eth_hash.auto import keccak
from eth_typing import Hash32

from pyevm_agents.vm.rlp_codec import build_record, encode_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth.abc import BlockHeaderAPI, ChainDatabaseAPI, ReceiptAPI, SignedTransactionAPI

    from pyevm_agents.vm.blobs import BlobSchedule

CACHED_ATTRIBUTES = ("_cached_rlp", "_hash_cache", "_hash")
"""Attributes of an `rlp.Serializable` that depend on its fields."""


def derive_prev_randao(parent: BlockHeaderAPI) -> Hash32:
    """Return the default `mixHash` of a child of `parent`."""
    return Hash32(keccak(parent.hash))


def _copy_with(original: Any, changes: dict[str, Any]) -> Any:  # noqa: ANN401 - an `rlp.Serializable`
    """Return a copy with some fields changed.

    Raises: TypeError: unknown field.
    """
    record_class: Any = type(original)
    attributes = _get_attributes(record_class)
    unknown = changes.keys() - attributes.keys()
    if unknown:
        raise TypeError(f"{record_class.__name__} has no field {', '.join(sorted(unknown))}")
    duplicate = object.__new__(record_class)
    values = vars(duplicate)
    values.update(vars(original))
    for name in CACHED_ATTRIBUTES:
        values.pop(name, None)
    for name, value in changes.items():
        values[attributes[name]] = tuple(value) if isinstance(value, list) else value
    return duplicate


@cache
def _get_attributes(record_class: Any) -> Mapping[str, str]:  # noqa: ANN401 - an `rlp.Serializable`
    """Return the attributes of a class's fields."""
    meta = record_class._meta  # noqa: SLF001 - where rlp says what the fields are
    return dict(zip(meta.field_names, meta.field_attrs, strict=True))


class CancunHeader(of_cancun.CancunBlockHeader):
    """A header of Cancun."""

    def copy(self, **changes: Any) -> Self:  # noqa: ANN401 - values of any field
        """Return a copy with some fields changed.

        Raises: TypeError: unknown field.
        """
        changed: Self = _copy_with(self, changes)
        return changed

    @property
    def hash(self) -> Hash32:
        """The block's hash."""
        return _hash_header(self)


class PragueHeader(of_prague.PragueBlockHeader):
    """A header of Prague."""

    def copy(self, **changes: Any) -> Self:  # noqa: ANN401 - values of any field
        """Return a copy with some fields changed.

        Raises: TypeError: unknown field.
        """
        changed: Self = _copy_with(self, changes)
        return changed

    @property
    def hash(self) -> Hash32:
        """The block's hash."""
        return _hash_header(self)


def _hash_header(header: Any) -> Hash32:  # noqa: ANN401 - see `_copy_with`
    """Return the hash of a header, which the header keeps, as py-evm's do."""
    kept = header._hash  # noqa: SLF001 - py-evm's
    if kept is None:
        kept = header._hash = keccak(encode_record(header))  # noqa: SLF001 - py-evm's
    return Hash32(kept)


class AgentBlock(of_cancun.CancunBlock):
    """A block, with or without receipts. Base of the blocks of all forks."""

    receipts: tuple[ReceiptAPI, ...] | None = None
    """The receipts of a block that this process executed; None otherwise."""

    @classmethod
    def build(
        cls,
        header: BlockHeaderAPI,
        transactions: Sequence[SignedTransactionAPI],
        receipts: tuple[ReceiptAPI, ...],
    ) -> Self:
        """Return an executed block without withdrawals."""
        block: Self = build_record(cls, header, tuple(transactions), (), ())
        block.bloom_filter = BloomFilter(header.bloom)
        block.block_requests = []
        block.receipts = receipts
        return block

    def copy(self, **changes: Any) -> Self:  # noqa: ANN401 - values of any field
        """Return a copy with some fields changed.

        Raises: TypeError: unknown field.
        """
        changed: Self = _copy_with(self, changes)
        changed.block_requests = []
        if "header" in changes:
            changed.bloom_filter = BloomFilter(changed.header.bloom)
        return changed

    def get_receipts(self, chaindb: ChainDatabaseAPI) -> tuple[ReceiptAPI, ...]:
        """Return the block's receipts."""
        return super().get_receipts(chaindb) if self.receipts is None else self.receipts


class CancunBlock(AgentBlock):
    """A block of Cancun."""

    fields = [("header", CancunHeader), *of_cancun.CancunBlock._meta.fields[1:]]  # noqa: SLF001, RUF012 - rlp's way


class PragueBlock(AgentBlock, of_prague.PragueBlock):
    """A block of Prague."""

    fields = [("header", PragueHeader), *of_prague.PragueBlock._meta.fields[1:]]  # noqa: SLF001, RUF012 - rlp's way


def complete_header(header: BlockHeaderAPI, block_class: type[AgentBlock]) -> BlockHeaderAPI:
    """Return a header with all fields of a fork's headers; the same header if complete.

    The fork block of a chain may be of an earlier fork. Missing fields get the values that the
    fork's first block starts from: a base fee of 1 gwei, and no blob gas.
    """
    header_class = block_class._meta.fields[0][1]  # noqa: SLF001 - where rlp says what the fields are
    if _has_same_fields(header, header_class):
        return header
    fields: dict[str, Any] = {
        "base_fee_per_gas": INITIAL_BASE_FEE,
        "withdrawals_root": BLANK_ROOT_HASH,
        "blob_gas_used": 0,
        "excess_blob_gas": 0,
        "parent_beacon_block_root": ZERO_HASH32,
        "requests_hash": EMPTY_SHA256,
    }
    names = header_class._meta.field_names  # noqa: SLF001 - see above
    for name, value in header.as_dict().items():
        fields[str(name)] = value
    completed: BlockHeaderAPI = header_class(**{name: fields[name] for name in names})
    return completed


def build_cancun_header(
    parent: BlockHeaderAPI | None,
    **fields: Any,  # noqa: ANN401 - py-evm's
) -> BlockHeaderAPI:
    """Return the header of a child of `parent`, or a genesis header for None."""
    if parent is not None and not fields and _has_same_fields(parent, CancunHeader):
        return _derive_header(CancunHeader, parent, calc_excess_blob_gas_cancun(parent))
    defaults = _build_defaults(parent)
    return CancunHeader(**create_cancun_header_from_parent(parent, **defaults | fields).as_dict())


def build_prague_header(
    parent: BlockHeaderAPI | None,
    **fields: Any,  # noqa: ANN401 - py-evm's
) -> BlockHeaderAPI:
    """Return the header of a child of `parent`, or a genesis header for None."""
    if parent is not None and not fields and _has_same_fields(parent, PragueHeader):
        excess = calc_excess_blob_gas_prague(parent)
        return _derive_header(PragueHeader, parent, excess, requests_hash=EMPTY_SHA256)
    defaults = _build_defaults(parent)
    return PragueHeader(**create_prague_header_from_parent(parent, **defaults | fields).as_dict())


def build_osaka_header(
    blobs: BlobSchedule,
    parent: BlockHeaderAPI | None,
    **fields: Any,  # noqa: ANN401 - py-evm's
) -> BlockHeaderAPI:
    """Return the header of a child of `parent`, or a genesis header for None."""
    if parent is not None and not fields and _has_same_fields(parent, PragueHeader):
        excess = blobs.compute_excess(parent)
        return _derive_header(PragueHeader, parent, excess, requests_hash=EMPTY_SHA256)
    header = build_prague_header(parent, **fields)
    return header if parent is None else header.copy(excess_blob_gas=blobs.compute_excess(parent))


def _build_defaults(parent: BlockHeaderAPI | None) -> dict[str, Any]:
    """Return the fields in which py-evm's defaults differ from ours."""
    fields: dict[str, Any] = {"parent_beacon_block_root": ZERO_HASH32}
    if parent is not None:
        fields["mix_hash"] = derive_prev_randao(parent)
    return fields


def _has_same_fields(header: Any, header_class: Any) -> bool:  # noqa: ANN401 - `rlp.Serializable`s
    return len(header) == len(header_class._meta.fields)  # noqa: SLF001 - where rlp says what the fields are


def _derive_header(
    header_class: type[CancunHeader | PragueHeader],
    parent: BlockHeaderAPI,
    excess_blob_gas: int,
    **fields: object,
) -> BlockHeaderAPI:
    """Return the header of a child of `parent`: py-evm's six copies in one."""
    if not isinstance(parent, header_class):
        values: dict[str, Any] = parent.as_dict()  # type: ignore[assignment]
        parent = header_class(**values)
    return parent.copy(
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
        mix_hash=derive_prev_randao(parent),
        nonce=POST_MERGE_NONCE,
        base_fee_per_gas=calculate_expected_base_fee_per_gas(parent),
        withdrawals_root=BLANK_ROOT_HASH,
        blob_gas_used=0,
        excess_blob_gas=excess_blob_gas,
        parent_beacon_block_root=ZERO_HASH32,
        **fields,
    )
