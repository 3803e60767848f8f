"""The miner: blocks of the pool's ready transactions, with or without inference in the write queue.

`mine_known` does not infer: transactions with unknown generations are left out and rehearsed, and
the others mined. Plain transactions thus overtake a thinking agent. `mine` takes all ready
transactions, and infers where needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.chain import MinedBlock, ModelNeededError
from pyevm_agents.node.rehearsals import Rehearsals
from pyevm_agents.node.txpool import Departure, Leaving
from pyevm_agents.vm import InvalidBlockError, InvalidTransactionError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from eth.abc import SignedTransactionAPI

    from pyevm_agents.chain import BlockSettings, Chain
    from pyevm_agents.node.block_settings import NextBlock
    from pyevm_agents.node.pending_block import PendingBlock
    from pyevm_agents.node.rehearsals import OnEnd
    from pyevm_agents.node.txpool import TxPool


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
        self.drops_faulted = True
        """Whether a transaction whose block failed leaves the pool."""

        self._rehearses = on_rehearsed is not None
        self.rehearsals = Rehearsals(
            chain, next_block.build_header, on_rehearsed or (lambda *_: None)
        )

    def drop(self, transaction: SignedTransactionAPI, error: BaseException) -> None:
        """Remove a transaction whose block failed from the pool, unless the node stops."""
        if self.drops_faulted:
            is_refusal = isinstance(error, InvalidTransactionError | InvalidBlockError)
            way = Leaving.INVALID if is_refusal else Leaving.FAULT
            self._pool.remove(transaction.hash, Departure(way=way, reason=describe_fault(error)))

    # -- blocks -- #

    def mine(self) -> MinedBlock:
        """Mine a block of the ready transactions, with inference.

        Raises: EngineFault: the host failed; the transaction of the failure is dropped.
        """
        settings = self._next_block.build_settings()
        while True:
            transactions = self._select(settings)
            mined = self._try_mine(transactions, settings, may_infer=True)
            if mined is not None:
                return mined

    def mine_or_rehearse(self) -> MinedBlock | Future[None]:
        """Mine a block of the ready transactions if all are known; otherwise rehearse one.

        Output: the block, or the future of the rehearsal.
        Raises: see `mine`.
        """
        if not self._rehearses:
            return self.mine()
        settings = self._next_block.build_settings()
        while True:
            transactions = self._select(settings)
            try:
                mined = self._try_mine(transactions, settings, may_infer=False)
            except InferenceNeededError as need:
                rehearsal = self._begin_rehearsal(need.transaction)
                return self.mine() if rehearsal is None else rehearsal
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
        settings = self._next_block.build_settings()
        self.rehearsals.keep_only(self._pool.__contains__)
        rehearsed, successors = {*self.rehearsals.get_running()}, set[bytes]()
        while True:
            transactions = self._select(settings, rehearsed | successors)
            if not transactions and not may_be_empty:
                return KnownBlock(mined=None, rehearsed=frozenset(rehearsed))
            try:
                mined = self._try_mine(transactions, settings, may_infer=not self._rehearses)
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
        """Mine a block of those transactions that are valid and have room.

        Invalid ones leave the pool, and one after which no block can end. Output: None if there
        were no others, or without that one.
        Raises: InferenceNeededError: names the first transaction that needs inference.
                InvalidBlockError: not even an empty block can end. EngineFault: the host failed;
                the transaction of the failure is dropped, and `find_culprit` names it.
        """
        refused: list[tuple[SignedTransactionAPI, InvalidTransactionError]] = []
        run = _Progress()

        def refuse(transaction: SignedTransactionAPI, error: InvalidTransactionError) -> None:
            run.current = None
            refused.append((transaction, error))

        try:
            with self._chain.agent_events.run("block"):
                return self._chain.mine(
                    transactions,
                    settings=settings,
                    notes=self.rehearsals.merge_notes(transactions),
                    may_infer=may_infer,
                    on_start=run.begin,
                    watch=run.end,
                    on_refusal=refuse,
                )
        except ModelNeededError as error:
            assert run.current is not None  # noqa: S101 - only an execution needs a model
            raise InferenceNeededError(run.current) from error
        except InvalidTransactionError:
            return None
        except InvalidBlockError as error:
            self._drop_spoiler(run.executed, settings, error)
            return None
        except BaseException as error:
            error.culprit = run.current  # type: ignore[attr-defined]
            if run.current is not None:  # Otherwise the block is invalid, or was not written.
                self.drop(run.current, error)
            raise
        finally:
            for transaction, reason in refused:
                self._pool.remove(
                    transaction.hash, Departure(way=Leaving.INVALID, reason=str(reason))
                )

    def _drop_spoiler(
        self,
        executed: Sequence[SignedTransactionAPI],
        settings: BlockSettings,
        error: InvalidBlockError,
    ) -> None:
        """Remove the transaction from the pool that made a block invalid.

        Raises: InvalidBlockError: the same, if no transaction did.
        """
        spoiler = self._find_spoiler(executed, settings)
        if spoiler is None:
            raise error
        self.drop(spoiler, error)

    def _find_spoiler(
        self, executed: Sequence[SignedTransactionAPI], settings: BlockSettings
    ) -> SignedTransactionAPI | None:
        """Return the transaction after which no block can end (EIP-6110, EIP-7002, EIP-7251).

        Input:  the transactions of a block that was invalid.
        Output: None if the block is invalid without them, too.
        """
        header = self._chain.build_next_header(settings)

        def can_end(transactions: Sequence[SignedTransactionAPI]) -> bool:
            try:
                self._chain.draft_block(transactions, header)
            except InvalidBlockError:
                return False
            return True

        if not can_end([]) or can_end(executed):
            return None
        good, bad = 0, len(executed)
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if can_end(executed[:middle]) else (good, middle)
        return executed[good]


@dataclass(slots=True)
class _Progress:
    """The transactions that were executed, and the one that is being executed, if any."""

    current: SignedTransactionAPI | None = None
    executed: list[SignedTransactionAPI] = field(default_factory=list)

    def begin(self, transaction: SignedTransactionAPI) -> None:
        """Note the start of a transaction."""
        self.current = transaction

    def end(self, transaction: SignedTransactionAPI, *_: object) -> None:
        """Note its end."""
        self.current = None
        self.executed.append(transaction)


def find_culprit(error: BaseException) -> SignedTransactionAPI | None:
    """Return the transaction whose execution raised an error of a block; None if none did."""
    return getattr(error, "culprit", None)


def describe_fault(error: BaseException) -> str:
    """Return the reason of a fault; an exception of no message has at least a name."""
    return str(error) or type(error).__name__


def _is_turn_of(transaction: SignedTransactionAPI, turn: SignedTransactionAPI | None) -> bool:
    return turn is None or turn.hash == transaction.hash
