"""Accounts on a remote chain that send one transaction at a time and wait until it is mined."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.not_done import find_not_done
from pyevm_agents.abi.revert_reasons import BUNDLED, decode_revert
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.display import format_amount
from pyevm_agents.errors import AgentsError, RemoteFault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.client.json_rpc import RemoteClient

GAS_PERCENT = 120
"""Gas limit of a transaction, in percent of its estimate: gas that a callback was promised must be
left to the unit, and an estimate's block is not the next one."""

MAX_TRANSACTION_GAS = 1 << 24
"""Source: EIP-7825."""

BASE_FEE_FACTOR = 2
"""The fee cap is this times the base fee, and the priority fee. Source: ethers, viem, geth."""

FALLBACK_PRIORITY_WEI = 10**9
"""Priority fee where the node proposes none. Source: geth's --miner.gasprice."""

RECEIPT_SECONDS = 120.0
POLL_SECONDS = 0.02
MAX_POLL_SECONDS = 1.0

NO_KEY = re.compile(r"signer|unknown account|no account|not.* unlocked|private key", re.IGNORECASE)
"""Messages of anvil, geth, Hardhat and this package for an account that a node has no key of."""


class RevertedError(AgentsError):
    """A transaction reverts, or was mined and reverted; the message has the decoded reason."""

    def __init__(self, message: str, reason: str, answer: str | None = None) -> None:
        """Describe a revert.

        Input: the message; the reason, such as `TooEarly(requestId=1, deadline=2)`; the answer of
               an agent that undid its run, since it is not done.
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
    logs: Sequence[Mapping[str, Any]]
    """As in `eth_getTransactionReceipt`."""

    contract: Address | None = None
    """The new contract, if it made one."""


class SendingAccount:
    """An account on a remote chain. Subclasses say who signs."""

    def __init__(self, client: RemoteClient, address: Address) -> None:
        """Send nothing yet. Input: the node; the account's address."""
        self.client, self.address = client, address
        self.known: KnownContracts = BUNDLED
        """Contracts whose errors reasons name."""

    @property
    def checksum_address(self) -> str:
        """The address, as people read it."""
        return to_checksum_address(self.address)

    def transact(
        self,
        to: bytes | None,
        data: bytes,
        *,
        value_wei: int = 0,
        gas: int | None = None,
        nonce: int | None = None,
    ) -> SentTransaction:
        """Send a transaction and wait until it is mined.

        Input:  to: None makes a contract. gas: the gas limit; by default the node's estimate, and
                a fifth more. nonce: by default the account's next one, after pending transactions.
        Raises: RevertedError: it reverts. RemoteError: the node refuses it. AgentsError: too little
                ether, or it was not mined.
        """
        form = {
            "from": self.checksum_address,
            "data": "0x" + data.hex(),
            "value": hex(value_wei),
        }
        if to is not None:
            form["to"] = to_checksum_address(to)
        self._require_balance(value_wei)
        form["gas"] = hex(self._estimate(form) if gas is None else gas)
        try:
            transaction_hash = self._send(form if nonce is None else {**form, "nonce": hex(nonce)})
        except RemoteError as error:
            raise _translate(error, self.known) from error
        receipt = self._wait_for_receipt(transaction_hash)
        if receipt["status"] != "0x1":
            raise self._build_reverted(transaction_hash, form, receipt)
        contract = receipt.get("contractAddress")
        return SentTransaction(
            hash=bytes.fromhex(transaction_hash[2:]),
            block_number=int(receipt["blockNumber"], 16),
            gas_used=int(receipt["gasUsed"], 16),
            logs=receipt["logs"],
            contract=None if contract is None else Address(to_canonical_address(contract)),
        )

    def deploy(self, creation: bytes) -> Address:
        """Deploy a contract; return its address. Raises: as `transact`."""
        contract = self.transact(None, creation).contract
        if contract is None:
            raise RemoteFault(f"node at {self.client.host}: a receipt has no contractAddress")
        return contract

    def execute(self, to: Address, data: bytes, *, value_wei: int = 0) -> None:
        """Send a transaction. Raises: as `transact`."""
        self.transact(to, data, value_wei=value_wei)

    def read(self, to: Address, data: bytes) -> bytes:
        """Call a contract without a transaction; return the output.

        Raises: RevertedError: the call reverts. RemoteError: the node refuses it.
        """
        return self.simulate(to, data)

    def simulate(self, to: bytes, data: bytes, *, gas: int | None = None) -> bytes:
        """Return the output of a transaction that is not sent. Raises: as `read`."""
        form = {
            "from": self.checksum_address,
            "to": to_checksum_address(to),
            "data": "0x" + data.hex(),
        }
        if gas is not None:
            form["gas"] = hex(gas)
        try:
            return bytes.fromhex(str(self.client.request("eth_call", [form, "latest"]))[2:])
        except RemoteError as error:
            raise _translate(error, self.known) from error

    def read_balance(self) -> int:
        """Return the account's wei."""
        return self._request_number("eth_getBalance", self.checksum_address, "latest")

    def _send(self, form: dict[str, str]) -> str:
        """Send a transaction; return its hash."""
        raise NotImplementedError

    def _require_balance(self, needed: int, purpose: str = "to send, and more for gas") -> None:
        balance = self.read_balance()
        if balance < needed:
            raise AgentsError(
                f"account {self.checksum_address}: has {format_amount(balance)}, needs "
                f"{format_amount(needed)} {purpose}; fund it on the chain of {self.client.host}"
            )

    def _estimate(self, form: Mapping[str, str]) -> int:
        try:
            least = self._request_number("eth_estimateGas", form)
        except RemoteError as error:
            raise _translate(error, self.known) from error
        return max(least, min(least * GAS_PERCENT // 100, MAX_TRANSACTION_GAS))

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
        """Return the error of a mined transaction, with the reason of a call before its block."""
        before = hex(int(receipt["blockNumber"], 16) - 1)
        reason, answer = "no reason known", None
        try:
            self.client.request("eth_call", [form, before])
        except RemoteError as error:
            reason = explain_error(error, self.known)
            answer = find_not_done(_find_data(error.data))
        return RevertedError(
            f"transaction {transaction_hash} was mined and reverted: {reason}", reason, answer
        )

    def _request_number(self, method: str, *params: object) -> int:
        return int(str(self.client.request(method, [*params])), 16)


class UnlockedAccount(SendingAccount):
    """An account for which a remote development node signs."""

    def _send(self, form: dict[str, str]) -> str:
        try:
            return str(self.client.request("eth_sendTransaction", [form]))
        except RemoteError as error:
            if not NO_KEY.search(error.message):
                raise
            raise AgentsError(
                f"account {self.checksum_address}: {self.client.host} does not sign for it "
                f"({error.message}); pass an account that eth_accounts lists, or --keystore"
            ) from error


class KeyAccount(SendingAccount):
    """An account whose key is here."""

    def __init__(self, client: RemoteClient, key: PrivateKey) -> None:
        """Send nothing yet. Input: the node; the key."""
        super().__init__(client, Address(key.public_key.to_canonical_address()))
        self._key = key

    def _send(self, form: dict[str, str]) -> str:
        from eth_account import Account  # noqa: PLC0415 - slow to import

        address = self.checksum_address
        fields: dict[str, Any] = {
            "chainId": self._request_number("eth_chainId"),
            "nonce": int(form["nonce"], 16)
            if "nonce" in form
            else self._request_number("eth_getTransactionCount", address, "pending"),
            "gas": int(form["gas"], 16),
            "value": int(form["value"], 16),
            "data": form["data"],
            **self._choose_fees(),
        }
        if "to" in form:
            fields["to"] = form["to"]
        price = fields.get("maxFeePerGas", fields.get("gasPrice", 0))
        self._require_balance(fields["value"] + fields["gas"] * price, "for this transaction")
        signed = Account.sign_transaction(fields, self._key.to_bytes())
        raw = "0x" + bytes(signed.raw_transaction).hex()
        return str(self.client.request("eth_sendRawTransaction", [raw]))

    def _choose_fees(self) -> dict[str, int]:
        """Return the fees of a transaction: EIP-1559's where blocks have a base fee."""
        block: Any = self.client.request("eth_getBlockByNumber", ["latest", False])
        base_fee = block.get("baseFeePerGas")
        if base_fee is None:
            return {"gasPrice": self._request_number("eth_gasPrice")}
        try:
            tip = self._request_number("eth_maxPriorityFeePerGas")
        except RemoteError:
            tip = FALLBACK_PRIORITY_WEI
        cap = BASE_FEE_FACTOR * int(base_fee, 16) + tip
        return {"maxFeePerGas": cap, "maxPriorityFeePerGas": tip}


def explain_error(error: RemoteError, known: KnownContracts = BUNDLED) -> str:
    """Return the reason in a node's error: decoded revert data, or the node's message."""
    data = _find_data(error.data)
    return error.message if not data else decode_revert(data, known)


def _translate(error: RemoteError, known: KnownContracts) -> AgentsError:
    data = _find_data(error.data)
    if not data:
        return error
    reason = explain_error(error, known)
    return RevertedError(f"the transaction would revert: {reason}", reason, find_not_done(data))


def _find_data(value: object) -> bytes:
    """Return the revert data in an error's `data`: a string, or a member of Hardhat's object."""
    if isinstance(value, dict):
        return next(filter(None, (_find_data(value.get(key)) for key in ("data", "result"))), b"")
    if not isinstance(value, str) or not value.startswith("0x"):
        return b""
    try:
        return bytes.fromhex(value[2:])
    except ValueError:
        return b""


class ContractAccount(Protocol):
    """An account that deploys, calls and reads contracts, of this process' chain or another."""

    @property
    def address(self) -> Address:
        """The account's address."""
        ...

    def deploy(self, creation: bytes) -> Address:
        """Deploy a contract; return its address. A failure is an exception."""
        ...

    def execute(self, to: Address, data: bytes, *, value_wei: int = 0) -> None:
        """Mine a transaction. A revert is an exception."""
        ...

    def read(self, to: Address, data: bytes) -> bytes:
        """Call a contract without a transaction; return the output. A revert is an exception."""
        ...
