"""A run by callback before the start: steps and moves of assets, found on a fork.

The run starts on a separate chain, which continues a block, and each answer is handed in with the
callback gas that the agent pays for. Transactions of others between the blocks of the real run are
not known, nor the results of asynchronous tools.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import to_canonical_address

from precompiles.address_handles import AddressBook
from pyevm_agents.abi.address_names import AddressNames
from pyevm_agents.agents.iteration_results import MalformedIterationError, decode_iteration
from pyevm_agents.node import Node
from pyevm_agents.node.state_view import StateView
from pyevm_agents.oracle.callback_simulation import WORKER
from pyevm_agents.rpc.context import RequestContext
from pyevm_agents.rpc.filters import EventSystem
from pyevm_agents.rpc.methods.agent_calls import EffectTracer
from pyevm_agents.rpc.named_calls import NamedCalls
from pyevm_agents.rpc.replay import trace_at_index
from pyevm_agents.rpc.run_review import AskedRun, RunReview, list_names, read_native_symbol
from pyevm_agents.rpc.token_reader import TokenReader
from pyevm_agents.rpc.token_transfers import iter_transfers
from pyevm_agents.rpc.value_flow import TOKEN_GAS, ValueFlow
from pyevm_agents.rpc.view_calls import ViewCalls
from pyevm_agents.tracing import CallTree, TouchedStateTracer
from pyevm_agents.tracing.call_names import CallNames
from pyevm_agents.tracing.call_tracer import CallNode
from pyevm_agents.tracing.touched_state import TouchedAccount
from pyevm_agents.tracing.tracer import CallFrame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eth.abc import BlockHeaderAPI

    from pyevm_agents.agents.asset_moves import Transfer
    from pyevm_agents.chain import Chain, MinedBlock
    from pyevm_agents.oracle.callback_simulation import CallbackEstimator, DeliveredRun
    from pyevm_agents.oracle.messages import Answer
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.tracing.budget import TraceBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRun:
    """A run by callback that was not sent."""

    status: str
    """Where it is after the last step, such as `Answered`."""

    result: str
    """The answer, or the reason of the failure."""

    reasoning: Sequence[str]
    """Thought, action and action input of each step that used a tool."""

    tool_results: Sequence[str]
    effects: Json
    """`transfers`, `changes` without storage, and the review, as those of `agent_traceCall`, of all
    transactions together. The oracle's fees are left out."""


def simulate_run(
    estimator: CallbackEstimator, agent: bytes, prompt: str, *, sender: bytes | None = None
) -> SimulatedRun:
    """Execute a run that `ask` starts, to the end; return the steps and effects.

    Input:
        estimator: has the chain and the model.
        agent: the CallbackAgent, 20 bytes.
        prompt: of the run.
        sender: of the transaction; None for the agent's owner.

    Raises:
        NotCallbackAgentError: there is no such agent.
        UnestimableError: the run does not start, or the oracle is not an AgentOracle.
        EngineFault: the model or the remote node failed.
    """
    delivered = estimator.deliver_run(agent, prompt, sender=sender)
    return SimulatedRun(
        status=delivered.status,
        result=delivered.result,
        reasoning=delivered.reasoning,
        tool_results=delivered.tool_results,
        effects=_Effects(estimator.chain, delivered, prompt).serialize(),
    )


