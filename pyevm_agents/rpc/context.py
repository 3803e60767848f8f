"""What methods answer from: the node, and whom they answer."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyevm_agents.rpc.appearances import Appearances

if TYPE_CHECKING:
    from pyevm_agents.node import Node
    from pyevm_agents.rpc.events import Events
    from pyevm_agents.rpc.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Rpc:
    """A node as methods see it."""

    node: Node
    events: Events
    send_seconds: float = 2.0
    """How long a send waits for its block: clients give up early, and an agent may think long."""

    call_gas: int | None = None
    """Gas of a call that does not say, and at most; the block's where None."""

    appearances: Appearances = field(default_factory=Appearances)
    """Who takes part in which transaction, as far as somebody asked."""

    session: Session | None = None
    """Who asks."""

    def of(self, session: Session) -> Rpc:
        """Return the same for whoever asks."""
        return replace(self, session=session)
