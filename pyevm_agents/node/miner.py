"""The miner: blocks of the pool's ready transactions, with or without inference in the write queue.

`mine_known` does not infer: transactions with unknown generations are left out and rehearsed, and
the others mined. Plain transactions thus overtake a thinking agent. `mine` takes all ready
transactions, and infers where needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import ValidationError
from lru import LRU

from precompiles.numeric_model import NumericFaultError
from precompiles.react import GrammarViolationError
from pyevm_agents.chain import MinedBlock, ModelNeededError
from pyevm_agents.errors import EngineFault
from pyevm_agents.node.rehearsals import Rehearsals

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from eth.abc import SignedTransactionAPI

    from pyevm_agents.chain import BlockSettings, Chain
    from pyevm_agents.node.block_settings import NextBlock
    from pyevm_agents.node.pending_block import PendingBlock
    from pyevm_agents.node.rehearsals import OnEnd
    from pyevm_agents.node.txpool import TxPool

KEPT_FAULTS = 1_000
"""Size of the LRU of transactions that ended in a fault."""


class InferenceNeededError(Exception):
    """A block without inference reached a transaction whose generations are not known."""

    def __init__(self, transaction: SignedTransactionAPI) -> None:
        """Input: the transaction."""
        super().__init__(f"transaction 0x{transaction.hash.hex()}")
        self.transaction = transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBlock:
    """The outcome of `Miner.mine_known`."""

    mined: MinedBlock | None
    """None if no ready transaction is known."""

    rehearsed: frozenset[bytes]
    """Hashes of the transactions that are being rehearsed."""


class Miner:
    """Makes blocks of a pool's transactions. Only the write queue's thread may mine."""

    def __init__(
        self,
        chain: Chain,
        pool: TxPool,
        pending: PendingBlock,
        next_block: NextBlock,
        on_rehearsed: OnEnd | None,
    ) -> None:
        """Start without rehearsals.

        Input: on_rehearsed: called at the end of each; None to infer in blocks only.
        """
        self._chain, self._pool, self._pending = chain, pool, pending
        self._next_block = next_block
        self._faults: LRU[bytes, str] = LRU(KEPT_FAULTS)
        self.drops_faulted = True
        """Whether a transaction that ended in a fault leaves the pool."""

        self._rehearses = on_rehearsed is not None
        self.rehearsals = Rehearsals(
            chain, next_block.build_header, on_rehearsed or (lambda *_: None)
        )

    # -- faults -- #

    def find_fault(self, transaction_hash: bytes) -> str | None:
        """Return the fault that a recent transaction ended in, or None."""
        return self._faults.get(transaction_hash)

    def forget_fault(self, transaction_hash: bytes) -> None:
        """Forget the fault of a transaction that is sent again."""
        self._faults.pop(transaction_hash, None)

    def drop(self, transaction: SignedTransactionAPI, error: BaseException) -> None:
        """Remove a transaction that ended in a fault from the pool, unless the node stops."""
        if not self.drops_faulted:
            return
        if isinstance(error, (EngineFault, GrammarViolationError, NumericFaultError)):
            self._faults[transaction.hash] = str(error)
        self._pool.remove(transaction.hash)

    # -- blocks -- #

    def mine(self, timestamp_seconds: int | None = None) -> MinedBlock:
        """Mine a block of the ready transactions, with inference.

        Raises: EngineFault: the host failed; the transaction of the failure is dropped.
        """
        settings = self._next_block.build_settings(timestamp_seconds)
        while True:
            transactions = self._select(settings)
            mined = self._try_mine(transactions, settings, may_infer=True)
            if mined is not None:
                return mined

    def mine_or_rehearse(self, timestamp_seconds: int | None = None) -> MinedBlock | Future[None]:
        """Mine a block of the ready transactions if all are known; otherwise rehearse one.

        Output: the block, or the future of the rehearsal.
        Raises: see `mine`.
        """
        if not self._rehearses:
            return self.mine(timestamp_seconds)
        settings = self._next_block.build_settings(timestamp_seconds)
        while True:
            transactions = self._select(settings)
            try:
                mined = self._try_mine(transactions, settings, may_infer=False)
            except InferenceNeededError as need:
                rehearsal = self._begin_rehearsal(need.transaction)
                return self.mine(timestamp_seconds) if rehearsal is None else rehearsal
            if mined is not None:
                return mined

    def mine_known(
        self, turn: SignedTransactionAPI | None = None, *, may_be_empty: bool = False
    ) -> KnownBlock:
        """Mine a block of the ready transactions whose generations are known; rehearse the others.

        A transaction that has had all rehearsals gets a separate block with inference.

        Input:
            turn: only this transaction may infer; None for any.
            may_be_empty: whether a block is mined without transactions.

        Raises: EngineFault: the host failed; the chain is unchanged.
        """
        if not self._rehearses:
            return KnownBlock(mined=self.mine(), rehearsed=frozenset())
        self.rehearsals.keep_only(self._pool.__contains__)
        rehearsed, successors = {*self.rehearsals.get_running()}, set[bytes]()
        settings = self._next_block.build_settings()
        while True:
            transactions = self._select(settings, rehearsed | successors)
            if not transactions and not may_be_empty:
                return KnownBlock(mined=None, rehearsed=frozenset(rehearsed))
            try:
                mined = self._try_mine(transactions, settings, may_infer=False)
            except InferenceNeededError as need:
                unknown, mined = need.transaction, None
                if not self._is_next(unknown):  # It can be rehearsed after this block.
                    successors.add(unknown.hash)
                elif self.rehearsals.begin(unknown) is None and _is_turn_of(unknown, turn):
                    mined = self._try_mine([unknown], settings, may_infer=True)
                else:
                    rehearsed.add(unknown.hash)
            if mined is not None:
                return KnownBlock(mined=mined, rehearsed=frozenset(rehearsed))

    def _begin_rehearsal(self, transaction: SignedTransactionAPI) -> Future[None] | None:
        return self.rehearsals.begin(transaction) if self._is_next(transaction) else None

    def _is_next(self, transaction: SignedTransactionAPI) -> bool:
        """Whether no other transaction of the sender comes before."""
        return bool(transaction.nonce == self._chain.nonce(transaction.sender))

    def _select(
        self, settings: BlockSettings, without: set[bytes] | frozenset[bytes] = frozenset()
    ) -> list[SignedTransactionAPI]:
        return self._pending.select_transactions(self._chain.build_next_header(settings), without)

    def _try_mine(
        self,
        transactions: Sequence[SignedTransactionAPI],
        settings: BlockSettings,
        *,
        may_infer: bool,
    ) -> MinedBlock | None:
        """Mine a block; return None if a transaction is invalid, and was removed from the pool.

        Raises: InferenceNeededError: names the first transaction that needs inference.
                EngineFault: the host failed; the transaction of the failure is dropped.
        """
        done: list[bytes] = []
        try:
            with self._chain.agent_events.run("block"):
                return self._chain.mine(
                    transactions,
                    settings=settings,
                    notes=self.rehearsals.merge_notes(transactions),
                    may_infer=may_infer,
                    watch=lambda transaction, *_: done.append(transaction.hash),
                )
        except ModelNeededError as error:
            raise InferenceNeededError(transactions[len(done)]) from error
        except ValidationError:
            self._pool.remove(transactions[len(done)].hash)
            return None
        except BaseException as error:
            if len(done) < len(transactions):  # Otherwise the block could not be written.
                self.drop(transactions[len(done)], error)
            raise


def _is_turn_of(transaction: SignedTransactionAPI, turn: SignedTransactionAPI | None) -> bool:
    return turn is None or turn.hash == transaction.hash
