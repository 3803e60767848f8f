"""Runs of agents in a range of blocks.

Runs with inference are read from the traces that a chain stores with its blocks; other blocks are
passed over by hash alone. A run that the executor refuses has no inference, and fails: failed
transactions are executed again, once for each block. One to a contract whose code calls the
executor is always executed; one to another contract, which may be a proxy of an agent or call one,
while `MAX_REPLAYED_GAS` lasts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import rlp
from eth.db.schema import SchemaV1
from eth.exceptions import HeaderNotFound
from eth_typing import BlockNumber
from eth_utils import to_checksum_address
from lru import LRU

from precompiles.abi import RUN_NEXT_ITERATION_SELECTOR
from precompiles.errors import Refusal
from precompiles.escaping import escape_line
from precompiles.spec import EXECUTOR_ADDRESS
from precompiles.versions import (
    RUN_NEXT_ITERATION_V1_SELECTOR,
    decode_request,
    is_interface_question,
)
from pyevm_agents.agents.trace import AgentTrace, trace_agents
from pyevm_agents.chain.database import generations_key
from pyevm_agents.rpc.agent_serializers import explain_failure, serialize_gas
from pyevm_agents.tracing import CallTree, make_selectively_traced_vm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eth.abc import SignedTransactionAPI
    from eth_typing import Address

    from precompiles.language_model import ModelProfile
    from pyevm_agents.abi.address_names import AddressNames
    from pyevm_agents.agents.trace import TracedStep
    from pyevm_agents.chain import BlockRecord, Chain
    from pyevm_agents.rpc.serializers import Json

QUESTION = "Question: "
TURN = "Thought:"
"""The texts around a question in a prompt. Source: `precompiles.react.build_prompt`."""

NUMBERED_HANDLE = re.compile(
    r"(?:(?<![0-9A-Za-z])|(?<=\\[nr])|(?<=\\u[0-9a-f]{4}))addr[0-9]+(?![0-9A-Za-z])"
)
"""A handle in place of an address, also after an escape. Source: `precompiles.escaping`."""


def _strip_even_bits(selector: bytes) -> bytes:
    number = int.from_bytes(selector, "big")
    return (number // (number & -number)).to_bytes(len(selector), "big")


_SELECTORS = (RUN_NEXT_ITERATION_SELECTOR, RUN_NEXT_ITERATION_V1_SELECTOR)
CALL_MARKS = (*_SELECTORS, *map(_strip_even_bits, _SELECTORS))
"""The executor's functions in the code of their callers: their selectors, or the odd numbers that
solc's optimizer shifts to the left."""

MAX_READ_BLOCKS = 250
"""The most blocks that one request reads for refused runs; indexed blocks are not counted. Reading
one takes about a millisecond."""

MAX_REPLAYED_GAS = 2_000_000
"""The most gas that one request executes again for refused runs behind other contracts: less than
a second of a loop. The gas of the transactions before them in their blocks counts."""

MAX_INDEXED_BLOCKS = 100_000
"""Size of the index of refused runs. Most blocks have none, and take some hundred bytes."""

FAILURE = b""
"""A receipt's status as RLP has it (EIP-658): the number 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRun:
    """A transaction that ran an agent."""

    index: int
    """Its index in the block."""

    trace: AgentTrace
    agent: Address | None
    """The first outermost agent; None for a transaction to the executor itself."""

    request: str | None
    """What the agent was asked, on one line."""


class RefusedRuns:
    """LRU cache of the runs without inference by block hash. Thread-safe."""

    def __init__(self) -> None:
        self._by_block: LRU[bytes, tuple[ChainRun, ...]] = LRU(MAX_INDEXED_BLOCKS)

    def get(self, block_hash: bytes) -> tuple[ChainRun, ...] | None:
        """Return the runs of a block; None if not indexed."""
        return self._by_block.get(block_hash)

    def index(self, block_hash: bytes, runs: tuple[ChainRun, ...]) -> None:
        """Index a block. Input: the block's hash and runs."""
        self._by_block[block_hash] = runs


