"""Accounts: the protocol of everything that calls and sends, and an account by JSON-RPC.

An account sends one transaction at a time, and waits until the transaction is mined.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from eth_typing import Address
from eth_utils import decode_hex, encode_hex, to_canonical_address, to_checksum_address

from pyevm_agents.abi.not_done import find_not_done
from pyevm_agents.abi.revert_reasons import BUNDLED, decode_revert
from pyevm_agents.client.chain_client import read_head
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.client.logs import parse_log, parse_logs
from pyevm_agents.client.signing import (
    FeeBoundError,
    FeeBounds,
    add_gas_margin,
    quote_fees,
    sign_transaction,
)
from pyevm_agents.display import format_amount
from pyevm_agents.errors import AgentsError, RemoteFault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eth_account.datastructures import SignedTransaction
    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.client.chain_client import RemoteHeader
    from pyevm_agents.client.json_rpc import RemoteClient
    from pyevm_agents.client.logs import MinedLog
    from pyevm_agents.client.signing import Fees

NONCE_TRIES = 5
"""How often a transaction is signed anew whose nonce another program was quicker to use."""

RECEIPT_SECONDS = 120.0
POLL_SECONDS = 0.02
MAX_POLL_SECONDS = 1.0

NO_KEY = re.compile(r"signer|unknown account|no account|not.* unlocked|private key", re.IGNORECASE)
"""Messages of anvil, geth, Hardhat and this package for an account that a node has no key of."""

NONCE_TAKEN = re.compile(
    r"nonce (?:is )?too low|nonce.{0,40}(?:already|lower)|old ?nonce|"
    r"replacement|replace existing|already (?:known|imported|in )|known transaction",
    re.IGNORECASE,
)
"""Messages of geth, Erigon, Nethermind, Besu, reth, anvil and Hardhat for a nonce in use."""


class RevertedError(AgentsError):
    """A transaction reverts, or was mined and reverted; the message has the decoded reason."""

    def __init__(self, message: str, reason: str, answer: str | None = None) -> None:
        """Describe a revert.

        Input: the message; the reason, such as `TooEarly(requestId=1, deadline=2)`; the answer of
            an agent that undid a run, since the run is not done.
        """
        super().__init__(message)
        self.reason, self.answer = reason, answer

    @property
    def name(self) -> str:
        """The name of the error."""
        return self.reason.partition("(")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentTransaction:
    """A transaction that succeeded."""

    hash: bytes
    block_number: int
    gas_used: int
    logs: Sequence[MinedLog]
    contract: Address | None = None
    """The new contract, if it made one."""


class AccountNonces(NamedTuple):
    """The next nonce of an account: after the last block, and after the pool's transactions too."""

    mined: int
    pending: int


class TransactionOrigin(NamedTuple):
    """The sender of a transaction, and the transaction's nonce."""

    sender: bytes
    nonce: int


class SendingAccount(Protocol):
    """An account that reads contracts and sends transactions, on any chain.

    A failure is an AgentsError in each method, and a RevertedError where a contract reverts.
    """

    address: Address

    @property
    def chain_id(self) -> int:
        """The chain's ID."""
        ...

    @property
    def genesis_hash(self) -> bytes:
        """The hash of the chain's first block."""
        ...

    def read_block_number(self) -> int:
        """Return the number of the latest block."""
        ...

    def read_nonces(self) -> AccountNonces:
        """Return the account's next nonces."""
        ...

    def read(self, to: bytes, data: bytes, *, gas: int | None = None) -> bytes:
        """Call a contract without a transaction; return the output.

        Input: gas: the gas limit; None for the chain's.
        """
        ...

    def transact(  # noqa: PLR0913 - the fields of a transaction
        self,
        to: bytes | None,
        data: bytes,
        *,
        value_wei: int = 0,
        gas: int | None = None,
        nonce: int | None = None,
        purpose: str = "",
    ) -> SentTransaction:
        """Send a transaction, and wait until mined.

        Input:
            to: None makes a contract.
            gas: the gas limit; None for one that is enough.
            nonce: None for the account's next one.
            purpose: a past tense for people, or the name of a new contract.

        Raises: EngineFault: the transaction may be mined nevertheless.
        """
        ...

    def deploy(self, creation: bytes, *, purpose: str = "", nonce: int | None = None) -> Address:
        """Deploy a contract; return the address.

        Input: purpose: the contract's name. nonce: None for the account's next one.
        """
        sent = self.transact(None, creation, purpose=purpose, nonce=nonce)
        if sent.contract is None:
            raise RemoteFault(
                f"transaction {encode_hex(sent.hash)}: its receipt has no contract; pass the URL "
                "of another node"
            )
        return sent.contract

    def find_logs(
        self, contract: bytes, topics: Sequence[bytes | None], first_block: int
    ) -> Sequence[MinedLog]:
        """Return the logs of a contract from a block to the latest one, in order.

        Input: topics: as in `eth_getLogs`; None: any.
        """
        ...

    def read_origin(self, transaction_hash: bytes) -> TransactionOrigin:
        """Return the sender of a mined transaction."""
        ...


