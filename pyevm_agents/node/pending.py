"""What waits, as if its block were made now."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import ValidationError

from pyevm_agents.chain import ModelNeededError, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import BlockHeaderAPI, SignedTransactionAPI

    from pyevm_agents.chain import Chain, DraftedChain


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A block that could be made of what waits, and the chain behind it."""

    record: Record
    """Where a model would have to be asked for it, it only lists the transactions: nothing is
    used, and there are no receipts."""

    chain: DraftedChain
    """Stands behind that block; where a model would have to be asked, before the first transaction
    for which it would."""


class Drafts:
    """Makes pending blocks, in any thread; the last one is not made twice."""

    def __init__(self, chain: Chain) -> None:
        """Make blocks behind a chain's latest."""
        self._chain = chain
        self._lock = threading.Lock()  # Who asks for what is being made waits for it.
        self._last: tuple[object, Pending] | None = None

    def of(self, transactions: Sequence[SignedTransactionAPI], header: BlockHeaderAPI) -> Pending:
        """Return the block of these transactions, without those that it can't hold."""
        key = (header.hash, tuple(one.hash for one in transactions))
        with self._lock:
            if self._last is None or self._last[0] != key:
                self._last = None  # Its states are let go of before others are made.
                self._last = (key, self._made(list(transactions), header))
            return self._last[1]

    def _made(self, chosen: list[SignedTransactionAPI], header: BlockHeaderAPI) -> Pending:
        listed: Record | None = None
        while True:
            ended: list[bytes] = []
            try:
                chain = self._chain.draft(
                    chosen,
                    header,
                    asks_models=False,
                    watch=lambda one, *_, ended=ended: ended.append(one.hash),
                )
            except ModelNeededError:
                listed = Record(block=self._chain.listing(chosen, header), receipts=())
                chosen = chosen[: len(ended)]
            except ValidationError:
                if len(ended) == len(chosen):
                    raise  # It is none of them that is to blame.
                chosen = _without(chosen, len(ended))
            else:
                return Pending(record=listed or chain.draft, chain=chain)


def _without(chosen: list[SignedTransactionAPI], index: int) -> list[SignedTransactionAPI]:
    """Return transactions without one, and those of its sender that follow on from it."""
    sender = chosen[index].sender
    return [*chosen[:index], *(one for one in chosen[index:] if one.sender != sender)]
