"""Reads of a chain: blocks, receipts and states."""

from __future__ import annotations

from itertools import chain, islice, pairwise, repeat
from typing import TYPE_CHECKING

import rlp
from eth.constants import MAX_PREV_HEADER_DEPTH
from eth.db.atomic import AtomicDB
from eth.exceptions import HeaderNotFound, TransactionNotFound
from eth.vm.chain_context import ChainContext
from eth_typing import Address, BlockNumber, Hash32
from eth_utils import ValidationError
from lru import LRU

from pyevm_agents.chain.database import HEAD_STATE_KEY, patched_root_key, sender_key, trace_key
from pyevm_agents.chain.genesis import GenesisAccount
from pyevm_agents.chain.records import BlockRecord
from pyevm_agents.chain.trace_codec import decode_trace
from pyevm_agents.chain.transactions import impersonate
from pyevm_agents.errors import ConfigError
from pyevm_agents.state.dump import dump_accounts
from pyevm_agents.vm import FORKS, AgentState, AgentVM, WatchedVM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from eth.abc import (
        BlockAPI,
        BlockHeaderAPI,
        DatabaseAPI,
        ReceiptAPI,
        SignedTransactionAPI,
        StateAPI,
        TransactionBuilderAPI,
    )

    from pyevm_agents.agents.trace import AgentTrace
    from pyevm_agents.chain.database import Database
    from pyevm_agents.config import ChainConfig
    from pyevm_agents.vm import AgentMiningChain, Fork

    VMClassWrapper = Callable[[type[AgentVM]], type[AgentVM]]


READS_OF_A_RANGE = 10
"""Tries to read a range of headers while other threads replace the chain. Each revert is a write of
some milliseconds, so that a second try is rare."""

HEADERS_AT_ONCE = 1_000
"""Headers of a long range in memory, some 2 MB."""

RECORDS = 256
"""Size of the LRU of decoded blocks. Clients request the newest ones repeatedly."""


