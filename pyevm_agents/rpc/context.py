"""Context of a request: the node and the client's session."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.node import BusyError
from pyevm_agents.node.listeners import NodeListener
from pyevm_agents.rpc.address_index import AddressIndex
from pyevm_agents.rpc.agent_runs import RefusedRuns
from pyevm_agents.rpc.call_watcher import CallWatcher
from pyevm_agents.rpc.errors import WouldBlockError
from pyevm_agents.rpc.mined_failures import MinedFailures
from pyevm_agents.tracing import TraceBudget, TracePool
from pyevm_agents.vm import Interruption

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.chain.calls import BlockOverride, Call
    from pyevm_agents.node import Node
    from pyevm_agents.node.state_view import StateView
    from pyevm_agents.node.transaction_defaults import TransactionFactory
    from pyevm_agents.rpc.filters import EventSystem
    from pyevm_agents.rpc.session import Session

T = TypeVar("T")

DEFAULT_CALL_GAS = 50_000_000
"""Maximum gas limit of a call if the block's is lower. Source: geth's `--rpc.gascap`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """The node, settings and session that a method is called with."""

    node: Node
    events: EventSystem
    send_seconds: float = 2.0
    """Seconds that a send waits for its block: clients time out, and an agent may run for long."""

    throws_on_failure: bool = False
    """Whether a send whose transaction fails in its block is an error, as in Hardhat's network."""

    call_gas: int | None = None
    """Maximum gas limit of a call; None for the block gas limit, or `DEFAULT_CALL_GAS` if more."""

    calls: CallWatcher = field(default_factory=CallWatcher)
    """Ends executions that take too long, or whose client has left."""

    interruption: Interruption = field(default_factory=Interruption)
    """Ends the executions of this request."""

    address_index: AddressIndex = field(default_factory=AddressIndex)
    """Cache of the accounts of each transaction."""

    refused_runs: RefusedRuns = field(default_factory=RefusedRuns)
    """Cache of the agents' runs without inference."""

    trace_pool: TracePool = field(default_factory=TracePool)
    """The memory that the traces of all requests share."""

    resources: ExitStack = field(default_factory=ExitStack)
    """Resources of this request, which are released when its response is encoded."""

    session: Session | None = None
    """The client's session."""

    may_wait: bool = True
    """Whether the thread may block. The server's event loop may not."""

    def for_session(
        self, session: Session, resources: ExitStack, *, may_wait: bool = True
    ) -> RequestContext:
        """Return the context of a request of a client's session.

        Input: the session; the stack that is closed at the end of the request.
        """
        return replace(
            self,
            session=session,
            resources=resources,
            may_wait=may_wait,
            interruption=Interruption(),
        )

    def open_trace_budget(self) -> TraceBudget:
        """Return a budget for traces, which is released at the end of this request."""
        return self.resources.enter_context(TraceBudget(pool=self.trace_pool))

    def limit_call(self, call: Call, at: StateView, block: BlockOverride | None = None) -> Call:
        """Return a call with at most the maximum gas, which ends when this request has to.

        Input: the call; the state to execute on; the overrides of the block.
        """
        block_gas = at.header.gas_limit
        most = self.call_gas or max(block_gas, DEFAULT_CALL_GAS)
        gas = call.gas
        if gas is None:
            gas = block_gas if block is None or block.gas_limit is None else block.gas_limit
        if gas > most:
            call = replace(call, gas=most)
        interruption = self.watch_execution()
        return call if interruption is None else replace(call, interruption=interruption)

    def watch_execution(self) -> Interruption | None:
        """Return the switch that ends an execution of this request; None if not allowed to wait.

        An execution that may not wait is short by itself.
        """
        if not self.may_wait or self.session is None:
            return None
        self.calls.watch(self.interruption, self.session)
        return self.interruption

    def require_blocking_allowed(self) -> None:
        """Require a thread that may wait, or work for long.

        Raises: WouldBlockError: the thread may not. The method is then called in another thread.
        """
        if not self.may_wait:
            raise WouldBlockError

    def send(self, make: TransactionFactory) -> bytes:
        """Send a transaction; return the hash once mined, or after `send_seconds`.

        Raises: WouldBlockError: it is not short, and this thread may not wait. PoolError: the
                transaction is rejected. EngineFault: the engine failed in mining. RpcError: with
                `throws_on_failure` and automine, the transaction failed in its block.
        """
        failures = MinedFailures()
        forget = (
            self.node.listeners.add(NodeListener(on_mined=failures.add))
            if self.throws_on_failure
            else None
        )
        try:
            transaction_hash = self._send_and_wait(make)
        finally:
            if forget is not None:
                forget()
        if self.node.mining.is_automatic:
            failures.require_success(transaction_hash, self.node.chain.known_contracts)
        return transaction_hash

    def _send_and_wait(self, make: TransactionFactory) -> bytes:
        transaction = self.node.send_if_short(make)
        if transaction is not None:
            return bytes(transaction.hash)
        self.require_blocking_allowed()
        sent = self.node.send(make)
        sent.wait(self.send_seconds)
        transaction_hash = bytes(sent.transaction.hash)
        self.node.sync_pool(transaction_hash)
        return transaction_hash

    def run_exclusive(self, work: Callable[[], T]) -> T:
        """Run a short node mutation, after all earlier ones.

        Raises: WouldBlockError: the write queue is not idle, and this thread may not wait.
        """
        if self.may_wait:
            return self.node.run_exclusive(work)
        try:
            return self.node.run_now(work)
        except BusyError as error:
            raise WouldBlockError from error
