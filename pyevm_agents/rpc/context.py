"""Context of a request: the node and the client's session."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.node import BusyError
from pyevm_agents.rpc.address_index import AddressIndex
from pyevm_agents.rpc.errors import WouldBlockError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.node import Node
    from pyevm_agents.node.transaction_defaults import TransactionFactory
    from pyevm_agents.rpc.filters import EventSystem
    from pyevm_agents.rpc.session import Session

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """The node, settings and session that a method is called with."""

    node: Node
    events: EventSystem
    send_seconds: float = 2.0
    """Seconds that a send waits for its block: clients time out, and an agent may run for long."""

    call_gas: int | None = None
    """Default and maximum gas limit of a call; None for the block gas limit."""

    address_index: AddressIndex = field(default_factory=AddressIndex)
    """Cache of the accounts of each transaction."""

    session: Session | None = None
    """The client's session."""

    may_wait: bool = True
    """Whether the thread may block. The server's event loop may not."""

    def for_session(self, session: Session, *, may_wait: bool = True) -> RequestContext:
        """Return this context with a client's session."""
        return replace(self, session=session, may_wait=may_wait)

    def require_blocking_allowed(self) -> None:
        """Require a thread that may wait, or work for long.

        Raises: WouldBlockError: the thread may not. The method is then called in another thread.
        """
        if not self.may_wait:
            raise WouldBlockError

    def send(self, make: TransactionFactory) -> bytes:
        """Send a transaction; return its hash once it is mined, or after `send_seconds`.

        Raises: PoolError: the transaction is rejected. EngineFault: the engine failed in mining.
        """
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
