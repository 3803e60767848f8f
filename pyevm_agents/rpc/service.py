"""The JSON-RPC service of a node: methods and the translation of errors."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from eth.exceptions import BlockNotFound, HeaderNotFound, ReceiptNotFound, TransactionNotFound

from precompiles.numeric_model import NumericFaultError
from precompiles.react import GrammarViolationError
from pyevm_agents.errors import ConfigError, EngineFault, RemoteFault
from pyevm_agents.node import PoolError
from pyevm_agents.node.errors import RequestError
from pyevm_agents.rpc.block_ids import BlockNotFoundError
from pyevm_agents.rpc.errors import (
    INVALID_PARAMS,
    LIMIT_EXCEEDED,
    METHOD_NOT_FOUND,
    SERVER_ERROR,
    RpcError,
    convert_request_error,
)
from pyevm_agents.rpc.recent_faults import RecentFaults
from pyevm_agents.rpc.remote_blocks import BLOCKING_METHODS, LOCAL, RemoteBlocks
from pyevm_agents.tracing import TraceTooLargeError
from pyevm_agents.vm import InterruptedExecutionError, RuleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.method_table import RpcMethod
    from pyevm_agents.rpc.request import Params
    from pyevm_agents.rpc.session import Session

NOT_FOUND = (BlockNotFound, HeaderNotFound, ReceiptNotFound, TransactionNotFound)
"""py-evm's errors of a block that the chain lacks: another client may just have removed it."""

REFUSALS = (
    *(BlockNotFoundError, ConfigError, PoolError, RequestError),
    *(InterruptedExecutionError, TraceTooLargeError),
    *NOT_FOUND,
    RuleError,
)
"""Errors of requests, which are not bugs. Those of other libraries end where these are called: any
that comes as far as here, such as py-evm's `ValidationError`, is a bug, and is logged as one."""


class NodeService:
    """A `dispatcher.Service` of a node. Thread-safe."""

    def __init__(
        self, rpc: RequestContext, methods: Mapping[str, RpcMethod], unsupported: Mapping[str, str]
    ) -> None:
        """Input: the context; the methods; the reasons why other methods are unsupported."""
        self._rpc = rpc
        self._methods = methods
        self._unsupported_reasons = unsupported
        self._faults = RecentFaults()

    def forget_faults(self) -> None:
        """Clear the cache of recent faults."""
        self._faults.forget()

    def is_quick(self, method: str) -> bool:
        """Return whether a method takes well under a millisecond, waiting apart."""
        if method in BLOCKING_METHODS and self._rpc.node.fork is not None:
            return False
        known = self._methods.get(method)
        return known is None or known.is_quick

    def prepare(self, requests: Sequence[tuple[str, Params]]) -> None:
        """Read the data for a batch from the remote node of a fork in few round trips.

        Each request repeats a failed read, and answers with its own error.
        """
        fork = self._rpc.node.fork
        if fork is None:
            return
        with suppress(RpcError, RemoteFault):
            RemoteBlocks(self._rpc.node, fork).prefetch([*self._parse_all(requests)])

    def _parse_all(
        self, requests: Sequence[tuple[str, Params]]
    ) -> Iterator[tuple[RpcMethod, list[object]]]:
        """Return the valid ones of requests, with parsed parameters."""
        for name, params in requests:
            method = self._methods.get(name)
            if method is not None:
                with suppress(RpcError):
                    yield method, method.parse_arguments(params)

    def call(
        self,
        method: str,
        params: Sequence[object] | Mapping[str, object],
        session: Session,
        *,
        may_wait: bool = True,
        resources: ExitStack | None = None,
    ) -> object:
        """Call a method.

        Input:  the stack that keeps the resources of the result; None to release them on return.
        Raises: RpcError: every error except a bug. WouldBlockError: the method would block, and
            `may_wait` is false.
        """
        with ExitStack() as own:
            context = self._rpc.for_session(session, resources or own, may_wait=may_wait)
            return self._call(method, params, context)

    def _call(
        self, method: str, params: Sequence[object] | Mapping[str, object], rpc: RequestContext
    ) -> object:
        entry = self._methods.get(method)
        if entry is None:
            reason = self._unsupported_reasons.get(method)
            message = f"the method {method} does not exist/is not available"
            raise RpcError(METHOD_NOT_FOUND, f"{message}: {reason}" if reason else message)
        arguments = entry.parse_arguments(params)
        self._faults.invalidate(method)
        self._faults.raise_if_recent(method, params)
        try:
            return self._answer(entry, params, arguments, rpc)
        except EngineFault as error:
            raise self._faults.record(method, params, error) from error
        except REFUSALS as error:
            raise _convert_refusal(error, self._rpc.node.chain.known_contracts) from error

    def _answer(
        self,
        method: RpcMethod,
        params: Sequence[object] | Mapping[str, object],
        arguments: list[object],
        rpc: RequestContext,
    ) -> object:
        """Return a method's result: the remote node's for a block below a fork.

        Raises: EngineFault: a fault of the host, also if found by the precompiles.
        """
        fork = rpc.node.fork
        if fork is not None:
            result = RemoteBlocks(rpc.node, fork).answer(method, params, arguments)
            if result is not LOCAL:
                return result
        try:
            return method.handler(rpc, *arguments)
        except GrammarViolationError as error:
            raise EngineFault(f"model output violates its grammar: {error}") from error
        except NumericFaultError as error:
            raise EngineFault(str(error)) from error


def _convert_refusal(error: Exception, known: KnownContracts) -> RpcError:
    """Return the JSON-RPC error of one of `REFUSALS`."""
    if isinstance(error, RequestError):
        return convert_request_error(error, known)
    if isinstance(error, NOT_FOUND):
        return RpcError(SERVER_ERROR, "header not found")
    if isinstance(error, RuleError):
        return RpcError(SERVER_ERROR, f"err: {error}")
    if isinstance(error, ConfigError):
        return RpcError(INVALID_PARAMS, str(error))
    if isinstance(error, InterruptedExecutionError | TraceTooLargeError):
        return RpcError(LIMIT_EXCEEDED, str(error))
    return RpcError(SERVER_ERROR, str(error))
