"""Answers of a node to the page's requests, for a page without a node.

    answers = record_answers(service)
    answers.results['["eth_chainId",[]]']   # '"0x7a69"'

These are the requests of `page/src/`: each view can be opened, but for omissions by the limits. No
model runs.
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pyevm_agents.rpc.codec import encode
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Progress = Callable[[str], None]

ADDRESS = re.compile('"(0x[0-9a-fA-F]{40})"')
"""An address in JSON: a value or a name."""

LISTED_RUNS, MOST_RUNS = 100, 1_000
"""Runs that the overview, and a block or a search, ask for. Source: page/src/blocks.ts."""

RUN_BLOCKS = 100_000
"""Blocks of one `agent_getRuns`. Source: page/src/blocks.ts, `MAX_RANGE`."""

SEARCHED_TRANSACTIONS = 25
"""Transactions of an account's view. Source: page/src/views/address.tsx, `PAGE_ROWS`."""

STORAGE_SLOTS = 100
"""Slots of one `debug_storageRangeAt`. Source: page/src/views/address.tsx, `SLOTS`."""

HASHES, TRANSACTIONS = False, True
"""Whether a block is with whole transactions."""

STORAGE_START = "0x00"

MAX_STORAGE_PAGES = 10
"""Requests for an account's slots: 1,000 of them are more than a person reads."""


