"""The requests in an oracle's log: found in ranges of blocks, and forgotten with their blocks.

The store has the hash of every block with a request and of the last block of every range. A
reorganisation shows as another hash; the search goes on after the last block that both have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import keccak

from pyevm_agents.client.json_rpc import MAX_BATCH, RemoteError, split

if TYPE_CHECKING:
    from pyevm_agents.client.chain_client import RemoteHeader
    from pyevm_agents.client.worker_log import WorkerLog
    from pyevm_agents.oracle.messages import AgentRequest
    from pyevm_agents.oracle.oracle_client import OracleClient
    from pyevm_agents.oracle.store import WorkerStore

FIRST_RANGE, MAX_RANGE = 1_000, 10_000
"""Blocks of one search. It is halved where the node refuses, and doubled where it answers."""

MAX_SEARCHES = 20
"""Searches in a round, between which transactions are looked after."""

MAX_LAGS = 5
"""Rounds in which a chain may be shorter than before: a node behind a load balancer may lag. What
is missing after them is taken as removed."""

MAX_TIMEOUT_SECONDS = 7 * 24 * 3_600
"""How old a request can be that waits for an answer. Source: `AgentOracle.MAX_TIMEOUT`."""


class RequestScanner:
    """Brings requests of the chain to the store. For one thread."""

    def __init__(self, client: OracleClient, store: WorkerStore, log: WorkerLog) -> None:
        """Input: the oracle; the store; where events go."""
        self._client, self._store, self._log = client, store, log
        self._range = FIRST_RANGE
        self._lags = 0

    def follow(self, head: RemoteHeader) -> bool:
        """Forget reorganised blocks, and find new requests, up to the head.

        Output: whether the store is at the head. If not, call again: the chain changed meanwhile,
            there is more to read, or the chain is shorter than before.
        Raises: RemoteFault, RemoteError: the node failed.
        """
        if not self._rewind(head):
            return False
        scanned = self._store.get_scanned()
        first = self._find_start(head) if scanned is None else scanned + 1
        for _ in range(MAX_SEARCHES):
            if first > head.number:
                break
            last = min(first + self._range - 1, head.number)
            try:
                is_consistent = self._scan(first, last)
            except RemoteError:
                if first == last:
                    raise
                self._range = max((last - first + 1) // 2, 1)
                continue
            if not is_consistent:
                return False
            first, self._range = last + 1, min(self._range * 2, MAX_RANGE)
        return first > head.number

    def _rewind(self, head: RemoteHeader) -> bool:
        """Forget blocks that the chain does not have any more, with the requests in these blocks.

        Output: False if the chain only is shorter: the node lags, or goes on in another way.
        """
        every = self._store.list_blocks()
        known = [each for each in every if each[0] <= head.number]
        for part in (known[:1], *split(known[1:], MAX_BATCH)):
            headers = self._client.read_headers([number for number, _ in part])
            for (number, block_hash), header in zip(part, headers, strict=True):
                if header is None or header.hash != block_hash:
                    continue
                if number == every[0][0]:
                    self._lags = 0
                    return True
                self._lags += 1
                if number == known[0][0] and self._lags <= MAX_LAGS:
                    return False
                self._forget_above(number, every[0][0])
                return True
        if every:
            self._forget_above(-1, every[0][0])
        return True

    def _forget_above(self, number: int, scanned: int) -> None:
        self._lags = 0
        removed = self._store.rewind(number)
        self._log.write(
            "reorganized", block=number, scanned=scanned, requests=[each.key for each in removed]
        )

    def _scan(self, first: int, last: int) -> bool:
        """Store the requests of a range; return False if the chain changed meanwhile."""
        before = self._client.read_header(last)
        requests = self._client.read_requests(first, last)
        numbers = sorted({each.commitment.block_number for each in requests} | {last})
        headers = dict(zip(numbers, self._client.read_headers(numbers), strict=True))
        end = headers[last]
        if before is None or end is None or before.hash != end.hash:
            return False
        if not all(_is_of(each, headers[each.commitment.block_number]) for each in requests):
            return False
        with self._store.commit():
            for number, header in headers.items():
                if header is not None:
                    self._store.add_block(number, header.hash)
            for position, request in enumerate(requests):
                header = headers[request.commitment.block_number]
                if header is not None and is_whole(request):
                    self._store.add_request(request, timestamp=header.timestamp, position=position)
        for request in requests:
            commitment = request.commitment
            self._log.write(
                "found",
                request=(commitment.request_id.to_bytes(32), request.block_hash),
                block=commitment.block_number,
                client=commitment.client,
                fee=commitment.fee,
            )
        return True

    def _find_start(self, head: RemoteHeader) -> int:
        """Return the first block whose requests can still wait, by bisection."""
        return find_block_at(self._client, head, head.timestamp - MAX_TIMEOUT_SECONDS)


def find_block_at(client: OracleClient, head: RemoteHeader, timestamp: int) -> int:
    """Return the first block that is not older than a time. A node may not have the oldest."""
    low, high = 0, head.number
    while low < high:
        middle = (low + high) // 2
        header = client.read_header(middle)
        if header is None or header.timestamp < timestamp:
            low = middle + 1
        else:
            high = middle
    return low


def is_whole(request: AgentRequest) -> bool:
    """Return whether a request's arguments are those of the commitment."""
    return keccak(request.arguments) == request.commitment.arguments_hash


def _is_of(request: AgentRequest, header: RemoteHeader | None) -> bool:
    return header is not None and header.hash == request.block_hash
