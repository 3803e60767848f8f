"""Execution witness: everything that a block's execution reads, sufficient for a repetition.

The block is executed again on rows that record reads. Generations are not part of the state:
replayed, and not contained in the witness.

Source: the execution witness of geth (`core/stateless`) and reth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import rlp
from eth.consensus.context import ConsensusContext
from eth.constants import BLANK_ROOT_HASH
from eth.db.account import AccountDB
from eth.db.atomic import AtomicDB
from eth.db.backends.base import BaseDB
from eth.db.batch import BatchDB
from eth.db.chain import ChainDB
from eth.vm.chain_context import ChainContext
from eth_utils import keccak

from precompiles.spec import WORD_BYTES
from pyevm_agents.state.proofs import prove
from pyevm_agents.vm import WatchedVM

if TYPE_CHECKING:
    from eth.abc import BlockAPI, BlockHeaderAPI, DatabaseAPI, MetaWitnessAPI

    from pyevm_agents.chain import BlockRecord, Chain


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionWitness:
    """The data that was read. Lists are sorted by hash, except headers."""

    nodes: tuple[bytes, ...]
    """Nodes of the state trie and of storage tries, as RLP."""

    codes: tuple[bytes, ...]
    keys: tuple[bytes, ...]
    """The addresses and slots whose hashes are paths in the tries."""

    headers: tuple[bytes, ...]
    """Headers of preceding blocks, as RLP, the parent's last: BLOCKHASH reads up to 256."""


def build_execution_witness(chain: Chain, record: BlockRecord) -> ExecutionWitness:
    """Build the witness of a block of a chain.

    State set outside of transactions before the block (`patch_state`) is included, though the
    parent's state root does not cover it.

    Raises: EngineFault: the engine failed.
    """
    block = record.block
    root = record.root_before or chain.state_root_before(block.header)
    rows = _RecordingRows(chain.rows)
    witness = _execute(chain, block, root, rows)
    read = {key: value for key, value in rows.read.items() if keccak(value) == key}
    headers = _collect_ancestors(chain, block.header, read)
    codes = _collect_code_hashes(chain.rows, root, witness, read)
    others = {header.hash for header in headers} | codes
    return ExecutionWitness(
        nodes=tuple(read[key] for key in sorted(read) if key not in others),
        codes=tuple(read[key] for key in sorted(codes)),
        keys=tuple(sorted(_collect_keys(witness))),
        headers=tuple(rlp.encode(header) for header in headers),
    )


class _RecordingRows(BaseDB):
    """Read-only rows that record reads."""

    def __init__(self, rows: DatabaseAPI) -> None:
        self._rows = rows
        self.read: dict[bytes, bytes] = {}

    def __getitem__(self, key: bytes) -> bytes:
        value = self._rows[key]
        self.read[key] = value
        return value

    def _exists(self, key: bytes) -> bool:
        return self._rows.exists(key)

    def __setitem__(self, key: bytes, value: bytes) -> None:
        raise AssertionError(f"write to row {key.hex()}: witness rows are read-only")

    def __delitem__(self, key: bytes) -> None:
        raise AssertionError(f"deletion of row {key.hex()}: witness rows are read-only")


def _execute(chain: Chain, block: BlockAPI, root: bytes, rows: DatabaseAPI) -> MetaWitnessAPI:
    """Execute a block on rows; return the accounts and slots read."""
    db = AtomicDB(BatchDB(rows))  # Writes stay in this layer, in front of the rows.
    vm_class = chain.get_replay_vm_class(block.header)
    state_class = vm_class._state_class.configure(  # noqa: SLF001 - as py-evm's `configure` does
        __name__="WitnessedState", account_db_class=AccountDB
    )
    header = block.header.copy(
        gas_used=0, state_root=root, transaction_root=BLANK_ROOT_HASH, receipt_root=BLANK_ROOT_HASH
    )
    if "blob_gas_used" in header.as_dict():
        header = header.copy(blob_gas_used=0)
    vm = vm_class.configure(__name__="WitnessedVM", _state_class=state_class)(
        header=header,
        chaindb=ChainDB(db),
        chain_context=ChainContext(chain.config.chain_id),
        consensus_context=ConsensusContext(db),
    )
    assert isinstance(vm, WatchedVM)  # noqa: S101 - of its class
    vm.is_own_block = True
    return vm.import_block(block).meta_witness


def _collect_ancestors(
    chain: Chain, header: BlockHeaderAPI, read: dict[bytes, bytes]
) -> list[BlockHeaderAPI]:
    """Return the parent's header and earlier ones that were read, oldest first."""
    headers = [chain.header_by_hash(header.parent_hash)]
    while headers[-1].block_number and headers[-1].parent_hash in read:
        headers.append(chain.header_by_hash(headers[-1].parent_hash))
    return headers[::-1]


def _collect_code_hashes(
    rows: DatabaseAPI, root: bytes, witness: MetaWitnessAPI, read: dict[bytes, bytes]
) -> set[bytes]:
    """Return the hashes of the codes that were read."""
    hashes = {
        bytes(prove(rows, root, address, ()).account.code_hash)
        for address in witness.accounts_queried
    }
    return hashes & read.keys()


def _collect_keys(witness: MetaWitnessAPI) -> set[bytes]:
    """Return the addresses and slots that were read."""
    slots = {
        slot.to_bytes(WORD_BYTES, "big")
        for address in witness.accounts_queried
        for slot in witness.get_slots_queried(address)
    }
    return {bytes(address) for address in witness.accounts_queried} | slots
