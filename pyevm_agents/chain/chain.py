"""One chain: genesis, mine, import, call, estimate, snapshot, revert.

A fault of the host (`pyevm_agents.errors.EngineFault`) leaves the chain unchanged: blocks and calls
have their own VMs, and the writes of a complete block alone reach the database. Reads are
thread-safe; only one thread may write.

Source: docs/architecture.md#model-is-an-argument, #four-failures.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import rlp
from eth.db.atomic import AtomicDB
from eth.db.schema import SchemaV1
from eth.rlp.sedes import chain_gaps
from eth_typing import BlockNumber
from lru import LRU

from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.abi.known_contracts import KnownContracts
from pyevm_agents.agents.events import AgentEventBus
from pyevm_agents.agents.trace import extract_inferences, trace_agents
from pyevm_agents.chain.block_rlp import decode_block, require_same
from pyevm_agents.chain.block_rows import write_block
from pyevm_agents.chain.bootstrap import (
    build_executor,
    build_numeric_executor,
    require_supported,
    setup_genesis,
)
from pyevm_agents.chain.database import (
    FORK_STATE_KEY,
    HEAD_STATE_KEY,
    Database,
    MemoryRows,
    generations_key,
    patched_root_key,
    pool_key,
    sender_key,
    trace_key,
)
from pyevm_agents.chain.draft_block import DraftBlock, DraftChain, UnavailableModel, get_watched_vm
from pyevm_agents.chain.fork_setup import setup_fork
from pyevm_agents.chain.generation_notes import NotedModel
from pyevm_agents.chain.genesis import add_precompiles, build_genesis_header
from pyevm_agents.chain.inference_log import ReplayModel, decode_generations, encode_generations
from pyevm_agents.chain.reader import find_vm_class
from pyevm_agents.chain.records import BlockRecord, BlockSettings, MinedBlock
from pyevm_agents.chain.simulator import MAX_SLOW_CALLS, SHORT_GAS, ChainSimulator
from pyevm_agents.chain.trace_codec import encode_trace
from pyevm_agents.chain.transactions import is_impersonated, recover_sender
from pyevm_agents.errors import BlockError
from pyevm_agents.state import OverlayCache, StateCache
from pyevm_agents.state.dump import load_accounts
from pyevm_agents.vm import (
    FORKS,
    AgentState,
    BlockRefusal,
    InvalidBlockError,
    NestedCallError,
    RuleError,
    WatchedVM,
    build_chain_class,
    build_foreign_chain_class,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from eth.abc import (
        BlockAndMetaWitness,
        BlockAPI,
        BlockHeaderAPI,
        ComputationAPI,
        ReceiptAPI,
        SignedTransactionAPI,
        StateAPI,
    )
    from eth_typing import Address

    from precompiles.language_model import LanguageModel
    from precompiles.numeric_model import NumericModel
    from pyevm_agents.agents.trace import AgentTrace
    from pyevm_agents.chain.database import Rows
    from pyevm_agents.chain.generation_notes import GenerationNotes
    from pyevm_agents.chain.genesis import ForeignRules, GenesisAccount
    from pyevm_agents.config import ChainConfig
    from pyevm_agents.vm import AgentMiningChain, ForkBlock
    from pyevm_agents.vm.vm import OnRefusal, OnTransaction


class Chain(ChainSimulator):
    """A chain under one `ChainConfig`, with the precompiles of the given models."""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        config: ChainConfig,
        models: Mapping[str, LanguageModel] | None = None,
        *,
        numeric_models: Mapping[str, NumericModel] | None = None,
        accounts: Mapping[Address, GenesisAccount] | None = None,
        rows: Rows | None = None,
        foreign: ForeignRules | None = None,
        fork: ForkBlock | None = None,
        are_own_rows: bool = False,
        former: Chain | None = None,
    ) -> None:
        """Start at genesis or at a fork block, or open the chain in `rows`.

        Input:
            config: the chain config.
            models: a language model for each model name of the config.
            numeric_models: a numeric model for each name in `numeric_models` of the config.
            accounts: genesis accounts; on a fork, accounts that differ from the start.
            rows: the database; in memory by default.
            foreign: the rules of a chain made elsewhere, which has no models.
            fork: the block of a remote chain to continue: the `origin` of the config.
            are_own_rows: the rows are a copy of a chain that this process created with the same
                config and accounts, so genesis is not computed again for verification.
            former: the chain that this one replaces; names of contracts and listeners are kept.

        Raises: ConfigError: a configured model is missing, left over or another one; the rows hold
                a chain of another config or genesis; the config is that of another fork, or the
                remote chain has code at a precompile's address. RemoteFault: the remote chain of a
                fork did not answer.
        """
        self.models: Mapping[str, LanguageModel] = dict(models or {})
        self.numeric_models: Mapping[str, NumericModel] = dict(numeric_models or {})
        self.genesis_accounts = add_precompiles(config, accounts or {})
        self.known_contracts: KnownContracts = (
            KnownContracts() if former is None else former.known_contracts
        )
        """Names of contracts, errors and functions, for display."""

        self.agent_events: AgentEventBus = (
            AgentEventBus(self.known_contracts) if former is None else former.agent_events
        )
        """The bus that announces agent steps while they are executed."""

        self.fork_block = fork
        """The block of a remote chain that this one continues, if any."""

        self._state_cache = StateCache() if fork is None else OverlayCache()
        executor = build_executor(config, self.models, self.agent_events)
        self._numeric_executor = build_numeric_executor(config, self.numeric_models)
        if foreign is None:
            header = build_genesis_header(config)
            chain_class = build_chain_class(
                executor,
                config.chain_id,
                self.agent_events,
                numeric=self._numeric_executor,
                fork=FORKS[config.fork],
                code_size_bytes=config.code_size_bytes,
                fork_block=fork,
                cache=self._state_cache,
            )
        else:
            header = dict(foreign.genesis_header)
            chain_class = build_foreign_chain_class(foreign.forks, config.chain_id)
        db = Database(rows if rows is not None else MemoryRows())
        if are_own_rows:
            require_supported(config, None if fork is None else fork.origin)
        elif fork is None:
            setup_genesis(db, chain_class, config, header, self.genesis_accounts)
        else:
            setup_fork(db, chain_class, config, fork, self.genesis_accounts)
        super().__init__(config, chain_class, db)

    # -- writing -- #

    def mine(  # noqa: PLR0913 - keyword arguments
        self,
        transactions: Sequence[SignedTransactionAPI] = (),
        *,
        timestamp_seconds: int | None = None,
        settings: BlockSettings | None = None,
        notes: GenerationNotes | None = None,
        may_infer: bool = True,
        on_start: Callable[[SignedTransactionAPI], None] | None = None,
        watch: OnTransaction | None = None,
        on_refusal: OnRefusal | None = None,
    ) -> MinedBlock:
        """Mine a block of these transactions.

        Input:
            transactions: signed, or with a known sender, in order.
            timestamp_seconds: Unix seconds; by default one second after the parent's.
            settings: overrides of header fields; replaces `timestamp_seconds`.
            notes: generations to repeat, from `rehearse`.
            may_infer: whether the models compute generations that are not in the notes.
            on_start: called before each transaction.
            watch: called after each transaction.
            on_refusal: called with each invalid transaction, and the reason. The block is one of
                the others, as far as the gas that they use leaves room, without later ones of a
                sender that was left out. None: all of them, or no block.

        Raises: InvalidTransactionError: a transaction is invalid; with `on_refusal`, all that had
                room were. InvalidBlockError: any block would be. EngineFault: the host failed.
                ModelNeededError: a transaction needs inference, and may not infer. The chain is
                unchanged in all cases.
        """
        header = self.build_next_header(
            settings or BlockSettings(timestamp_seconds=timestamp_seconds)
        )
        with self._discard_on_error():
            chain = self._select_mining_chain(notes, may_infer=may_infer)
            vm = get_watched_vm(chain, header)
            vm.on_start, vm.on_refusal = on_start, on_refusal
            mined = self._make_block(vm, transactions, watch)
            self._write_own_block(mined.block)
            self._persist(mined)
        return mined

    def mine_if_short(
        self, transaction: SignedTransactionAPI, settings: BlockSettings
    ) -> MinedBlock | None:
        """Mine a block of one short transaction; otherwise return None.

        A short transaction has at most `SHORT_GAS`, and calls neither another contract nor a
        precompile, so it can't reach a model. A fork has no short ones: each may read the remote
        chain. None also if no block can hold the transaction. The chain is unchanged then.

        Raises: EngineFault: the host failed. The chain is unchanged.
        """
        function = (transaction.to, transaction.data[:SELECTOR_BYTES])
        is_long = transaction.gas > SHORT_GAS or function in self._calling_functions
        if is_long or self.fork_block is not None or transaction.to in self._precompiles:
            return None
        header = self.build_next_header(settings)
        try:
            with self._discard_on_error():
                vm = get_watched_vm(self._chain, header)
                if not isinstance(vm.state, AgentState):
                    return None
                vm.state.forbids_nested_calls = True
                mined = self._make_block(vm, [transaction])
                self._write_own_block(mined.block)
                self._persist(mined)
        except NestedCallError:
            self._calling_functions[function] = None
            return None
        except RuleError:
            return None
        return mined

    @cached_property
    def _calling_functions(self) -> LRU[tuple[Address, bytes], None]:
        """LRU of (address, selector) pairs that called another contract."""
        return LRU(MAX_SLOW_CALLS)

    @cached_property
    def _precompiles(self) -> Container[Address]:
        """The addresses of the precompiles."""
        state_class: Any = self._get_vm_class(self._head)._state_class  # noqa: SLF001 - as py-evm's `configure` does
        return frozenset(state_class.computation_class.get_precompiles())

    def _select_mining_chain(
        self, notes: GenerationNotes | None, *, may_infer: bool
    ) -> AgentMiningChain:
        """Return py-evm's chain on this database with the models of a block."""
        if not self.models or (notes is None and may_infer):
            return self._chain
        if notes is None:
            return self._silent_chain
        events = self.agent_events if may_infer else AgentEventBus()
        return self._build_noted_class(notes, events, may_infer=may_infer)(AtomicDB(self._db))

    def rehearse(
        self, transaction: SignedTransactionAPI, header: BlockHeaderAPI, notes: GenerationNotes
    ) -> None:
        """Execute a transaction as the first of a block, and note its generations. Thread-safe.

        Steps are announced as those of a block.

        Input:
            transaction: valid on the head.
            header: from `build_next_header`.
            notes: are extended.

        Raises: see `mine`.
        """
        chain_class = self._build_noted_class(notes, self.agent_events, may_infer=True)
        chain = chain_class(AtomicDB(self._db.create_scratch()))
        self._make_block(get_watched_vm(chain, header), [transaction])

    def draft_block(
        self,
        transactions: Sequence[SignedTransactionAPI],
        header: BlockHeaderAPI,
        *,
        watch: OnTransaction | None = None,
    ) -> DraftChain:
        """Build a block as `mine` does, without adding it. Thread-safe, also during mining.

        Input:
            transactions: as for `mine`.
            header: from `build_next_header`.
            watch: called after each transaction.

        Raises: see `mine`.
        """
        chain_class, db = self._chain_class, self._db.create_scratch()
        mined = self._make_block(
            get_watched_vm(chain_class(AtomicDB(db)), header), transactions, watch
        )
        root = bytes(header.state_root)
        draft = BlockRecord(block=mined.block, receipts=mined.receipts, root_before=root)
        return DraftChain(self.config, chain_class, db, draft)

    def begin_draft(self, header: BlockHeaderAPI, *, is_silent: bool = True) -> DraftBlock:
        """Start a draft block that grows. Thread-safe.

        Input: header: from `build_next_header`; is_silent: whether the draft runs no inference.
        """
        db = self._db.create_scratch()
        chain_class = self._silent_chain_class if is_silent else self._chain_class
        trials = ChainSimulator(self.config, self._chain_class, db)
        return DraftBlock(chain_class(AtomicDB(db)), trials, db, header)

    def build_unexecuted_block(
        self, transactions: Sequence[SignedTransactionAPI], header: BlockHeaderAPI
    ) -> BlockAPI:
        """Return a block of these transactions without executing them."""
        return get_watched_vm(self._chain, header).get_block().copy(transactions=transactions)

    @cached_property
    def _silent_chain(self) -> AgentMiningChain:
        """py-evm's chain on this database, with models that raise `ModelNeededError`."""
        return self._silent_chain_class(AtomicDB(self._db))

    @cached_property
    def _silent_chain_class(self) -> type[AgentMiningChain]:
        """The chain's class with models that raise `ModelNeededError`."""
        if not self.models:
            return self._chain_class
        return self._build_chain_class(
            {name: UnavailableModel(model) for name, model in self.models.items()}
        )

    def get_replay_vm_class(self, header: BlockHeaderAPI) -> type[WatchedVM]:
        """Return the class of a VM that replays a block with the stored generations."""
        row = self._get_row(generations_key(header.hash))
        if row is None:  # The block has no inference, or an earlier version stored the chain.
            return self._get_vm_class(header)
        entries = decode_generations(row)
        replay_models = {name: ReplayModel(model, entries) for name, model in self.models.items()}
        return find_vm_class(self._build_chain_class(replay_models), header.block_number)

    def find_agent_trace(self, transaction_hash: bytes) -> AgentTrace | None:
        """Return the trace of a transaction's agents: the stored one, or by replay.

        Output: None if the transaction is in no block.
        Raises: EngineFault: the host failed, or the stored row is damaged.
        """
        stored = self.stored_trace(transaction_hash)
        if stored is not None:
            return stored
        match = self.find_transaction(transaction_hash)
        if match is None:
            return None
        record, index = match
        receipt, computation = self.replay(record, index)
        gas_before = record.receipts[index - 1].gas_used if index else 0
        return trace_agents(computation, receipt.gas_used - gas_before, self.models)

    def _build_noted_class(
        self, notes: GenerationNotes, events: AgentEventBus, *, may_infer: bool
    ) -> type[AgentMiningChain]:
        """Return the chain's class with models that repeat notes."""
        noted = {
            name: NotedModel(name, model, notes, may_infer=may_infer)
            for name, model in self.models.items()
        }
        return self._build_chain_class(noted, events)

    def _build_chain_class(
        self, models: Mapping[str, LanguageModel], events: AgentEventBus | None = None
    ) -> type[AgentMiningChain]:
        """Return the chain's class with other models; their steps are announced to `events`."""
        executor = build_executor(self.config, models, events or AgentEventBus())
        return build_chain_class(
            executor,
            self.config.chain_id,
            events,
            numeric=self._numeric_executor,
            fork=self.fork,
            code_size_bytes=self.config.code_size_bytes,
            fork_block=self.fork_block,
            cache=self._state_cache,
        )

    def _make_block(
        self,
        vm: WatchedVM,
        transactions: Sequence[SignedTransactionAPI],
        watch: OnTransaction | None = None,
    ) -> MinedBlock:
        return self._execute(vm, transactions, lambda: vm.make_own_block(transactions), watch)

    def import_block(self, encoded: bytes, *, watch: OnTransaction | None = None) -> MinedBlock:
        """Execute a block that was mined before, and add the block if the results match the header.

        Input:
            encoded: RLP of the next block of this chain.
            watch: called after each transaction.

        Raises: BlockError: not a block, or the results differ from the header.
                InvalidTransactionError, InvalidBlockError: with the reason. EngineFault: the host
                failed. The chain is unchanged in all cases.
        """
        header = self._chain.create_header_from_parent(self._head).copy(
            state_root=self.state_root(self._head)
        )
        block = decode_block(encoded, self._get_vm_class(header).get_block_class())
        if block.number != header.block_number:
            raise InvalidBlockError(
                BlockRefusal.INVALID_BLOCK_NUMBER,
                f"block {block.number}: the chain's next one is {header.block_number}",
            )
        if self._is_fork_block(self._head) and block.header.extra_data != self.config.digest:
            raise BlockError(
                f"first block of a fork with extraData 0x{block.header.extra_data.hex()}: must be "
                f"the chain configuration's digest, 0x{self.config.digest.hex()}"
            )
        with self._discard_on_error():
            vm = get_watched_vm(self._chain, header)
            mined = self._execute(vm, block.transactions, lambda: vm.import_block(block), watch)
            require_same(block, mined.block)
            self._chain.chaindb.persist_block(mined.block)
            self._persist(mined)
        return mined

    def patch_state(self, change: Callable[[StateAPI], None]) -> None:
        """Change accounts of the head's state directly, as `anvil_setBalance` does.

        The head's header keeps the state root as mined.
        """
        with self._discard_on_error():
            state = self.state()
            change(state)
            state.persist()
            self._db[HEAD_STATE_KEY] = bytes(state.state_root)
            self._db.commit()
        self._set_head(self._head)

    def load_accounts(self, accounts: object) -> None:
        """Replace accounts of the head's state by those of a dump; on a fork, of the same fork.

        Raises: ConfigError: `accounts` is not in the format of a dump.
        """
        with self._discard_on_error():
            before = self.state_root(self._head)
            root = load_accounts(
                self._db, before, accounts, is_overlay=self.config.origin is not None
            )
            self._db[HEAD_STATE_KEY] = root
            self._db.commit()
        self._set_head(self._head)

    # -- snapshots and rollbacks -- #

    def snapshot(self) -> int:
        """Take a snapshot; return the number for `revert`."""
        return self._db.snapshot()

    def forget_snapshot(self, snapshot: int) -> None:
        """Delete a snapshot; later ones stay."""
        self._db.forget_snapshot(snapshot)

    def revert(self, snapshot: int) -> None:
        """Revert to a snapshot, and delete this and all later ones.

        Raises: ConfigError: unknown snapshot.
        """
        self._db.revert(snapshot)
        self._set_head(self._chain.get_canonical_head())

    def rollback(self, number: int) -> None:
        """Remove all blocks after a block, and changes by `patch_state` since that block.

        Raises: HeaderNotFound: the chain lacks the block.
        """
        target = self.header(number)
        with self._discard_on_error():
            for later in range(number + 1, self._head.block_number + 1):
                for transaction in self.block(later).transactions:
                    del self._db[
                        SchemaV1.make_transaction_hash_to_block_lookup_key(transaction.hash)
                    ]
                    if self._db.exists(trace_key(transaction.hash)):
                        del self._db[trace_key(transaction.hash)]
                del self._db[SchemaV1.make_block_number_to_hash_lookup_key(BlockNumber(later))]
            self._db[SchemaV1.make_canonical_head_hash_lookup_key()] = bytes(target.hash)
            no_gaps = rlp.encode(((), number + 1), sedes=chain_gaps)
            self._db[SchemaV1.make_header_chain_gaps_lookup_key()] = no_gaps
            self._db[SchemaV1.make_chain_gaps_lookup_key()] = no_gaps
            if self._is_fork_block(target):
                self._db[HEAD_STATE_KEY] = self._db[FORK_STATE_KEY]
            elif self._db.exists(HEAD_STATE_KEY):
                del self._db[HEAD_STATE_KEY]
            self._db.commit()
        self._set_head(target)

    # -- inside -- #

    def _execute(
        self,
        vm: WatchedVM,
        transactions: Sequence[SignedTransactionAPI],
        run: Callable[[], BlockAndMetaWitness],
        watch: OnTransaction | None = None,
    ) -> MinedBlock:
        """Return a block with the receipts and computations of its execution.

        Input: the VM; the transactions; the function that executes them in the VM.
        """
        done: list[tuple[SignedTransactionAPI, ReceiptAPI, ComputationAPI]] = []

        def collect(
            transaction: SignedTransactionAPI, receipt: ReceiptAPI, computation: ComputationAPI
        ) -> None:
            done.append((transaction, receipt, computation))
            if watch is not None:
                watch(transaction, receipt, computation)

        for transaction in transactions:
            recover_sender(transaction)
        vm.on_transaction = collect
        block, witness = run()
        return MinedBlock(
            block=block,
            receipts=tuple(receipt for _, receipt, _ in done),
            computations=tuple(computation for _, _, computation in done),
            witness=witness,
        )

    def _write_own_block(self, block: BlockAPI) -> None:
        write_block(self._db, self._chain.chaindb, block)

    def _persist(self, mined: MinedBlock) -> None:
        """Write the rows of a block that py-evm does not know, and make it the head."""
        block = mined.block
        for transaction in block.transactions:
            if is_impersonated(transaction):
                self._db[sender_key(transaction.hash)] = bytes(transaction.sender)
            waiting = pool_key(transaction.sender, transaction.nonce)
            if self._db.exists(waiting):
                del self._db[waiting]
        if self.models:
            self._persist_inferences(mined)
        before = patched_root_key(block.hash)
        if self._db.exists(HEAD_STATE_KEY):
            self._db[before] = self._db[HEAD_STATE_KEY]
            del self._db[HEAD_STATE_KEY]
        elif self._db.exists(before):  # The same block was removed, with another state before it.
            del self._db[before]
        self._db.commit()
        self._records[block.hash] = BlockRecord(block=block, receipts=mined.receipts)
        self._set_head(block.header)

    def _persist_inferences(self, mined: MinedBlock) -> None:
        """Write the generations of a block, and the agent traces of the transactions.

        A trace is stored because a replay does not know how long each generation took.
        """
        row = encode_generations(mined.computations)
        if row is None:
            return
        self._db[generations_key(mined.block.hash)] = row
        gas_before = 0
        for transaction, receipt, computation in zip(
            mined.block.transactions, mined.receipts, mined.computations, strict=True
        ):
            if extract_inferences(computation):
                trace = trace_agents(computation, receipt.gas_used - gas_before, self.models)
                self._db[trace_key(transaction.hash)] = encode_trace(trace)
            gas_before = receipt.gas_used

    @contextmanager
    def _discard_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._db.discard()
            raise