class RunSearch:
    """A search for the runs of a chain."""

    def __init__(self, chain: Chain, names: AddressNames, refused: RefusedRuns) -> None:
        """Input: the chain; the names of addresses; the index of refused runs."""
        self._chain, self._names, self._refused = chain, names, refused
        self._profiles = {profile.name: profile for profile in chain.config.models}
        self._reads_left = MAX_READ_BLOCKS
        self._gas_left = MAX_REPLAYED_GAS

    def find(self, first: int, last: int, limit: int) -> list[Json]:
        """Return the runs in a range of blocks, the newest first.

        Input: the first and the last block; the most runs to return.
        """
        runs = (
            self._serialize(record, run)
            for number in range(last, first - 1, -1)
            for record, run in self._iter_block(number)
        )
        return [*islice(runs, limit)]

    def _iter_block(self, number: int) -> Iterator[tuple[BlockRecord, ChainRun]]:
        """Yield the runs of a block, the last first; no run if the block has been removed."""
        rows = self._chain.rows
        try:
            # A single read: another thread may be removing blocks.
            row = rows[SchemaV1.make_block_number_to_hash_lookup_key(BlockNumber(number))]
            block_hash = rlp.decode(row, sedes=rlp.sedes.binary)
            has_inference = rows.exists(generations_key(block_hash))
            refused = self._refused.get(block_hash)
            if not has_inference and (refused == () or (refused is None and not self._reads_left)):
                return
            record = self._chain.block_with_receipts(self._chain.header_by_hash(block_hash))
        except (KeyError, HeaderNotFound):
            return
        if refused is None and self._reads_left:
            self._reads_left -= 1
            refused = self._find_refused(record)
            if refused is None:
                self._reads_left = 0
            else:
                self._refused.index(block_hash, refused)
        runs = [*(refused or ()), *(self._iter_stored(record) if has_inference else ())]
        for run in sorted(runs, key=lambda run: run.index, reverse=True):
            yield record, run

    def _iter_stored(self, record: BlockRecord) -> Iterator[ChainRun]:
        """Yield the runs of a block whose traces are stored."""
        for index, transaction in enumerate(record.block.transactions):
            trace = self._chain.stored_trace(transaction.hash)
            if trace is not None:
                first = min(trace.steps, key=lambda step: step.depth, default=None)
                yield ChainRun(
                    index=index,
                    trace=trace,
                    agent=None if first is None else first.agent,
                    request=None
                    if first is None
                    else extract_question(first, self._profiles.get(first.model)),
                )

    def _find_refused(self, record: BlockRecord) -> tuple[ChainRun, ...] | None:
        """Return the runs of a block that failed without inference.

        Output: None if the request has executed too much to execute this block whole.
        """
        is_first = self._gas_left == MAX_REPLAYED_GAS
        runs = []
        for index, transaction in enumerate(record.block.transactions):
            receipt = record.receipts[index]
            if receipt.state_root != FAILURE or not transaction.to:
                continue
            code = self._chain.code(transaction.to)
            if not code or self._chain.stored_trace(transaction.hash) is not None:
                continue
            if not any(mark in code for mark in CALL_MARKS):
                if receipt.gas_used > self._gas_left and not is_first:
                    return None
                if receipt.gas_used > self._gas_left:
                    continue  # Never: a request has no more.
                self._gas_left -= receipt.gas_used
            run = self._replay(record, index)
            if run is not None:
                runs.append(run)
        return tuple(runs)

    def _replay(self, record: BlockRecord, index: int) -> ChainRun | None:
        """Execute a transaction again; return the run, or None without a call of the executor."""
        tree, wanted = CallTree(), record.block.transactions[index].hash

        def choose_tracer(transaction: SignedTransactionAPI) -> CallTree | None:
            return tree if transaction.hash == wanted else None

        vm = partial(make_selectively_traced_vm, choose=choose_tracer)
        receipt, computation = self._chain.replay(record, index, vm)
        frames = (node.frame for node, _ in tree.walk_nodes())
        calls = (frame for frame in frames if frame.to == EXECUTOR_ADDRESS)
        asked = next((frame for frame in calls if not is_interface_question(frame.input)), None)
        if asked is None:
            return None
        gas_before = record.receipts[index - 1].gas_used if index else 0
        return ChainRun(
            index=index,
            trace=trace_agents(computation, receipt.gas_used - gas_before, self._chain.models),
            agent=asked.sender,
            request=_decode_question(asked.input),
        )

    def _serialize(self, record: BlockRecord, run: ChainRun) -> Json:
        """Serialize a run. The answer is the agent's last one, no evidence of the agent's acts."""
        trace, header = run.trace, record.block.header
        outer = min((step.depth for step in trace.steps), default=0)
        own = [step for step in trace.steps if (step.agent, step.depth) == (run.agent, outer)]
        answers = [step.decision.answer for step in own if step.decision.answer is not None]
        agent = None if run.agent is None else str(to_checksum_address(run.agent))
        failed = [] if run.agent is None else [run.agent]
        names = self._names.find_names([agent] if agent else [], _list_handles(trace.steps))
        return {
            "transactionHash": "0x" + record.block.transactions[run.index].hash.hex(),
            "blockNumber": header.block_number,
            "transactionIndex": run.index,
            "timestamp": header.timestamp,
            "agent": agent,
            "agentName": None if agent is None else names.get(agent),
            "request": run.request,
            "answer": answers[-1] if answers else None,
            "isSuccess": trace.failure is None,
            "reason": explain_failure(trace.failure, failed, self._names),
            "gasUsed": trace.gas_used,
            "gas": serialize_gas(trace),
            "steps": len(trace.steps),
            "names": names,
        }


def _list_handles(steps: Iterable[TracedStep]) -> list[tuple[str, str]]:
    return [pair for step in steps for pair in step.handles]


def _decode_question(calldata: bytes) -> str | None:
    """Return the question in the calldata of the executor; None if malformed."""
    try:
        return escape_line(decode_request(calldata).prompt)
    except Refusal:
        return None


def extract_question(step: TracedStep, profile: ModelProfile | None) -> str | None:
    """Return an agent's question, on one line, with addresses in place of numbered handles.

    Input: a step of the agent; the profile of the model.
    Output: None if the prompt is not of this profile.
    """
    if profile is None:
        return None
    # The question is a line of its own between the texts of the profile's template.
    opening = f"{profile.chat_middle}{QUESTION}".rpartition("\n")[2]
    body, turn, _ = step.prompt.rpartition(profile.chat_suffix + TURN)
    _, start, question = body.rpartition("\n")[2].partition(opening)
    if not turn or not start:
        return None
    addresses = dict(step.handles)
    return NUMBERED_HANDLE.sub(lambda match: addresses.get(match[0], match[0]), question)