class AnsweringService(Protocol):
    """A service that answers requests, such as `NodeService`."""

    def call(self, method: str, params: Any, session: Session, /) -> Any:  # noqa: ANN401 - JSON
        """Return a method's result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLimits:
    """The most that is recorded: the newest blocks, and agents' runs before other transactions."""

    blocks: int = 1_000
    traces: int = 200
    accounts: int = 300
    result_bytes: int = 32 << 20
    """Bytes of all results: a browser reads these in about a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAnswers:
    """Results of requests, and omissions by the limits."""

    results: Mapping[str, str]
    """JSON of each result, by the canonical JSON of `[method, params]`."""

    omissions: tuple[str, ...]
    """Phrases such as `3 of 10 blocks`."""


def format_request(method: str, params: Sequence[object]) -> str:
    """Return a request's canonical JSON. Source: page/src/rpc.ts, `formatCanonicalJson`."""
    return json.dumps(
        [method, list(params)], sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


def record_answers(
    service: AnsweringService,
    *,
    first_block: int = 0,
    limits: RecordLimits | None = None,
    on_progress: Progress | None = None,
) -> RecordedAnswers:
    """Send a node the requests of the page.

    Input:
        service: the node's service, such as `build_node_service(node)`.
        first_block: the first block to record; of a fork, the one after the fork block.
        on_progress: takes a line about the next request.

    Raises:
        RpcError: the node has no head.
    """
    session = Session("recorded page")
    try:
        recorder = _Recorder(service, session, first_block, limits or RecordLimits(), on_progress)
        recorder.record_chain()
    finally:
        session.close()
    return RecordedAnswers(results=recorder.results, omissions=tuple(recorder.iter_omissions()))


@dataclass(slots=True)
class _Count:
    """How many things of a kind are recorded."""

    done: int = 0
    all: int = 0


@dataclass(slots=True)
class _Recorder:
    """Sends requests, and keeps results within the limits."""

    _service: AnsweringService
    _session: Session
    _first_block: int
    _limits: RecordLimits
    _on_progress: Progress | None
    results: dict[str, str] = field(default_factory=dict)
    _counts: dict[str, _Count] = field(default_factory=dict)
    _bytes: int = 0
    _addresses: dict[str, str] = field(default_factory=dict)
    """Addresses that results name, by their digits in lower case, in the order of finding."""

    def record_chain(self) -> None:
        """Record the head, runs, blocks, transactions and accounts."""
        metadata = self._ask("anvil_metadata")
        self._try("eth_chainId")
        self._try("agent_models")
        head = metadata["latestBlockNumber"]
        last = self._try("eth_getBlockByNumber", "latest", HASHES)
        first = max(head - RUN_BLOCKS + 1, 0)
        runs = self._try("agent_getRuns", hex(first), hex(head), hex(LISTED_RUNS)) or []
        self._try("agent_getRuns", hex(first), hex(head), hex(MOST_RUNS))
        hashes = self._record_blocks(head)
        wanted = dict.fromkeys([*(run["transactionHash"] for run in runs), *hashes])
        self._record_traces(wanted)
        self._record_accounts(last)

    def iter_omissions(self) -> Iterator[str]:
        """Yield a phrase for each kind of which something is missing."""
        for name, count in self._counts.items():
            if count.done < count.all:
                yield f"{count.all - count.done:,} of {count.all:,} {name}"

    def _record_blocks(self, head: int) -> list[str]:
        """Record blocks; return the hashes of their transactions, the newest first."""
        hashes: list[str] = []
        own = min(self._first_block, head)
        first = max(own, head - self._limits.blocks + 1)
        count = self._counts["blocks"] = _Count(all=head - own + 1)
        for number in range(head, first - 1, -1):
            self._tell(f"block {number:,}")
            block = self._try("eth_getBlockByNumber", hex(number), HASHES)
            if block is None:
                continue
            whole = [
                self._try("eth_getBlockByNumber", hex(number), TRANSACTIONS),
                self._try("eth_getBlockReceipts", hex(number)),
                self._try("agent_getRuns", hex(number), hex(number), hex(MOST_RUNS)),
                self._try("eth_getBlockByHash", block["hash"], HASHES),
                self._try("eth_getBlockByHash", block["hash"], TRANSACTIONS),
            ]
            count.done += None not in whole
            hashes += reversed(block["transactions"])
        return hashes

    def _record_traces(self, hashes: Iterable[str]) -> None:
        wanted = list(hashes)
        count = self._counts["transactions"] = _Count(all=len(wanted))
        for number, tx_hash in enumerate(wanted[: self._limits.traces], start=1):
            self._tell(f"transaction {number:,} of {len(wanted):,}")
            found = [
                self._try("eth_getTransactionByHash", tx_hash),
                self._try("eth_getTransactionReceipt", tx_hash),
                self._try("agent_traceTransaction", tx_hash),
                self._try("agent_traceCalls", tx_hash),
            ]
            count.done += None not in found

    def _record_accounts(self, last: dict[str, Any] | None) -> None:
        """Record the accounts that results name, and those that these name in turn."""
        count = self._counts["accounts"] = _Count()
        done: set[str] = set()
        waiting = deque(self._addresses)
        while waiting:
            digits = waiting.popleft()
            if digits in done:
                continue
            done.add(digits)
            count.all += 1
            if count.all > self._limits.accounts:
                continue
            self._tell(f"account {count.all:,} of {len(self._addresses):,}")
            count.done += self._record_account(self._addresses[digits], last)
            waiting.extend(each for each in self._addresses if each not in done)

    def _record_account(self, address: str, last: dict[str, Any] | None) -> bool:
        """Record an account; return whether everything for the view is there."""
        balance = self._try("eth_getBalance", address, "latest")
        nonce = self._try("eth_getTransactionCount", address, "latest")
        code = self._try("eth_getCode", address, "latest")
        self._try("agent_describe", address)
        self._try("ots_searchTransactionsBefore", address, "0x0", hex(SEARCHED_TRANSACTIONS))
        if last is not None and code not in {None, "0x"}:
            self._record_storage(address, last)
        return None not in {balance, nonce, code}

    def _record_storage(self, address: str, last: dict[str, Any]) -> None:
        at = (last["hash"], len(last["transactions"]), address)
        start: str | None = STORAGE_START
        for _ in range(MAX_STORAGE_PAGES):
            if start is None:
                return
            page = self._try("debug_storageRangeAt", *at, start, STORAGE_SLOTS)
            start = None if page is None else page["nextKey"]

    def _try(self, method: str, *params: object) -> Any:  # noqa: ANN401 - a method's result
        """Send a request; return None where the node refuses, or for a result beyond the limit."""
        try:
            return self._ask(method, *params)
        except RpcError:
            return None

    def _ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - a method's result
        result = self._service.call(method, list(params), self._session)
        request, text = format_request(method, params), encode(result).decode()
        if request not in self.results:
            size = len(request) + len(text)
            if self._bytes + size > self._limits.result_bytes:
                return None
            self._bytes += size
            self.results[request] = text
            self._add_addresses(text)
        return result

    def _add_addresses(self, text: str) -> None:
        for match in ADDRESS.finditer(text):
            self._addresses.setdefault(match[1].lower(), match[1])

    def _tell(self, text: str) -> None:
        if self._on_progress is not None:
            self._on_progress(text)
