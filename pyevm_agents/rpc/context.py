"""What methods answer from: the node, and whom they answer."""

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
    """A node as methods see it."""

    node: Node
    events: EventSystem
    send_seconds: float = 2.0
    """How long a send waits for its block: clients give up early, and an agent may think long."""

    call_gas: int | None = None
    """Gas of a call that does not say, and at most; the block's where None."""

    address_index: AddressIndex = field(default_factory=AddressIndex)
    """Who takes part in which transaction, as far as somebody asked."""

    session: Session | None = None
    """Who asks."""

    may_wait: bool = True
    """Whether the thread may wait for others: the server's loop may not."""

    def for_session(self, session: Session, *, may_wait: bool = True) -> RequestContext:
        """Return the same for whoever asks."""
        return replace(self, session=session, may_wait=may_wait)

    def require_blocking_allowed(self) -> None:
        """Go no further where the thread may not wait, or work for long.

        Raises: WouldBlockError: it may not. The method is then called again where it may.
        """
        if not self.may_wait:
            raise WouldBlockError

    def send(self, make: TransactionFactory) -> bytes:
        """Send a transaction; return its hash when it is mined, or after `send_seconds`.

        Raises: PoolError: no block will take it. EngineFault: the host failed while mining.
        """
        sent = self.node.send(make)
        sent.wait(self.send_seconds)
        return bytes(sent.transaction.hash)

    def run_exclusive(self, work: Callable[[], T]) -> T:
        """Change something of the node that takes no time; after whatever was asked before.

        Raises: WouldBlockError: something is under way, and this thread may not wait.
        """
        if self.may_wait:
            return self.node.run_exclusive(work)
        try:
            return self.node.run_now(work)
        except BusyError as error:
            raise WouldBlockError from error
