"""The account of a control plane's chain, as it registers agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_typing import Address

from pyevm_agents.control.identity_account import AccountNonces, ContractLog, FoundLog, MinedCall
from pyevm_agents.errors import AgentsError
from pyevm_agents.lifecycle.chain_port import (
    FrameCall,
    MovedStateError,
    RefusedCallError,
    mine_call,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eth.abc import LogAPI

    from pyevm_agents.lifecycle.chain_port import PreparedBlock
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

        def require(prepared: PreparedBlock) -> None:
            if nonce is not None:
                self._require_nonce(prepared, nonce)

        try:
            block = mine_call(self._port, FrameCall(target=to, data=data), require=require)
        except (MovedStateError, RefusedCallError) as error:
            raise AgentsError(f"{purpose}: {error}") from error
        [transaction_hash] = block.transaction_hashes
        logs = self._port.chain.receipt(transaction_hash).logs
        return MinedCall(hash=transaction_hash, logs=[_read_log(log) for log in logs])

    def _require_nonce(self, prepared: PreparedBlock, nonce: int) -> None:
        [encoded] = prepared.transactions
        found = self._port.chain.transaction_builder.decode(encoded).nonce
        if found != nonce:
            raise RefusedCallError(
                f"nonce {nonce}: must be the account's next one, {found}; another transaction "
                "came in between: try again"
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
