"""Requests about blocks of the remote chain of a fork: the remote node answers, unverified."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final

from eth.exceptions import HeaderNotFound
from eth_utils import encode_hex

from pyevm_agents.forking import RemoteError, Request
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.method_table import OptionalParam
from pyevm_agents.rpc.params import BlockId

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eth_typing import Address

    from pyevm_agents.forking import RemoteFork
    from pyevm_agents.node import Node
    from pyevm_agents.rpc.method_table import RpcMethod

LOCAL: Final = object()
"""The answer to a request that is not about the remote chain."""

NAMESPACES = ("eth_", "debug_", "trace_", "ots_", "erigon_")
"""Prefixes of methods that other nodes have as well."""

FORK_BLOCK_METHODS = frozenset(
    {
        "debug_traceCall",
        "eth_call",
        "eth_createAccessList",
        "eth_estimateGas",
        "eth_feeHistory",
        "eth_getAccountInfo",
        "eth_getBalance",
        "eth_getCode",
        "eth_getHeaderByNumber",
        "eth_getStorageAt",
        "eth_getStorageValues",
        "eth_getTransactionCount",
        "eth_simulateV1",
        "ots_hasCode",
        "trace_call",
        "trace_callMany",
    }
)
"""Methods that answer for the fork block themselves: the state after it is here, with the accounts
that were funded. Its transactions and its trie are the remote node's."""

STATE_METHODS = frozenset(
    {"eth_getBalance", "eth_getCode", "eth_getStorageAt", "eth_getTransactionCount"}
)
TRANSACTION_METHODS = frozenset({"eth_getTransactionByHash", "eth_getTransactionReceipt"})

BLOCKING_METHODS = FORK_BLOCK_METHODS | {"eth_sendTransaction", "eth_sendRawTransaction"}
"""Methods that may wait for the remote node, so they must not run on the event loop."""


class RemoteBlocks:
    """The blocks up to the fork block. Thread-safe."""

    def __init__(self, node: Node, fork: RemoteFork) -> None:
        """Input: the node of the local chain; the fork."""
        self._node = node
        self._fork = fork
        self._last = fork.origin.block_number

    def answer(
        self,
        method: RpcMethod,
        params: Sequence[object] | Mapping[str, object],
        arguments: Sequence[object],
    ) -> object:
        """Return the remote node's result of a request; `LOCAL` if not about remote blocks.

        Input:
            method: the method.
            params: the parameters as the client sent them.
            arguments: the same, parsed.

        Raises: RpcError: the remote node's error. RemoteFault: no answer.
        """
        if not method.name.startswith(NAMESPACES):
            return LOCAL
        number, place = self._find_block(method, arguments)
        if number is None or number > self._last:
            return LOCAL
        if number == self._last and method.name in FORK_BLOCK_METHODS:
            return LOCAL
        values = method.list_params(params)
        if place is not None:  # A tag has another meaning there, and may be a default.
            values[place:] = [hex(number), *values[place + 1 :]]
        return request_remote(self._fork, method.name, _complete(method, values))

    def prefetch(self, requests: Sequence[tuple[RpcMethod, Sequence[object]]]) -> None:
        """Read accounts, slots, transactions and receipts of several requests in few round trips.

        Input:  methods with parsed parameters.
        Raises: RpcError: the remote node's error. RemoteFault: no answer.
        """
        accounts: list[Address] = []
        slots: list[tuple[Address, int]] = []
        for method, arguments in requests:
            if method.name in STATE_METHODS and self._reads_state(method, arguments):
                accounts.append(arguments[0])  # type: ignore[arg-type]
                if method.name == "eth_getStorageAt":
                    slots.append((arguments[0], arguments[1]))  # type: ignore[arg-type]
        self._fork.state.prefetch(accounts, slots)
        self._fork.prefetch_lasting([*self._list_lookups(requests)])

    def _list_lookups(
        self, requests: Sequence[tuple[RpcMethod, Sequence[object]]]
    ) -> Iterator[Request]:
        """Return the lookups of transactions that are not local."""
        for method, arguments in requests:
            if method.name in TRANSACTION_METHODS:
                transaction_hash: bytes = arguments[0]  # type: ignore[assignment]
                if not self._is_known_here(transaction_hash):
                    yield _ask_for_transaction(transaction_hash)
                    if method.name == "eth_getTransactionReceipt":
                        yield Request(method.name, [encode_hex(transaction_hash)])

    def _reads_state(self, method: RpcMethod, arguments: Sequence[object]) -> bool:
        """Return whether a request is about the state of the fork block or of a local one."""
        number, _ = self._find_block(method, arguments)
        return number is None or number >= self._last

    def _find_block(
        self, method: RpcMethod, arguments: Sequence[object]
    ) -> tuple[int | None, int | None]:
        """Return the number of the block that a request is about, and the place of the number.

        The number is None if the block does not exist, or is only known here. The place is None if
        the request names the block by a hash.
        """
        first = method.names[0] if method.names else ""
        if first == "transactionHash":
            return self._find_transaction(arguments[0]), None  # type: ignore[arg-type]
        if first == "blockHash":
            return _find_number(self._node, self._fork, arguments[0]), None  # type: ignore[arg-type]
        for place, argument in enumerate(arguments):
            if isinstance(argument, BlockId):
                if argument.hash is not None:
                    return _find_number(self._node, self._fork, argument.hash), None
                return self._resolve(argument), place
        return None, None

    def _resolve(self, block: BlockId) -> int | None:
        if block.number is not None:
            return block.number
        match block.tag:
            case "pending":
                return None
            case "earliest":
                return 0
            case _:
                return int(self._node.chain.head.block_number)

    def _find_transaction(self, transaction_hash: bytes) -> int | None:
        """Return the number of a remote transaction's block; None if known here."""
        if self._is_known_here(transaction_hash):
            return None
        transaction = request_remote(self._fork, *_ask_for_transaction(transaction_hash))
        return parse_remote_number(transaction, "blockNumber")

    def _is_known_here(self, transaction_hash: bytes) -> bool:
        """Return whether a transaction is one of the local chain's."""
        node = self._node
        return (
            node.chain.find_transaction(transaction_hash) is not None
            or node.pool.get(transaction_hash) is not None
            or node.find_departure(transaction_hash) is not None
        )


