"""An account with a key on a chain of this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_typing import Address

from pyevm_agents.abi.not_done import find_not_done
from pyevm_agents.agents.failures import explain_failure
from pyevm_agents.chain import Call
from pyevm_agents.chain.mined_logs import list_logs
from pyevm_agents.client.accounts import (
    AccountNonces,
    RevertedError,
    SendingAccount,
    SentTransaction,
    TransactionOrigin,
)
from pyevm_agents.devnet.chain import DEVELOPMENT_KEY
from pyevm_agents.errors import AgentsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import BlockAPI, ComputationAPI, ReceiptAPI, SignedTransactionAPI
    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.chain import Chain, MinedBlock
    from pyevm_agents.client.logs import MinedLog

    Sign = Callable[[], Sequence[SignedTransactionAPI]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedTransaction:
    """A mined transaction with results."""

    hash: bytes
    block: BlockAPI
    receipt: ReceiptAPI
    computation: ComputationAPI

    @property
    def is_success(self) -> bool:
        """Whether the transaction did not revert."""
        return self.computation.is_success


class LocalAccount(SendingAccount):
    """An account that mines each transaction in a separate block."""

    def __init__(
        self,
        chain: Chain,
        key: PrivateKey = DEVELOPMENT_KEY,
        *,
        mine: Callable[[Sign], MinedBlock] | None = None,
    ) -> None:
        """Send nothing yet.

        Input:
            chain: the chain.
            key: signs the transactions.
            mine: mines a block of the transactions that a function returns, while nothing else
                changes the chain, as `Node.mine_signed` does. None for a chain that only this
                thread changes.
        """
        self.chain = chain
        """The chain; another one takes over where a chain is restarted."""

        self.address = Address(key.public_key.to_canonical_address())
        self._key = key
        self._mine = mine or (lambda sign: self.chain.mine(sign()))

    @property
    def chain_id(self) -> int:
        """The chain's ID."""
        return self.chain.config.chain_id

    @property
    def genesis_hash(self) -> bytes:
        """The hash of the first block: block 0, or on a fork the fork block."""
        return bytes(self.chain.header(self.chain.first_number).hash)

    def read_block_number(self) -> int:
        """Return the number of the latest block."""
        return int(self.chain.head.block_number)

    def read_nonces(self) -> AccountNonces:
        """Return the account's next nonce. Own transactions are mined at once, or never."""
        nonce = self.chain.nonce(self.address)
        return AccountNonces(mined=nonce, pending=nonce)

    def read(self, to: bytes, data: bytes, *, gas: int | None = None) -> bytes:
        """Call a contract without a transaction; return the output.

        Raises: RevertedError: the call fails.
        """
        return self._simulate(self._build_call(to, data, 0, gas))

    def send(
        self,
        to: bytes | None,
        data: bytes,
        *,
        value_wei: int = 0,
        gas: int | None = None,
        nonce: int | None = None,
    ) -> ExecutedTransaction:
        """Mine a transaction, also one that reverts.

        Input: gas: by default that of a block.
        """
        call = self._build_call(to, data, value_wei, gas)
        return self._execute(lambda: [self._sign(call, nonce=nonce)])

    def transact(  # noqa: PLR0913 - the fields of a transaction
        self,
        to: bytes | None,
        data: bytes,
        *,
        value_wei: int = 0,
        gas: int | None = None,
        nonce: int | None = None,
        purpose: str = "",  # noqa: ARG002 - as the protocol has it
    ) -> SentTransaction:
        """Mine a transaction that must succeed.

        Without a gas limit, the transaction is simulated first, and one that reverts is not mined.

        Raises: RevertedError: a revert. AgentsError: the nonce is not the account's next one.
        """
        call = self._build_call(to, data, value_wei, gas)

        def sign() -> Sequence[SignedTransactionAPI]:
            if gas is None:  # As by JSON-RPC, where the estimate refuses.
                self._simulate(call)
            return [self._sign(call, nonce=nonce)]

        sent = self._execute(sign)
        if not sent.is_success:
            raise self._build_reverted(_describe_mined(sent.hash), sent.computation)
        return SentTransaction(
            hash=sent.hash,
            block_number=sent.block.number,
            gas_used=sent.receipt.gas_used,
            logs=list_logs(sent.block, 0, sent.receipt),
            contract=sent.computation.msg.storage_address if to is None else None,
        )

    def execute_all(
        self, calls: Sequence[tuple[Address, bytes]], *, timestamp_seconds: int | None = None
    ) -> None:
        """Mine transactions that must succeed in one block, each with a part of the block's gas.

        Input:  calls: to and data of each; timestamp_seconds: of the block.
        Raises: RevertedError: one reverted.
        """
        gas = self.chain.config.block_gas_limit // len(calls)
        signed = [
            self._sign(Call(to=to, sender=self.address, data=data, gas=gas), place=place)
            for place, (to, data) in enumerate(calls)
        ]
        mined = self.chain.mine(signed, timestamp_seconds=timestamp_seconds)
        for transaction, computation in zip(signed, mined.computations, strict=True):
            if computation.is_error:
                raise self._build_reverted(_describe_mined(transaction.hash), computation)

    def find_logs(
        self, contract: bytes, topics: Sequence[bytes | None], first_block: int
    ) -> Sequence[MinedLog]:
        """Return the logs of a contract from a block to the latest one, in order."""
        first = max(first_block, self.chain.first_number + 1)  # No transactions are in the first.
        return [
            log
            for number in range(first, self.read_block_number() + 1)
            for log in self._list_block_logs(number)
            if log.address == contract and _has_topics(log, topics)
        ]

    def read_origin(self, transaction_hash: bytes) -> TransactionOrigin:
        """Return the sender of a mined transaction."""
        found = self.chain.find_transaction(transaction_hash)
        if found is None:
            raise AgentsError(f"transaction 0x{transaction_hash.hex()}: not on the chain any more")
        record, index = found
        transaction = record.block.transactions[index]
        return TransactionOrigin(bytes(transaction.sender), transaction.nonce)

    def _list_block_logs(self, number: int) -> list[MinedLog]:
        record = self.chain.block_with_receipts(self.chain.header(number))
        return [
            log
            for index, receipt in enumerate(record.receipts)
            for log in list_logs(record.block, index, receipt)
        ]

    def _build_call(self, to: bytes | None, data: bytes, value_wei: int, gas: int | None) -> Call:
        receiver = None if to is None else Address(to)
        return Call(to=receiver, sender=self.address, data=data, value_wei=value_wei, gas=gas)

    def _simulate(self, call: Call) -> bytes:
        """Return the output of a call.

        Raises: RevertedError: the call fails.
        """
        result = self.chain.call(call)
        if result.error is not None:
            raise self._build_reverted("the transaction would revert", result.computation)
        return result.output

    def _execute(self, sign: Sign) -> ExecutedTransaction:
        mined = self._mine(sign)
        return ExecutedTransaction(
            hash=mined.block.transactions[0].hash,
            block=mined.block,
            receipt=mined.receipts[0],
            computation=mined.computations[0],
        )

    def _sign(
        self, call: Call, *, nonce: int | None = None, place: int = 0
    ) -> SignedTransactionAPI:
        """Sign a call as the next transaction, or as one of the next transactions."""
        unsigned = self.chain.build_unsigned_transaction(call)
        if nonce not in {None, unsigned.nonce}:
            raise AgentsError(
                f"nonce {nonce}: must be the account's next one, {unsigned.nonce}; another "
                "transaction came in between: try again"
            )
        unsigned = unsigned.copy(nonce=unsigned.nonce + place)
        return unsigned.as_signed_transaction(self._key, chain_id=self.chain_id)

    def _build_reverted(self, begin: str, computation: ComputationAPI) -> RevertedError:
        reason = explain_failure(computation, self.chain.known_contracts)
        return RevertedError(f"{begin}: {reason}", reason, find_not_done(computation.output))


def _describe_mined(transaction_hash: bytes) -> str:
    return f"transaction 0x{transaction_hash.hex()} was mined and reverted"


def _has_topics(log: MinedLog, topics: Sequence[bytes | None]) -> bool:
    """Return whether a log begins with topics; None is any."""
    return len(log.topics) >= len(topics) and all(
        wanted is None or wanted == topic for wanted, topic in zip(topics, log.topics, strict=False)
    )
