"""Requests that the host failed on a moment ago: a client that asks again at once gets that answer.

Clients ask again for what failed (web3.py: four times, for a call), and a model that failed after a
minute would think for four more.
"""

from __future__ import annotations

import hashlib
import threading
from time import monotonic  # noqa: TID251 - how long ago a fault was; no block depends on it
from typing import TYPE_CHECKING

from pyevm_agents.rpc.errors import RESOURCE_UNAVAILABLE, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyevm_agents.errors import EngineFault

    Params = Sequence[object] | Mapping[str, object]

FAULT_SECONDS = 5.0
"""How long a request is not tried again."""

INVALIDATING_PREFIXES = ("agent_setScript", "agent_clearScript", "anvil_", "evm_", "hardhat_")
"""What methods begin with after which a request may end otherwise."""

REMEMBERED_METHODS = frozenset(
    {
        "agent_estimate",
        "debug_traceCall",
        "eth_call",
        "eth_createAccessList",
        "eth_estimateGas",
        "eth_sendRawTransaction",
        "eth_simulateV1",
    }
)
"""Methods whose parameters say all about what is computed."""

NO_RETRY = {"retry": False}
"""Data of a fault."""

REVERT_METHODS = frozenset({"eth_call", "eth_estimateGas"})
"""Methods for which web3.py takes an error for a contract's revert where its data is an object, so
that of a fault is in a list. Source: web3.py 8, `raise_contract_logic_error_on_revert`."""


class RecentFaults:
    """Faults of late, by request. All of it may be used in any thread."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        """Begin with none. Input: what tells the time, in seconds."""
        self._now = now
        self._lock = threading.Lock()
        self._until: dict[bytes, tuple[float, str]] = {}

    def raise_if_recent(self, method: str, params: Params) -> None:
        """Refuse a request that the host failed on a moment ago.

        Raises: RpcError: it did; as it said then.
        """
        if not self._until or method not in REMEMBERED_METHODS:
            return
        with self._lock:
            until, message = self._until.get(_hash_request(method, params), (0.0, ""))
        if self._now() < until:
            raise fault_error(method, message)

    def record(self, method: str, params: Params, fault: EngineFault) -> RpcError:
        """Take note of a fault; return how it is told."""
        now = self._now()
        with self._lock:
            self._until = {key: entry for key, entry in self._until.items() if entry[0] > now}
            if method in REMEMBERED_METHODS:
                self._until[_hash_request(method, params)] = now + FAULT_SECONDS, str(fault)
        return fault_error(method, str(fault))

    def invalidate(self, method: str) -> None:
        """Forget all faults where a method changes what comes of the requests."""
        if self._until and method.startswith(INVALIDATING_PREFIXES):
            self.forget()

    def forget(self) -> None:
        """Forget all faults."""
        with self._lock:
            self._until.clear()


def fault_error(method: str, message: str) -> RpcError:
    """Return how a request is answered that the host failed on: as nothing that a contract does."""
    data = [NO_RETRY] if method in REVERT_METHODS else NO_RETRY
    return RpcError(RESOURCE_UNAVAILABLE, message, data)


def _hash_request(method: str, params: Params) -> bytes:
    return hashlib.sha256(repr((method, params)).encode("utf-8", "surrogatepass")).digest()