def _ask_for_transaction(transaction_hash: bytes) -> Request:
    return Request("eth_getTransactionByHash", [encode_hex(transaction_hash)])


def _complete(method: RpcMethod, values: list[object]) -> list[object]:
    """Return parameters with the omitted booleans, which geth and anvil require."""
    omitted = method.parameters[len(values) :]
    defaults = (each.default for each in omitted if isinstance(each, OptionalParam))
    return [*values, *takewhile(lambda default: isinstance(default, bool), defaults)]


def is_remote_block(node: Node, fork: RemoteFork, block_hash: bytes) -> bool:
    """Return whether a hash is that of the fork block, or of a remote block below.

    Raises: RpcError: the remote node's error. RemoteFault: no answer.
    """
    number = _find_number(node, fork, block_hash)
    return number is not None and number <= fork.origin.block_number


def request_remote(fork: RemoteFork, method: str, params: Sequence[object]) -> object:
    """Return the remote node's result of a request whose result never changes.

    Raises: RpcError: the remote node's error. RemoteFault: no answer.
    """
    try:
        return fork.request_lasting(method, params)
    except RemoteError as error:
        raise RpcError(error.code, error.message, error.data) from error


def _find_number(node: Node, fork: RemoteFork, block_hash: bytes) -> int | None:
    """Return the number of a local or remote block; None if the hash is unknown."""
    try:
        return int(node.chain.header_by_hash(block_hash).block_number)
    except HeaderNotFound:
        params = [f"0x{block_hash.hex()}", False]
        return parse_remote_number(request_remote(fork, "eth_getBlockByHash", params), "number")


def parse_remote_number(form: object, name: str) -> int | None:
    """Return a quantity of a remote object; None without an object, or if pending."""
    value = form.get(name) if isinstance(form, dict) else None
    try:
        return None if value is None else int(str(value), 16)
    except ValueError:
        return None
