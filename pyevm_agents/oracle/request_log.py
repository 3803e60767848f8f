"""The requests of an oracle, read from its chain's logs, and reorganisations.

The store has hashes of blocks that were read. Before new blocks are read, the last one of them is
compared with the chain's. Where it differs, all above the last common one is forgotten, and its
requests are removed. The same request in another block is another request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_utils import keccak

from pyevm_agents.forking.remote_client import RemoteError
from pyevm_agents.oracle.codec import MessageError, decode_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyevm_agents.errors import RemoteFault
    from pyevm_agents.oracle.messages import AgentRequest
    from pyevm_agents.oracle.oracle_client import Block, OracleClient
    from pyevm_agents.oracle.store import WorkerStore
    from pyevm_agents.oracle.worker_log import WorkerLog

RANGE_BLOCKS = 1_000
"""Blocks in a request of logs, at most. A node that refuses gets half of them."""

COMPARED_BLOCKS = 32
"""Known blocks that are compared with the chain's at a time."""

MAX_TIMEOUT_SECONDS = 7 * 86_400
"""`AgentOracle.MAX_TIMEOUT`: no earlier request can be answered."""

KEPT_BLOCKS = 256
"""Blocks for which requests that ended are kept: a deeper reorganisation reads them again."""


class RequestLog:
    """Reads an oracle's requests into a store."""

    def __init__(
        self,
        client: OracleClient,
        store: WorkerStore,
        log: WorkerLog,
        *,
        first_block: int | None = None,
    ) -> None:
        """Input: first_block: of a new store; None for the first with a request to answer."""
        self._client, self._store, self._log = client, store, log
        self._first_block = first_block
        self._range = RANGE_BLOCKS

    def update(self) -> Block | None:
        """Read the blocks since the last time; return the head that the store is at.

        Output: None if the chain is shorter than it was: the node lags, or goes on elsewhere.
        Raises: RemoteFault, RemoteError: the node does not answer, or the chain just changed.
        """
        head = self._client.read_block()
        self._rewind(head)
        scanned = self._store.get_scanned()
        if scanned is None:
            scanned = self._choose_first(head) - 1
        if scanned > head.number:
            return None
        while scanned < head.number:
            last = min(scanned + self._range, head.number)
            if self._read_range(scanned + 1, last):
                scanned = last
        self._store.prune(head.number - KEPT_BLOCKS)
        return head

    def _rewind(self, head: Block) -> None:
        """Forget the blocks that are not on the chain any more."""
        known = [
            (number, each) for number, each in self._store.list_blocks() if number <= head.number
        ]
        for start in range(0, len(known), COMPARED_BLOCKS):
            part = known[start : start + COMPARED_BLOCKS] if start else known[:1]
            blocks = self._client.find_blocks([number for number, _ in part])
            for (number, known_hash), block in zip(part, blocks, strict=True):
                if block is None:  # It is below the head: the node lags.
                    raise self._build_fault("a block below the head is missing")
                if block.hash == known_hash:
                    if number != known[0][0]:
                        self._forget(number)
                    return
        if known:
            self._forget(-1)

    def _forget(self, number: int) -> None:
        removed = self._store.rewind(number)
        self._log.write("reorganized", block=number, requests=len(removed))
        for each in removed:
            self._log.write("removed", request=each.key)

    def _choose_first(self, head: Block) -> int:
        """Return the first block whose requests may have to be answered."""
        if self._first_block is not None:
            return self._first_block
        begin, end = 0, head.number
        while begin < end:  # The first block that is young enough.
            middle = (begin + end) // 2
            if self._client.read_block(middle).timestamp < head.timestamp - MAX_TIMEOUT_SECONDS:
                begin = middle + 1
            else:
                end = middle
        return begin

    def _read_range(self, first: int, last: int) -> bool:
        """Read the requests of some blocks; return whether the node gave them."""
        try:
            logs = self._client.read_request_logs(first, last)
        except RemoteError:
            if first == last:
                raise
            self._range = max((last - first + 1) // 2, 1)
            return False
        found = [each for log in logs if (each := self._decode(log)) is not None]
        read = self._read_blocks(last, [request for request, _ in found])
        with self._store.commit():
            for request, position in found:
                timestamp = read[request.commitment.block_number].timestamp
                self._store.add_request(request, timestamp=timestamp, position=position)
            for number, block in read.items():
                self._store.add_block(number, block.hash)
        for request, _ in found:
            self._log.write(
                "found",
                request=(request.commitment.request_id.to_bytes(32), request.block_hash),
                block=request.commitment.block_number,
                client=request.commitment.client,
            )
        return True

    def _read_blocks(self, last: int, requests: Sequence[AgentRequest]) -> dict[int, Block]:
        """Return the last block of a range and those of its requests, all of the known chain.

        Raises: RemoteFault: the chain changed in the meantime.
        """
        expected = dict(self._store.list_blocks()[:1])
        expected |= {each.commitment.block_number: each.block_hash for each in requests}
        numbers = sorted({last, *expected})
        blocks = {}
        for number, block in zip(numbers, self._client.find_blocks(numbers), strict=True):
            if block is None or block.hash != expected.get(number, block.hash):
                raise self._build_fault("the chain changed while it was read")
            blocks[number] = block
        return blocks

    def _decode(self, log: Mapping[str, Any]) -> tuple[AgentRequest, int] | None:
        """Return a log's request and its index in the block; None if it is not one."""
        try:
            request = decode_request(log)
            is_own = int(log["blockNumber"], 16) == request.commitment.block_number
            if is_own and keccak(request.arguments) == request.commitment.arguments_hash:
                return request, int(log["logIndex"], 16)
        except (MessageError, KeyError, TypeError, ValueError):
            pass
        self._log.write("malformed", transaction=log.get("transactionHash"))
        return None

    def _build_fault(self, problem: str) -> RemoteFault:
        return self._client.remote.build_fault("eth_getBlockByNumber", problem, "try later")