class ChainReader:
    """Reads a chain. Thread-safe."""

    def __init__(
        self, config: ChainConfig, chain_class: type[AgentMiningChain], db: Database
    ) -> None:
        self.config = config
        self._chain_class = chain_class
        self._db = db
        self._chain = chain_class(AtomicDB(db))
        self._records: LRU[bytes, BlockRecord] = LRU(RECORDS)
        self._set_head(self._chain.get_canonical_head())

    def _set_head(self, header: BlockHeaderAPI) -> None:
        """Set the head, with the state root that was patched afterwards, if any."""
        root = self._get_row(HEAD_STATE_KEY) or header.state_root
        # One assignment: other threads read both values together.
        self._tip = (header, bytes(root))

    def _get_row(self, key: bytes) -> bytes | None:
        """Return a row in a single read: another thread may be writing."""
        try:
            return self._db[key]
        except KeyError:
            return None

    @property
    def _head(self) -> BlockHeaderAPI:
        return self._tip[0]

    def close(self) -> None:
        """Close the database. Idempotent."""
        self._db.close()

    @property
    def head(self) -> BlockHeaderAPI:
        """The header of the latest block."""
        return self._head

    @property
    def first_number(self) -> int:
        """The number of the first block: 0, or on a fork that of the fork block."""
        origin = self.config.origin
        return 0 if origin is None else origin.block_number

    @property
    def genesis_hash(self) -> bytes:
        """The hash of block 0.

        Raises: HeaderNotFound: the chain is a fork.
        """
        return bytes(self.header(0).hash)

    @property
    def fork(self) -> Fork:
        """The fork of the config; of a chain made elsewhere, the latest fork."""
        return FORKS[self.config.fork]

    @property
    def transaction_builder(self) -> type[TransactionBuilderAPI]:
        """py-evm's transaction builder of the head's fork."""
        builder: type[TransactionBuilderAPI] = self._get_vm_class(
            self._head
        ).get_transaction_builder()
        return builder

    def header(self, number: int) -> BlockHeaderAPI:
        """Return the header of a block by number.

        Raises: HeaderNotFound: the chain lacks the block.
        """
        head = self._head
        if number == head.block_number:
            return head
        if number > head.block_number:
            raise HeaderNotFound(f"no block {number}: the latest one is {head.block_number}")
        if number < self.first_number:
            raise HeaderNotFound(
                f"no block {number} here: the fork begins at block {self.first_number}; ask the "
                "remote chain"
            )
        return self._chain.get_canonical_block_header_by_number(BlockNumber(number))

    def iter_headers(self, first: int, last: int) -> Iterator[BlockHeaderAPI]:
        """Yield the headers of a range of any length; see `headers`.

        Raises: HeaderNotFound: also if the chain is replaced between two of its parts.
        """
        before: BlockHeaderAPI | None = None
        for start in range(first, last + 1, HEADERS_AT_ONCE):
            found = self.headers(start, min(start + HEADERS_AT_ONCE - 1, last))
            if before is not None and found[0].parent_hash != before.hash:
                raise HeaderNotFound(f"blocks {first} to {last}: the chain is being replaced")
            yield from found
            before = found[-1]

    def headers(self, first: int, last: int) -> list[BlockHeaderAPI]:
        """Return the headers of a range of blocks of one chain, also while another thread reverts.

        Raises: HeaderNotFound: the chain lacks one of the blocks, or changes all the time.
        """
        for _ in range(READS_OF_A_RANGE):
            try:
                found = [self.header(number) for number in range(first, last + 1)]
            except HeaderNotFound:
                if first < self.first_number or last > self._head.block_number:
                    raise
                continue
            if all(parent.hash == child.parent_hash for parent, child in pairwise(found)):
                return found
        raise HeaderNotFound(f"blocks {first} to {last}: the chain is being replaced")

    def header_by_hash(self, block_hash: bytes) -> BlockHeaderAPI:
        """Return the header of a block by hash, also of a removed block.

        Raises: HeaderNotFound: unknown hash.
        """
        record = self._records.get(block_hash)
        if record is not None:
            return record.block.header
        try:
            return self._chain.get_block_header_by_hash(Hash32(block_hash))
        except (rlp.exceptions.RLPException, ValidationError, ValueError, TypeError) as error:
            # The hash of another row: code, or a trie node.
            raise HeaderNotFound(f"0x{block_hash.hex()}: not a block hash") from error

    def is_canonical(self, header: BlockHeaderAPI) -> bool:
        """Whether a block is on the chain now."""
        try:
            return bool(self.header(header.block_number).hash == header.hash)
        except HeaderNotFound:
            return False

    def block(self, number: int) -> BlockAPI:
        """Return a block by number.

        Raises: HeaderNotFound: the chain lacks the block.
        """
        return self.block_with_receipts(self.header(number)).block

    def block_with_receipts(self, header: BlockHeaderAPI) -> BlockRecord:
        """Return the block of a header, with receipts.

        Raises: HeaderNotFound: a fork block, whose transactions only the remote chain has.
        """
        block_hash = header.hash
        record = self._records.get(block_hash)
        if record is None:
            self._require_local(header)
            block = self._chain.get_block_by_header(header)
            for transaction in block.transactions:
                self._impersonate_if_known(transaction)
            receipts = block.get_receipts(self._chain.chaindb)
            record = BlockRecord(block=block, receipts=tuple(receipts))
            self._records[block_hash] = record
        return record

    def _is_fork_block(self, header: BlockHeaderAPI) -> bool:
        origin = self.config.origin
        return origin is not None and bool(header.hash == origin.block_hash)

    def _require_local(self, header: BlockHeaderAPI) -> None:
        if self._is_fork_block(header):
            raise HeaderNotFound(
                f"transactions of block {header.block_number} are not here: it is the fork block; "
                "ask the remote chain"
            )

    def find_transaction(self, transaction_hash: bytes) -> tuple[BlockRecord, int] | None:
        """Return a transaction's block and the index there; None if not mined."""
        try:
            number, index = self._chain.get_canonical_transaction_index(Hash32(transaction_hash))
            return self.block_with_receipts(self.header(number)), index
        except (TransactionNotFound, HeaderNotFound):
            return None

    def receipt(self, transaction_hash: bytes) -> ReceiptAPI:
        """Return the receipt of a mined transaction.

        Raises: TransactionNotFound: in no block.
        """
        match = self.find_transaction(transaction_hash)
        if match is None:
            raise TransactionNotFound(f"no block holds transaction 0x{transaction_hash.hex()}")
        record, index = match
        return record.receipts[index]

    # -- states -- #

    def state(self, header: BlockHeaderAPI | None = None) -> StateAPI:
        """Return the state after a block, by default the head, for reads.

        NUMBER and the like are the block's own. For a block that is not mined, system calls are
        executed.
        """
        head, root = self._tip  # Read once: another thread may be mining.
        if header is None:
            return self._build_state(head, root)
        state = self._build_state(header, self.state_root(header))
        self._begin_block_if_new(state, header)
        return state

    def _begin_block_if_new(self, state: StateAPI, header: BlockHeaderAPI) -> None:
        if isinstance(state, AgentState) and not self._is_stored(header):
            state.begin_block(header)
            state.lock_changes()

    def state_root(self, header: BlockHeaderAPI) -> bytes:
        """Return the state root after a block, with accounts that were set afterwards.

        The root stays the same when the next block is mined: a thread that has read the head reads
        the head's state.
        """
        head, root = self._tip
        if header.hash == head.hash:
            return root
        return self._find_patched_root(header) or bytes(header.state_root)

    def _find_patched_root(self, header: BlockHeaderAPI) -> bytes | None:
        """Return the patched state root before the next block, or None."""
        rows, number = self._chain.chaindb, header.block_number
        try:
            if rows.get_canonical_block_hash(number) != header.hash:
                return None
            child = rows.get_canonical_block_hash(BlockNumber(number + 1))
        except HeaderNotFound:
            return None
        return self._get_row(patched_root_key(child))

    def state_root_before(self, header: BlockHeaderAPI) -> bytes:
        """Return the state root before a block, also of a removed or draft block."""
        root = self._get_row(patched_root_key(header.hash))
        if root is not None:
            return root
        parent = self.header_by_hash(header.parent_hash)
        # A draft block starts with accounts that were set since.
        return bytes(parent.state_root) if self._is_stored(header) else self.state_root(parent)

    def _is_stored(self, header: BlockHeaderAPI) -> bool:
        """Whether a header belongs to a block that was mined, also if removed since."""
        return header is self._head or self._db.exists(header.hash)

    def balance(self, address: Address) -> int:
        """Return an account's balance at the head, in wei."""
        return self.state().get_balance(address)

    def nonce(self, address: Address) -> int:
        """Return an account's nonce at the head."""
        return self.state().get_nonce(address)

    def code(self, address: Address) -> bytes:
        """Return an account's code at the head."""
        return self.state().get_code(address)

    def account(self, address: Address, slots: Iterable[int] = ()) -> GenesisAccount | None:
        """Return an account at the head with these storage slots; None if absent."""
        state = self.state()
        if not state.account_exists(address):
            return None
        storage = {slot: state.get_storage(address, slot) for slot in slots}
        return GenesisAccount(
            balance_wei=state.get_balance(address),
            nonce=state.get_nonce(address),
            code=state.get_code(address),
            storage={slot: value for slot, value in storage.items() if value},
        )

    def dump_accounts(self) -> dict[str, dict[str, object] | None]:
        """Return all accounts at the head, by the hashes of their addresses.

        Those of a fork are the ones that differ from the remote state.
        """
        return dump_accounts(self._db, self.state_root(self._head))

    @property
    def rows(self) -> DatabaseAPI:
        """The chain's database with trie nodes, for reads."""
        return self._db

    # -- traces -- #

    def stored_trace(self, transaction_hash: bytes) -> AgentTrace | None:
        """Return the agent trace that was stored with a transaction.

        Output: None without inference, or if mined by an earlier version.
        Raises: EngineFault: the row is damaged.
        """
        row = self._get_row(trace_key(transaction_hash))
        return None if row is None else decode_trace(row)

    # -- the rules of a block -- #

    def get_vm_class_at(self, number: int) -> type[WatchedVM]:
        """Return the VM class of a block number."""
        return find_vm_class(self._chain_class, number)

    def _get_vm_class(self, header: BlockHeaderAPI) -> type[WatchedVM]:
        return self.get_vm_class_at(header.block_number)

    def _build_state(
        self,
        header: BlockHeaderAPI,
        root: bytes,
        trace: VMClassWrapper | None = None,
        *,
        number: int | None = None,
    ) -> StateAPI:
        """Return a state on a root, in the context of a header.

        Input: number: the block's real number, for BLOCKHASH, if the header overrides it.
        """
        vm_class = self._get_vm_class(header)
        header = vm_class.complete_header(header)
        if trace is not None:
            vm_class = trace(require_traceable_vm(vm_class, header))
        hashes = vm_class.get_prev_hashes(header.parent_hash, self._chain.chaindb) or ()
        ahead = 0 if number is None else header.block_number - number
        if ahead:
            unknown = repeat(Hash32(b""), min(ahead, MAX_PREV_HEADER_DEPTH))
            hashes = chain(unknown, islice(hashes, max(0, -ahead), None))
        return vm_class.build_state(
            self._chain.chaindb.db,
            header if header.state_root == root else header.copy(state_root=root),
            ChainContext(self.config.chain_id),
            hashes,
        )

    def _impersonate_if_known(self, transaction: SignedTransactionAPI) -> None:
        sender = self._get_row(sender_key(transaction.hash))
        if sender is not None:
            impersonate(transaction, Address(sender))