class _Effects:
    """The transactions of a run as one."""

    def __init__(self, chain: Chain, run: DeliveredRun, prompt: str) -> None:
        self._chain, self._run, self._prompt = chain, run, prompt
        node = Node(chain, now=lambda: 0.0)  # It mines nothing.
        self._rpc = RequestContext(node=node, events=EventSystem(node))

    def serialize(self) -> Json:
        run, handles = self._run, AddressBook(self._run.base_prompt, [self._prompt]).handles
        with self._rpc.resources:
            budget = self._rpc.open_trace_budget()
            tracers = [self._trace(each, budget) for each in run.blocks]
            tree, state = _join_calls(run, tracers), _join_states(tracers)
            addresses = AddressNames(known=self._chain.known_contracts, get_code=self._chain.code)
            calls = NamedCalls.build(tree, CallNames(names=addresses), 0, budget)
            flow = ValueFlow(
                calls=calls,
                state=state,
                transfers=tuple(each for each in iter_transfers(tree) if not self._is_fee(each)),
                before=self._read_tokens(self._chain.header(run.blocks[0].block.number - 1)),
                after=self._read_tokens(self._chain.head),
            )
            asked = AskedRun(
                request=self._prompt,
                agents=frozenset({run.agent}),
                tools=frozenset(tool for tool, _ in _iter_uses(run.answers)),
                arguments=[arguments for _, arguments in _iter_uses(run.answers)],
                names=list_names(handles),
                native_symbol=read_native_symbol(run.base_prompt),
            )
            review = RunReview(flow=flow, asked=asked, asker=run.sender, is_compared=True)
            return {
                "transfers": flow.serialize_transfers(),
                "changes": flow.serialize_changes(),
                **review.serialize(),
                "names": calls.find_names(handles),
            }

    def _trace(self, mined: MinedBlock, budget: TraceBudget) -> EffectTracer:
        record = self._chain.block_with_receipts(mined.block.header)
        return trace_at_index(self._rpc, record, 0, lambda *_: EffectTracer(budget))

    def _read_tokens(self, header: BlockHeaderAPI) -> TokenReader:
        at = StateView(self._chain, header)
        return TokenReader(calls=ViewCalls(rpc=self._rpc, at=at, gas=TOKEN_GAS))

    def _is_fee(self, transfer: Transfer) -> bool:
        """Whether a transfer pays the oracle, the worker or the budget of the run."""
        ends = {transfer.sender, transfer.receiver}
        is_budget = transfer.token is None and ends == {self._run.sender, self._run.agent}
        return is_budget or bool(ends & {*self._run.oracles, WORKER})


def _iter_uses(answers: Sequence[Answer]) -> Iterator[tuple[Address, object]]:
    """Yield the tools that answers chose, with their arguments as JSON values."""
    for answer in answers:
        if answer.refused:
            continue
        try:
            chosen = decode_iteration(answer.output)
        except MalformedIterationError:
            continue
        if not chosen.is_final_answer:
            _, _, arguments = chosen.agent_reasoning.split("\n")
            text = arguments.removeprefix("Action Input: ")
            yield Address(to_canonical_address(chosen.tool)), json.loads(text)


def _join_calls(run: DeliveredRun, tracers: Sequence[EffectTracer]) -> CallTree:
    """Return the calls of all transactions, below one that stands for the run."""
    frame = CallFrame(
        kind="CALL", depth=0, sender=run.sender, to=run.agent, value_wei=0, input=b"", gas=0
    )
    joined = CallTree()
    joined.root = CallNode(frame=frame)
    for tracer in tracers:
        tree = tracer.calls
        for node, _ in tree.walk_nodes():
            node.logs = [(index + len(joined.logs), before) for index, before in node.logs]
        joined.logs += tree.logs
        if tree.root is not None:
            joined.root.calls.append(tree.root)
    return joined


def _join_states(tracers: Sequence[EffectTracer]) -> TouchedStateTracer:
    """Return the accounts that the transactions touched, without their slots."""
    joined = TouchedStateTracer()
    for tracer in tracers:
        for address, account in tracer.state.before.items():
            joined.before.setdefault(address, _without_slots(account))
        for address, account in tracer.state.after.items():
            joined.after[address] = _without_slots(account)
    return joined


def _without_slots(account: TouchedAccount) -> TouchedAccount:
    return TouchedAccount(
        balance_wei=account.balance_wei,
        nonce=account.nonce,
        code=account.code,
        code_hash=account.code_hash,
    )