class NodeAccount(SendingAccount):
    """An account on the chain of a node, which has the key, or whose key is here."""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        client: RemoteClient,
        signer: PrivateKey | Address,
        *,
        known: KnownContracts = BUNDLED,
        chain_id: int | None = None,
        bounds: FeeBounds | None = None,
        tell: Callable[[int, int, Fees], None] | None = None,
    ) -> None:
        """Send nothing yet.

        Input:
            client: the node.
            signer: the key, or the address of an account for which the node signs.
            known: contracts whose errors reasons name.
            chain_id: the chain for which the key signs; None for the node's.
            bounds: the most that a transaction may pay; None for the default ones of a key here,
                and for none where the node signs.
            tell: called with value, gas limit and fees before each signature here.
        """
        self.client = client
        self._signed_chain, self._tell = chain_id, tell
        self._bounds = FeeBounds() if bounds is None and not isinstance(signer, bytes) else bounds
        self._key = None if isinstance(signer, bytes) else signer
        self.address = (
            Address(signer)
            if isinstance(signer, bytes)
            else Address(signer.public_key.to_canonical_address())
        )
        self._name = to_checksum_address(self.address)
        self._known = known

    @property
    def chain_id(self) -> int:
        """The chain's ID."""
        return self.client.request_quantity("eth_chainId")

    @property
    def genesis_hash(self) -> bytes:
        """The hash of block 0."""
        block: Any = self.client.request("eth_getBlockByNumber", ["0x0", False])
        if block is None:
            raise self.client.build_fault(
                "eth_getBlockByNumber", "no block 0", "pass another node's URL"
            )
        return decode_hex(block["hash"])

    def read_block_number(self) -> int:
        """Return the number of the latest block."""
        return self.client.request_quantity("eth_blockNumber")

    def read_nonces(self) -> AccountNonces:
        """Return the account's next nonces."""
        return AccountNonces(*map(self._read_nonce, ("latest", "pending")))

    def read(self, to: bytes, data: bytes, *, gas: int | None = None) -> bytes:
        """Call a contract without a transaction; return the output.

        Raises: RevertedError: the call reverts. RemoteError: the node refuses the call.
        """
        form: dict[str, str] = {
            "from": self._name,
            "to": to_checksum_address(to),
            "data": encode_hex(data),
        }
        if gas is not None:
            form["gas"] = hex(gas)
        try:
            return decode_hex(str(self.client.request("eth_call", [form, "latest"])))
        except RemoteError as error:
            raise _translate(error, self._known) from error

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
        """Send a transaction, and wait until mined.

        Input:  gas: by default the node's estimate, and a fifth more. nonce: by default the
                account's next one, after pending transactions.
        Raises: RevertedError: a revert. RemoteError: the node refuses the transaction. AgentsError:
            too little ether, or not mined.
        """
        form = {"from": self._name, "data": encode_hex(data), "value": hex(value_wei)}
        if to is not None:
            form["to"] = to_checksum_address(to)
        self._require_balance(value_wei)
        head = read_head(self.client)
        limit = self._estimate(form, head) if gas is None else gas
        form["gas"] = hex(limit)
        fees = None
        if self._bounds is not None:
            fees = self._bounds.require(quote_fees(self.client, head), limit)
        try:
            if self._key is None:
                transaction_hash = self._send(form, nonce, fees)
            else:
                assert fees is not None  # noqa: S101 - a key here has bounds
                transaction_hash = self._sign_and_send(form, self._key, nonce, fees)
        except RemoteError as error:
            raise _translate(error, self._known) from error
        receipt = self._wait_for_receipt(transaction_hash)
        if receipt["status"] != "0x1":
            raise self._build_reverted(transaction_hash, form, receipt)
        contract = receipt.get("contractAddress")
        return SentTransaction(
            hash=decode_hex(transaction_hash),
            block_number=int(receipt["blockNumber"], 16),
            gas_used=int(receipt["gasUsed"], 16),
            logs=[parse_log(each) for each in receipt["logs"]],
            contract=None if contract is None else Address(to_canonical_address(contract)),
        )

    def find_logs(
        self, contract: bytes, topics: Sequence[bytes | None], first_block: int
    ) -> Sequence[MinedLog]:
        """Return the logs of a contract from a block to the latest one, in order."""
        criteria = {
            "address": to_checksum_address(contract),
            "topics": [None if each is None else encode_hex(each) for each in topics],
        }
        last = self.read_block_number()
        # A chain that was started anew may end before the block.
        return [*self._search(criteria, first_block, last)] if first_block <= last else []

    def read_origin(self, transaction_hash: bytes) -> TransactionOrigin:
        """Return the sender of a mined transaction."""
        name = encode_hex(transaction_hash)
        transaction: Any = self.client.request("eth_getTransactionByHash", [name])
        if transaction is None:
            raise self.client.build_fault(
                "eth_getTransactionByHash", f"no {name}, whose log it has",
                "try later, or pass another node's URL",
            )  # fmt: skip
        sender = to_canonical_address(transaction["from"])
        return TransactionOrigin(sender, int(transaction["nonce"], 16))

    def _search(self, criteria: Mapping[str, object], first: int, last: int) -> Iterator[MinedLog]:
        """Yield logs of blocks; a range that the node refuses is searched in halves."""
        query = {**criteria, "fromBlock": hex(first), "toBlock": hex(last)}
        try:
            logs = self.client.request("eth_getLogs", [query])
        except RemoteError as error:
            if first == last:
                raise AgentsError(
                    f"logs of {criteria['address']}: {self.client.host} does not search block "
                    f"{first:,} ({error.message}); pass the URL of another node"
                ) from error
            middle = (first + last) // 2
            yield from self._search(criteria, first, middle)
            yield from self._search(criteria, middle + 1, last)
        else:
            yield from parse_logs(logs)

    def _send(self, form: Mapping[str, str], nonce: int | None, fees: Fees | None) -> str:
        """Send a transaction that the node signs; return the hash."""
        sent = dict(form)
        if nonce is not None:
            sent["nonce"] = hex(nonce)
        if fees is not None and fees.base_fee is None:
            sent["gasPrice"] = hex(fees.fee)
        elif fees is not None:
            sent |= {"maxFeePerGas": hex(fees.fee), "maxPriorityFeePerGas": hex(fees.tip)}
        try:
            return str(self.client.request("eth_sendTransaction", [sent]))
        except RemoteError as error:
            if nonce is not None and NONCE_TAKEN.search(error.message):
                raise self._build_nonce_error(nonce, error) from error
            if not NO_KEY.search(error.message):
                raise
            raise AgentsError(
                f"account {self._name}: {self.client.host} does not sign for it "
                f"({error.message}); pass an account that eth_accounts lists, or --keystore"
            ) from error

    def _sign_and_send(
        self, form: Mapping[str, str], key: PrivateKey, nonce: int | None, fees: Fees
    ) -> str:
        """Sign a transaction here and send; return the hash.

        Another program may use the nonce first. Then the transaction is signed anew, unless the
        node has it: an answer may be lost, and a request is repeated.
        """
        if self._signed_chain is None:
            self._signed_chain = self.chain_id
        gas, value = int(form["gas"], 16), int(form["value"], 16)
        self._require_balance(value + gas * fees.fee, "for this transaction")
        fields: dict[str, Any] = {
            "chainId": self._signed_chain,
            "gas": gas,
            "value": value,
            "data": form["data"],
        }
        if "to" in form:
            fields["to"] = form["to"]
        if self._tell is not None:
            self._tell(value, gas, fees)
        for left in reversed(range(NONCE_TRIES if nonce is None else 1)):
            used = self._read_nonce("pending") if nonce is None else nonce
            signed = sign_transaction({**fields, "nonce": used}, key, fees)
            refusal = self._send_raw(signed)
            if refusal is None:
                break
            if not left:
                raise self._build_nonce_error(used, refusal) from refusal
        return encode_hex(bytes(signed.hash))

    def _send_raw(self, signed: SignedTransaction) -> RemoteError | None:
        """Send a signed transaction; return the refusal if another one has the nonce.

        Raises: RemoteError: another refusal.
        """
        raw = encode_hex(bytes(signed.raw_transaction))
        try:
            self.client.request("eth_sendRawTransaction", [raw])
        except RemoteError as error:
            if not NONCE_TAKEN.search(error.message):
                raise
            name = encode_hex(bytes(signed.hash))
            is_there = self.client.request("eth_getTransactionByHash", [name]) is not None
            return None if is_there else error
        return None

    def _build_nonce_error(self, nonce: int, error: RemoteError) -> AgentsError:
        return AgentsError(
            f"account {self._name}: nonce {nonce:,} was used by another transaction meanwhile "
            f"({error.message}); nothing was sent, try again"
        )

    def _require_balance(self, needed: int, purpose: str = "to send, and more for gas") -> None:
        balance = self.client.request_quantity("eth_getBalance", self._name, "latest")
        if balance < needed:
            raise AgentsError(
                f"account {self._name}: has {format_amount(balance)}, needs "
                f"{format_amount(needed)} {purpose}; fund it on the chain of {self.client.host}"
            )

    def _estimate(self, form: Mapping[str, str], head: RemoteHeader) -> int:
        try:
            least = self.client.request_quantity("eth_estimateGas", form)
        except RemoteError as error:
            raise _translate(error, self._known) from error
        if least > head.gas_limit:
            raise FeeBoundError(
                f"estimate of {least:,} gas: must be at most {head.gas_limit:,}, the limit of a "
                "block; pass the URL of another node, or --gas where the command has it"
            )
        return add_gas_margin(least, head)

    def _wait_for_receipt(self, transaction_hash: str) -> Any:  # noqa: ANN401 - JSON
        end, delay = time.monotonic() + RECEIPT_SECONDS, POLL_SECONDS
        while time.monotonic() < end:
            receipt = self.client.request("eth_getTransactionReceipt", [transaction_hash])
            if receipt is not None:
                return receipt
            time.sleep(delay)
            delay = min(2 * delay, MAX_POLL_SECONDS)
        raise RemoteFault(
            f"node at {self.client.host}: transaction {transaction_hash} was not mined within "
            f"{RECEIPT_SECONDS:g} s; start the node without --no-mining, or look for it later"
        )

    def _build_reverted(
        self, transaction_hash: str, form: Mapping[str, str], receipt: Mapping[str, Any]
    ) -> RevertedError:
        """Return the error of a mined transaction, with the reason of a call before the block."""
        before = hex(int(receipt["blockNumber"], 16) - 1)
        reason, answer = "no reason known", None
        try:
            self.client.request("eth_call", [form, before])
        except RemoteError as error:
            reason = explain_error(error, self._known)
            answer = find_not_done(error.revert_data)
        return RevertedError(
            f"transaction {transaction_hash} was mined and reverted: {reason}", reason, answer
        )

    def _read_nonce(self, tag: str) -> int:
        return self.client.request_quantity("eth_getTransactionCount", self._name, tag)


def explain_error(error: RemoteError, known: KnownContracts = BUNDLED) -> str:
    """Return the reason in a node's error: decoded revert data, or the node's message."""
    data = error.revert_data
    return error.message if not data else decode_revert(data, known)


def _translate(error: RemoteError, known: KnownContracts) -> AgentsError:
    data = error.revert_data
    if not data:
        return error
    reason = explain_error(error, known)
    return RevertedError(f"the transaction would revert: {reason}", reason, find_not_done(data))
