"""Cache of recent faults: a request that is retried immediately gets the same error.

Clients retry failed requests (web3.py: four times, for a call), and a model that failed after a
minute would run for four more.
"""

from __future__ import annotations

import hashlib
import threading
from time import monotonic  # noqa: TID251 - how long ago a fault was; no block depends on it
from typing import TYPE_CHECKING

from pyevm_agents.node.txpool import Leaving
from pyevm_agents.rpc.errors import RESOURCE_UNAVAILABLE, SERVER_ERROR, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyevm_agents.errors import EngineFault
    from pyevm_agents.node.txpool import Departure

    Params = Sequence[object] | Mapping[str, object]

FAULT_SECONDS = 5.0
"""Seconds for which a fault is cached."""

INVALIDATING_PREFIXES = ("agent_setScript", "agent_clearScript", "anvil_", "evm_", "hardhat_")
"""Prefixes of the methods that may change the outcome of a request."""

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
"""Methods whose outcome depends on their parameters and on the chain alone."""

NO_RETRY = {"retry": False}
"""`data` of a fault's error."""

REVERT_METHODS = frozenset({"eth_call", "eth_estimateGas"})
"""Methods for which web3.py treats an error as a contract's revert if its data are an object; a
fault's data are therefore a list. Source: web3.py 8, `raise_contract_logic_error_on_revert`."""


class RecentFaults:
    """Recent faults by request. Thread-safe."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        """Input: the clock, in seconds."""
        self._now = now
        self._lock = threading.Lock()
        self._until: dict[bytes, tuple[float, str]] = {}

    def raise_if_recent(self, method: str, params: Params) -> None:
        """Raise the cached fault of a request, if any.

        Raises: RpcError: the request failed within the last `FAULT_SECONDS`.
        """
        if not self._until or method not in REMEMBERED_METHODS:
            return
        with self._lock:
            until, message = self._until.get(_hash_request(method, params), (0.0, ""))
        if self._now() < until:
            raise fault_error(method, message)

    def record(self, method: str, params: Params, fault: EngineFault) -> RpcError:
        """Cache a fault; return the JSON-RPC error."""
        now = self._now()
        with self._lock:
            self._until = {key: entry for key, entry in self._until.items() if entry[0] > now}
            if method in REMEMBERED_METHODS:
                self._until[_hash_request(method, params)] = now + FAULT_SECONDS, str(fault)
        return fault_error(method, str(fault))

    def invalidate(self, method: str) -> None:
        """Clear the cache if a method may change the outcome of requests."""
        if self._until and method.startswith(INVALIDATING_PREFIXES):
            self.forget()

    def forget(self) -> None:
        """Clear the cache."""
        with self._lock:
            self._until.clear()


def fault_error(method: str, message: str) -> RpcError:
    """Return the error of a fault, which clients must not mistake for a revert."""
    data = [NO_RETRY] if method in REVERT_METHODS else NO_RETRY
    return RpcError(RESOURCE_UNAVAILABLE, message, data)


def departure_error(departure: Departure) -> RpcError:
    """Return the error of a transaction that left the txpool without a block."""
    if departure.way is Leaving.FAULT:
        return fault_error(
            "eth_getTransactionReceipt",
            "the transaction was dropped because the engine failed: "
            f"{departure.reason}; send it again",
        )
    return RpcError(SERVER_ERROR, f"the transaction was dropped: {departure.reason}")


def _hash_request(method: str, params: Params) -> bytes:
    return hashlib.sha256(repr((method, params)).encode("utf-8", "surrogatepass")).digest()
