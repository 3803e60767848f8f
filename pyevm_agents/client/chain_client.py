"""JSON-RPC with the values of a worker: headers, calls, receipts and fees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import decode_hex, encode_hex

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.json_rpc import (
    DEFAULT_TIMEOUT_SECONDS,
    RemoteClient,
    RemoteError,
    Request,
    parse_quantity,
)
from pyevm_agents.errors import AgentsError, RemoteFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RETRIES = 2
"""Of each request. A worker's loop has its own back-off."""

GAS_PERCENT = 120
"""Gas limit of a transaction, in percent of its estimate: gas that a callback was promised must be
left to the unit, and an estimate's block is not the next one."""

MAX_TRANSACTION_GAS = 1 << 24
"""Source: EIP-7825."""

BASE_FEE_FACTOR = 2
"""`maxFeePerGas` is this times the base fee, and the priority fee: it covers six full blocks.
Source: ethers, viem, geth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteHeader:
    """A block of the remote chain."""

    number: int
    hash: bytes
    parent_hash: bytes
    timestamp: int
    gas_limit: int
    base_fee: int | None
    """In wei; None before EIP-1559."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsignedCall:
    """A call of a contract that is to become a transaction."""

    sender: bytes
    to: bytes | None
    data: bytes
    value_wei: int = 0

    def serialize(self) -> dict[str, str]:
        """Return the call in JSON-RPC."""
        form = {
            "from": encode_hex(self.sender),
            "data": encode_hex(self.data),
            "value": hex(self.value_wei),
        }
        return form if self.to is None else {**form, "to": encode_hex(self.to)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteReceipt:
    """A mined transaction."""

    hash: bytes
    block_number: int
    block_hash: bytes
    succeeded: bool
    gas_used: int


class RejectedCallError(AgentsError):
    """A simulated call fails: a revert with data, or another error of the node."""

    def __init__(self, message: str, data: bytes = b"") -> None:
        """Input: the node's message; the revert data."""
        super().__init__(message)
        self.data = data


class ChainClient(RemoteClient):
    """JSON-RPC with the values of a worker. Thread-safe."""

    def __init__(
        self, url: str, *, retries: int = RETRIES, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> None:
        """Send nothing yet. Input and errors: as for `RemoteClient`."""
        super().__init__(url, retries=retries, timeout_seconds=timeout_seconds)

    def read_chain_id(self) -> int:
        """Return the chain ID."""
        return self.request_quantity("eth_chainId")

    def read_genesis_hash(self) -> bytes:
        """Return the hash of block 0. Raises: RemoteFault: the node has none."""
        genesis = self.read_header(0)
        if genesis is None:
            raise self.build_fault("eth_getBlockByNumber", "no block 0", "pass another node's URL")
        return genesis.hash

    def read_header(self, number: int | str = "latest") -> RemoteHeader | None:
        """Return a block's header; None if the chain has no such block."""
        return self.read_headers([number])[0]

    def read_head(self) -> RemoteHeader:
        """Return the latest header. Raises: RemoteFault: the node has none."""
        head = self.read_header()
        if head is None:
            raise self.build_fault("eth_getBlockByNumber", "no latest block", "try later")
        return head

    def read_pending_time(self) -> int | None:
        """Return the timestamp that the next block would have; None where the node states none."""
        try:
            block: Any = self.request("eth_getBlockByNumber", ["pending", False])
            return int(block["timestamp"], 16)
        except (RemoteError, TypeError, KeyError, ValueError):
            return None

    def read_time(self, head: RemoteHeader) -> int:
        """Return the chain's time: the next block's timestamp, or the head's where none is stated.

        Development nodes mine no block until somebody sends something.
        """
        return max(head.timestamp, self.read_pending_time() or 0)

    def read_headers(self, numbers: Sequence[int | str]) -> list[RemoteHeader | None]:
        """Return the headers of blocks; None for those that the chain does not have."""
        names = [each if isinstance(each, str) else hex(each) for each in numbers]
        answers = self._request_each("eth_getBlockByNumber", [[name, False] for name in names])
        return [None if each is None else parse_header(self, each) for each in answers]

    def read_balance(self, address: bytes) -> int:
        """Return an account's balance in wei."""
        return self.request_quantity("eth_getBalance", encode_hex(address), "latest")

    def read_nonce(self, address: bytes) -> int:
        """Return an account's nonce after the latest block."""
        return self.request_quantity("eth_getTransactionCount", encode_hex(address), "latest")

    def call(self, call: UnsignedCall) -> bytes:
        """Return the output of a call. Raises: RejectedCallError: the call fails."""
        try:
            return decode_hex(str(self.request("eth_call", [call.serialize(), "latest"])))
        except RemoteError as error:
            raise RejectedCallError(error.message, error.revert_data) from error

    def estimate_gas(self, call: UnsignedCall) -> int:
        """Return the least gas limit of a transaction. Raises: RejectedCallError: a failure."""
        try:
            return self.request_quantity("eth_estimateGas", call.serialize(), "latest")
        except RemoteError as error:
            data = error.revert_data
            if not data:  # Some nodes have the data for calls alone.
                self.call(call)
            raise RejectedCallError(error.message, data) from error

    def send_raw(self, raw: bytes) -> None:
        """Send a signed transaction. Raises: RemoteError: a refusal of the node."""
        self.request("eth_sendRawTransaction", [encode_hex(raw)])

    def read_receipts(self, hashes: Sequence[bytes]) -> list[RemoteReceipt | None]:
        """Return receipts of transactions; None for those that are not mined."""
        answers = self._request_each(
            "eth_getTransactionReceipt", [[encode_hex(each)] for each in hashes]
        )
        return [_parse_receipt(each) for each in answers]

    def knows_transactions(self, hashes: Sequence[bytes]) -> list[bool]:
        """Return for transactions whether the node has each, mined or waiting."""
        answers = self._request_each(
            "eth_getTransactionByHash", [[encode_hex(each)] for each in hashes]
        )
        return [each is not None for each in answers]

    def _request_each(self, method: str, params: Iterable[Sequence[object]]) -> list[Any]:
        """Call a method for each entry. Raises: RemoteError: one is refused. RemoteFault."""
        results: list[Any] = []
        for result in self.request_all([Request(method, each) for each in params]):
            if isinstance(result, RemoteError):
                raise result
            results.append(result)
        return results


def read_head(client: RemoteClient) -> RemoteHeader:
    """Return a node's latest header. Raises: RemoteFault: the node has none."""
    block = client.request("eth_getBlockByNumber", ["latest", False])
    if block is None:
        raise client.build_fault("eth_getBlockByNumber", "no latest block", "try later")
    return parse_header(client, block)


def parse_header(client: RemoteClient, block: Any) -> RemoteHeader:  # noqa: ANN401 - JSON
    """Return the header in a node's answer. Raises: RemoteFault: the answer is no block."""
    try:
        base_fee = block.get("baseFeePerGas")
        return RemoteHeader(
            number=parse_quantity(block["number"]),
            hash=decode_hex(block["hash"]),
            parent_hash=decode_hex(block["parentHash"]),
            timestamp=parse_quantity(block["timestamp"]),
            gas_limit=parse_quantity(block["gasLimit"]),
            base_fee=None if base_fee is None else parse_quantity(base_fee),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise client.build_fault(
            "eth_getBlockByNumber", "not a block", "pass the URL of a node"
        ) from error


def _parse_receipt(form: Any) -> RemoteReceipt | None:  # noqa: ANN401 - JSON
    if not isinstance(form, dict) or form.get("blockHash") is None:
        return None
    try:
        return RemoteReceipt(
            hash=decode_hex(form["transactionHash"]),
            block_number=int(form["blockNumber"], 16),
            block_hash=decode_hex(form["blockHash"]),
            succeeded=form.get("status") == "0x1",
            gas_used=int(form["gasUsed"], 16),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RemoteFault("a receipt of the node is malformed; pass the URL of a node") from error


def read_view(
    client: ChainClient, address: bytes, contract: str, function: str, *arguments: object
) -> Any:  # noqa: ANN401 - what Solidity returns
    """Call a view of a bundled contract; return the result.

    Raises: RejectedCallError: the call fails. DecodingError: the output is not of its type.
    """
    artifact = load_artifact(contract)
    data = artifact.encode_call(function, *arguments)
    output = client.call(UnsignedCall(sender=bytes(20), to=address, data=data))
    return artifact.decode_result(function, output)