def find_vm_class(chain_class: type[AgentMiningChain], number: int) -> type[WatchedVM]:
    """Return a chain's VM class for a block number."""
    forks = chain_class.vm_configuration
    if len(forks) == 1:  # Only imported chains have several; py-evm's search is slow.
        vm_class = forks[0][1]
    else:
        vm_class = chain_class.get_vm_class_for_block_number(BlockNumber(number))
    assert issubclass(vm_class, WatchedVM)  # noqa: S101 - the only ones an `AgentMiningChain` has
    return vm_class


def create_vm(
    chain: AgentMiningChain,
    vm_class: type[WatchedVM],
    header: BlockHeaderAPI,
    trace: VMClassWrapper | None = None,
) -> WatchedVM:
    """Return a new VM of a class for a header.

    Input: trace: wraps the class with a tracer.
    Raises: ConfigError: the VM is to be traced and is of an older fork.
    """
    if trace is not None:
        vm_class = trace(require_traceable_vm(vm_class, header))
    return vm_class(
        header=header,
        chaindb=chain.chaindb,
        chain_context=ChainContext(chain.chain_id),
        consensus_context=chain.consensus_context,
    )


def require_traceable_vm(vm_class: type[WatchedVM], header: BlockHeaderAPI) -> type[AgentVM]:
    """Return a VM class as one that supports tracers.

    Raises: ConfigError: the VM is of an older fork.
    """
    if not issubclass(vm_class, AgentVM):
        raise ConfigError(
            f"block {header.block_number} of fork {vm_class.fork}: only blocks of the forks "
            f"{' and '.join(FORKS)} can be traced"
        )
    return vm_class
