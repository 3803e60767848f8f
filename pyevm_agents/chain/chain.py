"""One chain: genesis, mine, import, call, estimate, snapshot, revert.

A fault of the host (`pyevm_agents.errors.EngineFault`) leaves it as it was: blocks and calls work
on a VM of their own, and what a block writes reaches the rows when it is complete. Reading is safe
in any thread; writing is for one at a time.

Source: architecture, decisions 3 and 10.
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

from pyevm_agents.agents.events import Steps
from pyevm_agents.agents.trace import inferences, trace_agents
from pyevm_agents.chain.block_rlp import decode_block, require_same
from pyevm_agents.chain.bootstrap import begin, executor_of
from pyevm_agents.chain.database import (
    HEAD_STATE_KEY,
    Database,
    MemoryRows,
    before_key,
    said_key,
    sender_key,
    trace_key,
)
from pyevm_agents.chain.draft_block import Draft, DraftedChain, SilentModel, vm_of
from pyevm_agents.chain.genesis import genesis_header, with_executor
from pyevm_agents.chain.inference_log import SaidModel, read, said_in
from pyevm_agents.chain.reader import vm_class_of
from pyevm_agents.chain.records import BlockSettings, MinedBlock, Record
from pyevm_agents.chain.simulator import ChainTrials
from pyevm_agents.chain.trace_codec import encode_trace
from pyevm_agents.chain.transactions import is_impersonated
from pyevm_agents.state.dump import load_accounts
from pyevm_agents.vm import FORKS, WatchedVM, agent_chain, foreign_chain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eth.abc import (
        BlockAPI,
        BlockHeaderAPI,
        ComputationAPI,
        ReceiptAPI,
        SignedTransactionAPI,
        StateAPI,
    )
    from eth_typing import Address

    from precompiles.language_model import LanguageModel
    from pyevm_agents.agents.trace import AgentTrace
    from pyevm_agents.chain.database import Rows
    from pyevm_agents.chain.genesis import ForeignRules, GenesisAccount
    from pyevm_agents.config import ChainConfig
    from pyevm_agents.vm import AgentChain
    from pyevm_agents.vm.vm import Watch


class Chain(ChainTrials):
    """A chain under one `ChainConfig`, with the executor precompile where it has models."""

    def __init__(  # noqa: PLR0913 - each is told by its name
        self,
        config: ChainConfig,
        models: Mapping[str, LanguageModel] | None = None,
        *,
        accounts: Mapping[Address, GenesisAccount] | None = None,
        rows: Rows | None = None,
        foreign: ForeignRules | None = None,
        are_own_rows: bool = False,
    ) -> None:
        """Begin at genesis, or where the rows stand.

        Input:  the rules, a language model for each model name of theirs, genesis accounts; where
                the chain is kept, in memory where None; the rules of a chain that others made,
                which has no models; whether the rows are a copy of those of a chain that this
                process began with the same rules and accounts: they are not held against genesis,
                which would have to be made anew.
        Raises: ConfigError: a configured model has no language model, or one is left over; the
                rows hold a chain of another configuration or genesis.
        """
        self.models: Mapping[str, LanguageModel] = dict(models or {})
        self.genesis_accounts = with_executor(config, accounts or {})
        self.steps = Steps()
        """Tells of agents' steps as they happen."""

        executor = executor_of(config, self.models, self.steps)
        if foreign is None:
            header = genesis_header(config)
            chain_class = agent_chain(
                executor, config.chain_id, self.steps, fork=FORKS[config.fork]
            )
        else:
            header = dict(foreign.genesis_header)
            chain_class = foreign_chain(foreign.forks, config.chain_id)
        db = Database(rows if rows is not None else MemoryRows())
        if not are_own_rows:
            begin(db, chain_class, config, header, self.genesis_accounts)
        super().__init__(config, chain_class, db)

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
        header = self.next_header(settings or BlockSettings(timestamp_seconds=timestamp_seconds))
        with self._or_nothing():
            mined = self._make(vm_of(self._chain, header), transactions)
            self._persist(mined)
        return mined

    def draft(
        self,
        transactions: Sequence[SignedTransactionAPI],
        header: BlockHeaderAPI,
        *,
        watch: Watch | None = None,
    ) -> DraftedChain:
        """Make a block as `mine` does, and keep nothing. Any thread may, also while one is mined.

        Input:  the transactions; a header of `next_header`; who is told of each transaction as it
                ends.
        Raises: see `mine`.
        """
        chain_class, db = self._chain_class, self._db.scratch()
        mined = self._make(vm_of(chain_class(AtomicDB(db)), header), transactions, watch)
        root = bytes(header.state_root)
        draft = Record(block=mined.block, receipts=mined.receipts, root_before=root)
        return DraftedChain(self.config, chain_class, db, draft)

    def begin_draft(self, header: BlockHeaderAPI) -> Draft:
        """Begin a block that asks no models, and is never made; in any thread.

        Input: a header of `next_header`.
        """
        db = self._db.scratch()
        silent = self._silent_chain_class(AtomicDB(db))
        return Draft(silent, ChainTrials(self.config, self._chain_class, db), db, header)

    def listing(
        self, transactions: Sequence[SignedTransactionAPI], header: BlockHeaderAPI
    ) -> BlockAPI:
        """Return a block of these transactions that nobody has executed."""
        return vm_of(self._chain, header).get_block().copy(transactions=transactions)

    @cached_property
    def _silent_chain_class(self) -> type[AgentChain]:
        """The chain's class with models that are not to be asked."""
        if not self.models:
            return self._chain_class
        return self._class_with({name: SilentModel(it) for name, it in self.models.items()})

    def vm_class_again(self, header: BlockHeaderAPI) -> type[WatchedVM]:
        """Return the class of a VM that executes a block again, and says what was said in it."""
        row = self._row(said_key(header.hash))
        if row is None:  # No model was asked, or an earlier version kept the chain.
            return self._vm_class(header)
        heard = read(row)
        said = {name: SaidModel(model, heard) for name, model in self.models.items()}
        return vm_class_of(self._class_with(said), header.block_number)

    def agent_trace(self, transaction_hash: bytes) -> AgentTrace | None:
        """Return the trace of a transaction's agents, as stored or else by replaying it.

        Output: None if no block holds the transaction.
        Raises: EngineFault: the host failed, or the stored row is damaged.
        """
        stored = self.stored_trace(transaction_hash)
        if stored is not None:
            return stored
        found = self.find_transaction(transaction_hash)
        if found is None:
            return None
        record, index = found
        receipt, computation = self.replay(record, index)
        gas_before = record.receipts[index - 1].gas_used if index else 0
        return trace_agents(computation, receipt.gas_used - gas_before, self.models)

    def _class_with(self, models: Mapping[str, LanguageModel]) -> type[AgentChain]:
        """Return the chain's class with other models, of whose steps nobody is told."""
        executor = executor_of(self.config, models, Steps())
        return agent_chain(executor, self.config.chain_id, fork=self.fork)

    def _make(
        self,
        vm: WatchedVM,
        transactions: Sequence[SignedTransactionAPI],
        watch: Watch | None = None,
    ) -> MinedBlock:
        vm.is_own_block = True
        return self._execute(vm, vm.get_block().copy(transactions=transactions), watch)

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
            mined = self._execute(vm_of(self._chain, header), block, watch)
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
        self._stand_at(self._head)

    def load_accounts(self, accounts: object) -> None:
        """Put accounts of a dump into the latest state, each as a whole.

        Raises: ConfigError: they are not as a dump has them.
        """
        with self._or_nothing():
            root = load_accounts(self._db, self.state_root(self._head), accounts)
            self._db[HEAD_STATE_KEY] = root
            self._db.commit()
        self._stand_at(self._head)

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
        self._stand_at(self._chain.get_canonical_head())

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
        self._stand_at(target)

    # -- inside -- #

    def _execute(self, vm: WatchedVM, block: BlockAPI, watch: Watch | None = None) -> MinedBlock:
        """Execute the transactions of a block; what its header says of their results is not read.

        Mining and importing are this one function: a block's own work, such as the contract that
        keeps parents' hashes, is then done in both.
        """
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
                self._db[sender_key(transaction.hash)] = bytes(transaction.sender)
        if self.models:
            self._persist_inferences(mined)
        before = before_key(block.hash)
        if self._db.exists(HEAD_STATE_KEY):
            self._db[before] = self._db[HEAD_STATE_KEY]
            del self._db[HEAD_STATE_KEY]
        elif self._db.exists(before):  # The same block was undone, that began otherwise.
            del self._db[before]
        self._db.commit()
        self._records[block.hash] = Record(block=block, receipts=mined.receipts)
        self._stand_at(block.header)

    def _persist_inferences(self, mined: MinedBlock) -> None:
        """Write the generations of a block, and the agent traces of its transactions.

        A trace is stored because it cannot be recomputed in full: how long a generation took is
        not known later.
        """
        said = said_in(mined.computations)
        if said is None:
            return
        self._db[said_key(mined.block.hash)] = said
        gas_before = 0
        for transaction, receipt, computation in zip(
            mined.block.transactions, mined.receipts, mined.computations, strict=True
        ):
            if inferences(computation):
                trace = trace_agents(computation, receipt.gas_used - gas_before, self.models)
                self._db[trace_key(transaction.hash)] = encode_trace(trace)
            gas_before = receipt.gas_used

    @contextmanager
    def _or_nothing(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._db.discard()
            raise
