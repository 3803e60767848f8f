"""One chain: genesis, mine, import, call, estimate, snapshot, revert.

A fault of the host (`pyevm_agents.errors.EngineFault`) leaves it as it was: blocks and calls work
on a VM of their own, and what a block writes reaches the rows when it is complete. Reading is safe
in any thread; writing is for one at a time.

Source: architecture, decisions 3 and 10.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rlp
from eth.db.atomic import AtomicDB
from eth.db.backends.memory import MemoryDB
from eth.db.schema import SchemaV1
from eth.exceptions import HeaderNotFound, TransactionNotFound
from eth.rlp.sedes import chain_gaps
from eth.vm.chain_context import ChainContext
from eth_typing import Address, BlockNumber, Hash32
from lru import LRU

from precompiles.executor import Executor
from precompiles.ports import Described
from pyevm_agents.blocks import decode_block, require_same
from pyevm_agents.calls import AccountOverride, Call, CallResult, override, spoofed
from pyevm_agents.config import ChainConfig, check_fits
from pyevm_agents.database import Database, MemoryRows
from pyevm_agents.dumps import dump_accounts, load_accounts
from pyevm_agents.errors import ConfigError
from pyevm_agents.estimation import Trial, least_gas
from pyevm_agents.genesis import (
    ForeignRules,
    GenesisAccount,
    genesis_header,
    genesis_state,
    with_executor,
)
from pyevm_agents.senders import impersonate, is_impersonated
from pyevm_agents.steps import Steps
from pyevm_agents.vm import (
    AgentState,
    AgentVM,
    WatchedVM,
    agent_chain,
    floor_gas,
    foreign_chain,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eth.abc import (
        BlockAPI,
        BlockHeaderAPI,
        ComputationAPI,
        DatabaseAPI,
        MetaWitnessAPI,
        ReceiptAPI,
        SignedTransactionAPI,
        StateAPI,
        TransactionBuilderAPI,
        UnsignedTransactionAPI,
    )

    from precompiles.ports import LanguageModel
    from pyevm_agents.database import Rows
    from pyevm_agents.vm import Watch

    Trace = Callable[[type[AgentVM]], type[AgentVM]]

__all__ = [
    "AccountOverride",
    "BlockSettings",
    "Call",
    "CallResult",
    "Chain",
    "ForeignRules",
    "GenesisAccount",
    "MinedBlock",
    "Record",
]

CONFIG_KEY = b"agents:config"
"""Row of the configuration, as canonical JSON."""

HEAD_STATE_KEY = b"agents:head-state"
"""Row of the head's state root where somebody set accounts after it was mined."""

BEFORE_KEY = b"agents:before:"
"""Row of the state root that a block began with, by its hash, where it is not its parent's."""

NOTE_KEY = b"agents:note:"
"""Row of what is kept about a transaction beside the rules, by its hash."""

SENDER_KEY = b"agents:sender:"
"""Row of the sender of a transaction that has no signature of its own, by its hash."""

