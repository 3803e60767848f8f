"""The account of a control plane's chain, as it registers agents."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from eth_typing import Address

from pyevm_agents.control.identity_account import AccountNonces, ContractLog, FoundLog, MinedCall
from pyevm_agents.errors import AgentsError
from pyevm_agents.lifecycle.chain_port import (
    MAX_CALL_DRAFTS,
    FrameCall,
    MovedStateError,
    RefusedCallError,
    RunBlock,
    mine_call,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eth.abc import LogAPI

    from pyevm_agents.lifecycle.local_chain import LocalChainPort


class LocalIdentityAccount:
    """The account that signs the transactions of runs."""

    def __init__(self, port: LocalChainPort) -> None:
        """Input: the chain, with the account's key."""
        self._port = port

    @property
    def address(self) -> bytes:
        """The account's address."""
        return self._port.address

    @property
    def chain_id(self) -> int:
        """The chain's ID."""
        return self._port.chain_id

    @property
    def genesis_hash(self) -> bytes:
        """The hash of the first block: block 0, or on a fork the fork block."""
        chain = self._port.chain
        return bytes(chain.header(chain.first_number).hash)

    def read_block_number(self) -> int:
        """Return the number of the latest block."""
        return int(self._port.chain.head.block_number)

    def read_nonces(self) -> AccountNonces:
        """Return the account's next nonce. What this account sends is mined at once, or never."""
        nonce = self._port.chain.nonce(Address(self.address))
        return AccountNonces(mined=nonce, pending=nonce)

    def find_logs(
        self, contract: bytes, topics: Sequence[bytes | None], first_block: int
    ) -> Iterator[FoundLog]:
        """Yield the logs of a contract from a block to the latest one, in order."""
        chain = self._port.chain
        first = max(first_block, chain.first_number + 1)  # The first block has no transactions.
        for number in range(first, chain.head.block_number + 1):
            record = chain.block_with_receipts(chain.header(number))
            for transaction, receipt in zip(
                record.block.transactions, record.receipts, strict=True
            ):
                for log in map(_read_log, receipt.logs):
                    if log.address == contract and _has_topics(log, topics):
                        yield FoundLog(
                            log=log,
                            transaction_hash=bytes(transaction.hash),
                            sender=bytes(transaction.sender),
                            nonce=transaction.nonce,
                        )

    def call(self, to: bytes, data: bytes) -> bytes:
        """Call a contract; return its output."""
        return self._port.call(to, data)

    def transact(
        self, purpose: str, to: bytes, data: bytes, *, nonce: int | None = None
    ) -> MinedCall:
        """Mine a transaction; return its logs."""
        call = FrameCall(target=to, data=data)
        try:
            block = mine_call(self._port, call) if nonce is None else self._mine_at(call, nonce)
        except (MovedStateError, RefusedCallError) as error:
            raise AgentsError(f"{purpose}: {error}") from error
        [transaction_hash] = block.transaction_hashes
        logs = self._port.chain.receipt(transaction_hash).logs
        return MinedCall(hash=transaction_hash, logs=[_read_log(log) for log in logs])

    def _mine_at(self, call: FrameCall, nonce: int) -> RunBlock:
        """Mine a transaction with a nonce, as `mine_call` does with the next one."""
        port = self._port
        for _ in range(MAX_CALL_DRAFTS):
            draft = port.begin_draft(port.pin_next_block())
            failure = draft.send_frame(call)
            if failure is not None:
                raise RefusedCallError(failure)
            prepared = draft.prepare()
            [encoded] = prepared.transactions
            found = port.chain.transaction_builder.decode(encoded).nonce
            if found != nonce:
                raise RefusedCallError(
                    f"nonce {nonce}: must be the account's next one, {found}; another transaction "
                    "came in between: try again"
                )
            with suppress(MovedStateError):
                return port.commit(prepared)
        raise MovedStateError(
            f"block {port.chain.head.block_number}: blocks came in between each time; try again"
        )


def _read_log(log: LogAPI) -> ContractLog:
    return ContractLog(
        address=bytes(log.address),
        topics=tuple(topic.to_bytes(32, "big") for topic in log.topics),
        data=bytes(log.data),
    )


def _has_topics(log: ContractLog, topics: Sequence[bytes | None]) -> bool:
    """Return whether a log begins with topics; None is any."""
    return len(log.topics) >= len(topics) and all(
        wanted is None or wanted == topic for wanted, topic in zip(topics, log.topics, strict=False)
    )