RECORDS = 256
"""How many blocks are kept decoded. A client asks for the newest ones again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedBlock:
    """A block, with a receipt and a computation for each of its transactions."""

    block: BlockAPI
    receipts: tuple[ReceiptAPI, ...]
    computations: tuple[ComputationAPI, ...]
    witness: MetaWitnessAPI
    """Which accounts and slots it asked for: the state's trie holds nothing but their hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A block of the chain with its receipts."""

    block: BlockAPI
    receipts: tuple[ReceiptAPI, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSettings:
    """What a block to be mined is told to be. None: what follows from its parent."""

    timestamp_seconds: int | None = None
    """A second after its parent's where None."""

    coinbase: Address | None = None
    gas_limit: int | None = None
    """The configuration's where None."""

    base_fee_wei: int | None = None
    prev_randao: bytes | None = None
    parent_beacon_root: bytes | None = None


class Chain:
    """A chain under one `ChainConfig`, with the executor precompile where it has models."""

    def __init__(
        self,
        config: ChainConfig,
        models: Mapping[str, LanguageModel] | None = None,
        *,
        accounts: Mapping[Address, GenesisAccount] | None = None,
        rows: Rows | None = None,
        foreign: ForeignRules | None = None,
    ) -> None:
        """Begin at genesis, or where the rows stand.

        Input:  the rules, a language model for each model name of theirs, genesis accounts; where
                the chain is kept, in memory where None; the rules of a chain that others made,
                which has no models.
        Raises: ConfigError: a configured model has no language model, or one is left over; the
                rows hold a chain of another configuration or genesis.
        """
        self.config = config
        self.models: Mapping[str, LanguageModel] = dict(models or {})
        self.genesis_accounts = with_executor(config, accounts or {})
        self.steps = Steps()
        """Tells of agents' steps as they happen."""

        executor = _executor(config, self.models, self.steps)
        if foreign is None:
            self._genesis_header = genesis_header(config)
            self._chain_class = agent_chain(executor, config.chain_id, self.steps)
        else:
            self._genesis_header = dict(foreign.genesis_header)
            self._chain_class = foreign_chain(foreign.forks, config.chain_id)
        self._db = Database(rows if rows is not None else MemoryRows())
        if not self._db.exists(CONFIG_KEY):
            self._begin(AtomicDB(self._db))
            self._db[CONFIG_KEY] = config.to_json().encode()
            self._db.commit()
        else:
            self._require_own()
        self._chain = self._chain_class(AtomicDB(self._db))
        self._records: LRU[bytes, Record] = LRU(RECORDS)
        self._head: BlockHeaderAPI = self._chain.get_canonical_head()

    def _begin(self, db: AtomicDB) -> None:
        state = genesis_state(self.genesis_accounts)
        self._chain_class.from_genesis(db, self._genesis_header, state)

    def _require_own(self) -> None:
        stated = self._db[CONFIG_KEY].decode()
        if stated != self.config.to_json():
            raise ConfigError(
                "the chain that is kept there has another configuration: "
                f"{_difference(stated, self.config.to_json())}; start it with what it was made "
                "with, or keep a new chain elsewhere"
            )
        scratch = AtomicDB(MemoryDB())
        self._begin(scratch)
        wanted = self._chain_class(scratch).get_canonical_head().hash
        kept = self._chain_class(AtomicDB(self._db)).get_canonical_block_hash(BlockNumber(0))
        if wanted != kept:
            raise ConfigError(
                f"the chain that is kept there begins with block 0x{kept.hex()}, and these "
                f"accounts with 0x{wanted.hex()}; start it with the accounts it was made with, or "
                "keep a new chain elsewhere"
            )

    def close(self) -> None:
        """Close the rows; again does nothing."""
        self._db.close()

    # -- reading -- #

    @property
    def head(self) -> BlockHeaderAPI:
        """The header of the latest block."""
        return self._head

    @property
    def genesis_hash(self) -> bytes:
        """The hash of block 0."""
        return bytes(self.header(0).hash)

    @property
    def transaction_builder(self) -> type[TransactionBuilderAPI]:
        """What makes and reads transactions of the latest block's fork."""
        builder: type[TransactionBuilderAPI] = self._vm_class(self._head).get_transaction_builder()
        return builder

    def header(self, number: int) -> BlockHeaderAPI:
        """Return the header of the block of that number.

        Raises: HeaderNotFound: there is none.
        """
        if number == self._head.block_number:
            return self._head
        return self._chain.get_canonical_block_header_by_number(BlockNumber(number))

    def header_of(self, block_hash: bytes) -> BlockHeaderAPI:
        """Return the header of the block of that hash, on the chain now or once.

        Raises: HeaderNotFound: there is none.
        """
        record = self._records.get(block_hash)
        if record is not None:
            return record.block.header
        return self._chain.get_block_header_by_hash(Hash32(block_hash))

    def is_canonical(self, header: BlockHeaderAPI) -> bool:
        """Whether a block is on the chain now."""
        try:
            return bool(self.header(header.block_number).hash == header.hash)
        except HeaderNotFound:
            return False

    def block(self, number: int) -> BlockAPI:
        """Return the block of that number.

        Raises: HeaderNotFound: there is none.
        """
        return self.record(self.header(number)).block

    def record(self, header: BlockHeaderAPI) -> Record:
        """Return the block of a header, with its receipts."""
        block_hash = header.hash
        record = self._records.get(block_hash)
        if record is None:
            block = self._chain.get_block_by_header(header)
            for transaction in block.transactions:
                self._impersonate_if_known(transaction)
            receipts = block.get_receipts(self._chain.chaindb)
            record = Record(block=block, receipts=tuple(receipts))
            self._records[block_hash] = record
        return record

    def find_transaction(self, transaction_hash: bytes) -> tuple[Record, int] | None:
        """Return the block that holds a transaction, and its place there; None if none does."""
        try:
            number, index = self._chain.get_canonical_transaction_index(Hash32(transaction_hash))
            return self.record(self.header(number)), index
        except (TransactionNotFound, HeaderNotFound):
            return None

    def receipt(self, transaction_hash: bytes) -> ReceiptAPI:
        """Return the receipt of a mined transaction.

        Raises: TransactionNotFound: no block has it.
        """
        found = self.find_transaction(transaction_hash)
        if found is None:
            raise TransactionNotFound(f"no block holds transaction 0x{transaction_hash.hex()}")
        record, index = found
        return record.receipts[index]

    def state(self, header: BlockHeaderAPI | None = None) -> StateAPI:
        """Return the state after a block, the latest where None, to be read and not kept.

        Its context is that block's: NUMBER gives its number.
        """
        header = self._head if header is None else header
        return self._state(header, self.state_root(header))

    def state_root(self, header: BlockHeaderAPI) -> bytes:
        """Return the root of the state after a block, what was set after it included."""
        if header.hash == self._head.hash and self._db.exists(HEAD_STATE_KEY):
            return self._db[HEAD_STATE_KEY]
        return bytes(header.state_root)

    def balance(self, address: Address) -> int:
        """Return an account's balance at the latest block, in wei."""
        return self.state().get_balance(address)

    def nonce(self, address: Address) -> int:
        """Return how many transactions an account has sent."""
        return self.state().get_nonce(address)

    def code(self, address: Address) -> bytes:
        """Return an account's code at the latest block."""
        return self.state().get_code(address)

    def account(self, address: Address, slots: Iterable[int] = ()) -> GenesisAccount | None:
        """Return an account at the latest block with those of its slots; None if it is none."""
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

    @property
    def rows(self) -> DatabaseAPI:
        """What is kept, trie nodes and all, to be read and not written."""
        return self._db

    def vm_class_at(self, number: int) -> type[WatchedVM]:
        """Return the class of the VM that makes the block of a number."""
        vm_class = self._chain_class.get_vm_class_for_block_number(BlockNumber(number))
        assert issubclass(vm_class, WatchedVM)  # noqa: S101 - the only ones an `AgentChain` has
        return vm_class

    # -- writing -- #

    def mine(
        self,
        transactions: Sequence[SignedTransactionAPI] = (),
        *,
        timestamp_seconds: int | None = None,
        settings: BlockSettings | None = None,
    ) -> MinedBlock:
        """Mine a block of these transactions.

        Input:  signed transactions, or such that are vouched for, in order; the block's time, one
                second after its parent's where None; what else it is told to be.
        Raises: ValidationError: a transaction that no block may hold. EngineFault: the host
                failed. The chain is as before in both cases.
        """
        settings = settings or BlockSettings(timestamp_seconds=timestamp_seconds)
        mined = self.draft(transactions, settings)
        self._persist(mined)
        return mined

    def draft(
        self, transactions: Sequence[SignedTransactionAPI], settings: BlockSettings
    ) -> MinedBlock:
        """Make a block as `mine` does, and add nothing. `forget_draft` takes what it has made.

        Raises: see `mine`.
        """
        header = self.next_header(settings)
        with self._or_nothing():
            block = self._vm(header).get_block()
            return self._execute(block.copy(transactions=transactions), header, is_own=True)

    def forget_draft(self) -> None:
        """Let go of what drafts have made."""
        self._db.discard()

    def import_block(self, encoded: bytes, *, watch: Watch | None = None) -> MinedBlock:
        """Execute a block that was mined before, and add it if it is what its header says.

        Input:  the block as RLP, the next one of this chain; who is told of each transaction as it
                ends.
        Raises: BlockError: no block, or its transactions give other results than its header says.
                ValidationError: a header or transaction that no such block may hold. EngineFault:
                the host failed. The chain is as before in all cases.
        """
        header = self._chain.create_header_from_parent(self._head)
        block = decode_block(encoded, self._vm_class(header).get_block_class())
        with self._or_nothing():
            mined = self._execute(block, header, watch)
            require_same(block, mined.block)
            self._persist(mined)
        return mined

    def modify(self, change: Callable[[StateAPI], None]) -> None:
        """Change accounts as no transaction could: the latest block's state from now on.

        The block's header keeps the root that it was mined with.
        """
        with self._or_nothing():
            state = self.state()
            change(state)
            state.persist()
            self._db[HEAD_STATE_KEY] = bytes(state.state_root)
            self._db.commit()

    def unsigned_transaction(
        self, call: Call, *, gas_price_wei: int | None = None
    ) -> UnsignedTransactionAPI:
        """Return a call as the sender's next legacy transaction, to be signed."""
        price_wei = gas_price_wei
        if price_wei is None:
            price_wei = 2 * int(self.next_header().base_fee_per_gas or 0)
        return self.transaction_builder.create_unsigned_transaction(
            nonce=self.nonce(call.sender),
            gas_price=price_wei,
            gas=self.config.block_gas_limit if call.gas is None else call.gas,
            to=call.to or Address(b""),
            value=call.value_wei,
            data=call.data,
        )

    # -- trying -- #

    def next_header(
        self, settings: BlockSettings | None = None, *, parent: BlockHeaderAPI | None = None
    ) -> BlockHeaderAPI:
        """Return the header that the next block begins with.

        Input:  what it is told to be; the latest block as the caller saw it, so that the header
                fits to it whatever is mined meanwhile.
        Raises: ConfigError: its time is not after its parent's.
        """
        told = settings or BlockSettings()
        parent = self._head if parent is None else parent
        header = self._chain.create_header_from_parent(parent)
        timestamp = parent.timestamp + 1
        if told.timestamp_seconds is not None:
            timestamp = told.timestamp_seconds
        if timestamp <= parent.timestamp:
            raise ConfigError(
                f"timestamp {timestamp}: must be after the parent's {parent.timestamp}"
            )
        fields: dict[str, object] = {
            "state_root": self.state_root(parent),
            "timestamp": timestamp,
            "gas_limit": self.config.block_gas_limit if told.gas_limit is None else told.gas_limit,
            "coinbase": told.coinbase,
            "base_fee_per_gas": told.base_fee_wei,
            "mix_hash": told.prev_randao,
            "parent_beacon_block_root": told.parent_beacon_root,
        }
        return header.copy(**{name: it for name, it in fields.items() if it is not None})

    def call(
        self,
        call: Call,
        *,
        header: BlockHeaderAPI | None = None,
        overrides: Mapping[Address, AccountOverride] | None = None,
        trace: Trace | None = None,
    ) -> CallResult:
        """Execute a message as a transaction would, and keep nothing.

        Input:  the header of the block that it is in: of one of the chain for the state after it,
                of `next_header` where None; what accounts are said to be meanwhile; what makes a VM
                class that tells a tracer.
        Raises: ValidationError: intrinsic gas, balance. EngineFault: the host failed.
        """
        state = self._trial_state(call, header, overrides or {}, trace)
        gas = state.gas_limit if call.gas is None else call.gas
        transaction = self._spoofed(state, call, gas)
        computation = state.costless_execute_transaction(transaction)
        return CallResult(
            output=bytes(computation.output),
            gas_used=self._vm_class(self._head).finalize_gas_used(transaction, computation),
            error=computation.error if computation.is_error else None,
            computation=computation,
        )

    def replay(
        self,
        record: Record,
        index: int,
        trace: Trace | None = None,
    ) -> tuple[ReceiptAPI, ComputationAPI]:
        """Execute a transaction of a block again, behind those before it, and keep nothing.

        Input:  the block, and the transaction's place; what makes a VM class that tells a tracer.
        Raises: EngineFault: the host failed.
        """
        block = record.block
        root = self.state_root_before(block.header)
        header = block.header.copy(gas_used=0, blob_gas_used=0, state_root=root)
        vm_class = self._vm_class(header) if trace is None else trace(self._agent_vm_class(header))
        vm = vm_class(
            header=header,
            chaindb=self._chain.chaindb,
            chain_context=ChainContext(self.config.chain_id),
            consensus_context=self._chain.consensus_context,
        )
        vm.block_preprocessing(block)
        for transaction in block.transactions[:index]:
            receipt, _ = vm.apply_transaction(header, transaction)
            header = vm.add_receipt_to_header(header, receipt)
            header = vm.increment_blob_gas_used(header, transaction)
        return vm.apply_transaction(header, block.transactions[index])

    def state_root_before(self, header: BlockHeaderAPI) -> bytes:
        """Return the root of the state that a block begins with."""
        key = BEFORE_KEY + header.hash
        if self._db.exists(key):
            return self._db[key]
        return bytes(self.header_of(header.parent_hash).state_root)

    def estimate_gas(
        self,
        call: Call,
        *,
        header: BlockHeaderAPI | None = None,
        overrides: Mapping[Address, AccountOverride] | None = None,
    ) -> int:
        """Return a gas limit with which a message succeeds, and with one less it does not.

        Generations are functions of their prompt, so the estimate is exact for agents too.

        Input:  as for `call`; its gas is the most that may be needed.
        Raises: VMError: it fails with all of that gas. ValidationError: see `call`. EngineFault:
                the host failed.
        """
        state = self._trial_state(call, header, overrides or {})
        most = state.gas_limit if call.gas is None else call.gas

        def attempt(gas: int) -> Trial:
            before = state.snapshot()
            transaction = self._spoofed(state, call, gas)
            try:
                return Trial.of(transaction, state.costless_execute_transaction(transaction))
            finally:
                state.revert(before)
                state.lock_changes()

        transaction = self._spoofed(state, call, most)
        least = max(transaction.intrinsic_gas, floor_gas(transaction))
        return least_gas(attempt, least, most)

    # -- going back -- #

    def snapshot(self) -> int:
        """Keep the chain as it is now; return a number for `revert`."""
        return self._db.snapshot()

    def forget_snapshot(self, snapshot: int) -> None:
        """Keep a snapshot no longer; later ones stay."""
        self._db.forget_snapshot(snapshot)

    def revert(self, snapshot: int) -> None:
        """Go back to a snapshot; it and all later ones are used up.

        Raises: ConfigError: there is no such snapshot.
        """
        self._db.revert(snapshot)
        self._head = self._chain.get_canonical_head()

    def rollback(self, number: int) -> None:
        """Go back to a block: those after it are no longer on the chain.

        What was set after it was mined (`modify`) is undone too.

        Raises: HeaderNotFound: there is no such block.
        """
        target = self.header(number)
        with self._or_nothing():
            for later in range(number + 1, self._head.block_number + 1):
                for transaction in self.block(later).transactions:
                    del self._db[
                        SchemaV1.make_transaction_hash_to_block_lookup_key(transaction.hash)
                    ]
                del self._db[SchemaV1.make_block_number_to_hash_lookup_key(BlockNumber(later))]
            self._db[SchemaV1.make_canonical_head_hash_lookup_key()] = bytes(target.hash)
            no_gaps = rlp.encode(((), number + 1), sedes=chain_gaps)
            self._db[SchemaV1.make_header_chain_gaps_lookup_key()] = no_gaps
            self._db[SchemaV1.make_chain_gaps_lookup_key()] = no_gaps
            if self._db.exists(HEAD_STATE_KEY):
                del self._db[HEAD_STATE_KEY]
            self._db.commit()
        self._head = target

    # -- all of a state -- #

    def dump_accounts(self) -> dict[str, dict[str, object]]:
        """Return all accounts of the latest state, by the hashes of their addresses."""
        return dump_accounts(self._db, self.state_root(self._head))

    def load_accounts(self, accounts: object) -> None:
        """Put accounts of a dump into the latest state, each as a whole.

        Raises: ConfigError: they are not as a dump has them.
        """
        with self._or_nothing():
            root = load_accounts(self._db, self.state_root(self._head), accounts)
            self._db[HEAD_STATE_KEY] = root
            self._db.commit()

    def slots_of_call(self, call: Call, account: Address) -> frozenset[int]:
        """Return the slots of an account that a call asks for.

        Only the thread that writes may call this.
        """
        try:
            witness = self.call(call).computation.state.persist()
        finally:
            self._db.discard()
        return frozenset(witness.get_slots_queried(account))

    # -- beside the rules -- #

    def note(self, transaction_hash: bytes, text: bytes) -> None:
        """Keep something about a transaction, of which no rule knows."""
        self._db[NOTE_KEY + transaction_hash] = text
        self._db.commit()

    def noted(self, transaction_hash: bytes) -> bytes | None:
        """Return what was kept about a transaction."""
        key = NOTE_KEY + transaction_hash
        return self._db[key] if self._db.exists(key) else None

    # -- inside -- #

    def _vm_class(self, header: BlockHeaderAPI) -> type[WatchedVM]:
        return self.vm_class_at(header.block_number)

    def _agent_vm_class(self, header: BlockHeaderAPI) -> type[AgentVM]:
        """Return the class of a VM that can be traced.

        Raises: ConfigError: it is of an older fork.
        """
        vm_class = self._vm_class(header)
        if not issubclass(vm_class, AgentVM):
            raise ConfigError(
                f"block {header.block_number} is of the fork {vm_class.fork}; only blocks of the "
                f"fork {AgentVM.fork} can be traced"
            )
        return vm_class

    def _vm(self, header: BlockHeaderAPI) -> WatchedVM:
        """Return a VM of its own for a header."""
        vm = self._chain.get_vm(header)
        assert isinstance(vm, WatchedVM)  # noqa: S101 - the only ones an `AgentChain` has
        return vm

    def _state(self, header: BlockHeaderAPI, root: bytes, trace: Trace | None = None) -> StateAPI:
        vm_class = self._vm_class(header) if trace is None else trace(self._agent_vm_class(header))
        hashes = vm_class.get_prev_hashes(header.parent_hash, self._chain.chaindb) or ()
        return vm_class.build_state(
            self._chain.chaindb.db,
            header.copy(state_root=root),
            ChainContext(self.config.chain_id),
            hashes,
        )

    def _trial_state(
        self,
        call: Call,
        header: BlockHeaderAPI | None,
        overrides: Mapping[Address, AccountOverride],
        trace: Trace | None = None,
    ) -> StateAPI:
        """Return the state to try a call in, whose block asks for no fee.

        A call that offers a price sees the base fee in BASEFEE, as in geth.
        """
        header = self.next_header() if header is None else header
        root = self.state_root(header)
        base_fee = header.as_dict().get("base_fee_per_gas")
        if base_fee is not None:
            header = header.copy(base_fee_per_gas=0)
        state = self._state(header, root, trace)
        if call.gas_price_wei and isinstance(state, AgentState):
            state.shown_base_fee_wei = base_fee
        override(state, overrides)
        return state

    def _spoofed(self, state: StateAPI, call: Call, gas: int) -> SignedTransactionAPI:
        return spoofed(call, self.transaction_builder, nonce=state.get_nonce(call.sender), gas=gas)

    def _execute(
        self,
        block: BlockAPI,
        header: BlockHeaderAPI,
        watch: Watch | None = None,
        *,
        is_own: bool = False,
    ) -> MinedBlock:
        """Execute the transactions of a block; what its header says of their results is not read.

        Mining and importing are this one function: a block's own work, such as the contract that
        keeps parents' hashes, is then done in both.
        """
        vm = self._vm(header)
        vm.is_own_block = is_own
        done: list[tuple[ReceiptAPI, ComputationAPI]] = []

        def tell(
            transaction: SignedTransactionAPI, receipt: ReceiptAPI, computation: ComputationAPI
        ) -> None:
            done.append((receipt, computation))
            if watch is not None:
                watch(transaction, receipt, computation)

        vm.watch = tell
        result = vm.import_block(block)
        # py-evm has copied the transactions over and over, and lost who sent them.
        kept: Any = result.block
        fields = kept.as_dict() | {"transactions": block.transactions}
        return MinedBlock(
            block=type(kept)(**fields),
            receipts=tuple(receipt for receipt, _ in done),
            computations=tuple(computation for _, computation in done),
            witness=result.meta_witness,
        )

    def _persist(self, mined: MinedBlock) -> None:
        block = mined.block
        self._chain.chaindb.persist_block(block)
        for transaction in block.transactions:
            if is_impersonated(transaction):
                self._db[SENDER_KEY + transaction.hash] = bytes(transaction.sender)
        if self._db.exists(HEAD_STATE_KEY):
            self._db[BEFORE_KEY + block.hash] = self._db[HEAD_STATE_KEY]
            del self._db[HEAD_STATE_KEY]
        self._db.commit()
        self._records[block.hash] = Record(block=block, receipts=mined.receipts)
        self._head = block.header

    @contextmanager
    def _or_nothing(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._db.discard()
            raise

    def _impersonate_if_known(self, transaction: SignedTransactionAPI) -> None:
        key = SENDER_KEY + transaction.hash
        if self._db.exists(key):
            impersonate(transaction, Address(self._db[key]))


def kept_config(rows: Rows) -> ChainConfig | None:
    """Return the configuration of the chain that rows hold; None where they hold none.

    Raises: ConfigError: it is one of another version.
    """
    kept = rows.get(CONFIG_KEY)
    return None if kept is None else ChainConfig.from_json(kept.decode())


def _difference(stated: str, own: str) -> str:
    """Name the first entry in which two configurations differ."""
    one, other = json.loads(stated), json.loads(own)
    name = next((n for n in sorted(one.keys() | other.keys()) if one.get(n) != other.get(n)), "")
    return f"{name} is {json.dumps(one.get(name))} there and {json.dumps(other.get(name))} here"


def _executor(
    config: ChainConfig, models: Mapping[str, LanguageModel], steps: Steps
) -> Executor | None:
    wanted = {profile.name for profile in config.models}
    if wanted != set(models):
        raise ConfigError(
            f"the chain's models are {sorted(wanted)}, but {sorted(models)} were given to answer"
        )
    if not config.models:
        return None
    pairs = [(profile, models[profile.name]) for profile in config.models]
    for profile, model in pairs:
        facts = model.profile_facts if isinstance(model, Described) else None
        if facts is not None:
            check_fits(config, profile, facts)
    return Executor(pairs, begin=steps.begins, record=steps.answered)
